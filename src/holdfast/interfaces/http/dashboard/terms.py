"""Terms of the search grammar, as links write them."""

import re
from urllib.parse import urlencode

from holdfast.domain.search import quoted

_PLAIN = re.compile(r"[\w.@/+=-]+")


def term(field: str, value: str) -> str:
    """Write a term that means exactly this value."""
    return f"{field}:{value if _PLAIN.fullmatch(value) else quoted(value)}"


def jobs_with(*terms: str) -> str:
    """Write the path of the list of jobs that fit all of these."""
    return "/jobs?" + urlencode({"q": " ".join(terms)})


def again(*terms: str) -> str:
    """Write the path that shows what running all of these again would touch."""
    return "/operations/new?" + urlencode({"action": "retry", "q": " ".join(terms)})
