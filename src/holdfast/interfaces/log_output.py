"""Where log lines go: stderr, as text for people or as JSON for machines."""

import logging
import sys
from typing import TextIO

from holdfast.runtime.logs import JsonFormatter, TextFormatter


def configure_logging(style: str, level: str) -> None:
    """Send the process' log lines to stderr; doing it twice is doing it once."""
    root = logging.getLogger()
    wanted = logging.getLevelNamesMapping()[level.upper()]
    # What a task logs is kept with its attempt from INFO on, however little of it goes to stderr.
    root.setLevel(min(wanted, logging.INFO))
    logging.getLogger("holdfast").setLevel(wanted)
    handler = next((each for each in root.handlers if isinstance(each, _Stderr)), None)
    if handler is None:
        handler = _Stderr(sys.stderr)
        root.addHandler(handler)
    handler.setLevel(wanted)
    handler.setFormatter(JsonFormatter() if style == "json" else TextFormatter())


class _Stderr(logging.StreamHandler[TextIO]):
    """Our handler, to be told from a user's."""
