"""The tasks of apart_app."""

import os

from runtime.apart_app import app


@app.task(executor="process")
def whose_child() -> int:
    """Say which process started this one."""
    return os.getppid()
