"""Names in commands that people copy: each is one word to a shell, and no option to the command."""

import shlex


def argument(name: str) -> str:
    """Write a name as the last argument of a command."""
    return f"{'-- ' if name.startswith('-') else ''}{shlex.quote(name)}"
