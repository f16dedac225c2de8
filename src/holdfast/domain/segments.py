"""Names in addresses: each is written as one segment of a path, which no browser and no proxy takes for a way up."""

import re
from urllib.parse import quote

# What parts of a path mean by themselves: `.` and `..` lead elsewhere, however they are escaped, and `edit` is the page
# below a schedule's. A part of a name that looks like one of them, or like one so marked, has one `~` more before it.
_MEANT = re.compile(r"(?<![^/])(?=~*(?:\.\.?|edit)(?![^/]))")
_MARKED = re.compile(r"(?<![^/])~(?=~*(?:\.\.?|edit)(?![^/]))")
_LEADS_ELSEWHERE = re.compile(r"(?<![^/])(?=\.\.?(?![^/]))")


def segment_of(name: str) -> str:
    """Write a name as one segment of a path."""
    return quote(_MEANT.sub("~", name), safe="")


def name_of(part: str) -> str:
    """Read the name that a part of a path is, which a server has unescaped."""
    return _MARKED.sub("", part)


def leading_there(path: str) -> str:
    """Mark what of a path, which a server has unescaped, would lead elsewhere if it was written down again."""
    return _LEADS_ELSEWHERE.sub("~", path)
