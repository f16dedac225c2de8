"""What failures have in common: an error's message without what differs from job to job."""

import re

GAP = "…"
_LONGEST = 160
# Ids, addresses, numbers, what stands in quotation marks or is hidden: the job's own, not the failure's.
_VARYING = re.compile(
    r"""[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}
      | \b0x[0-9a-f]+\b
      | \b(?=[a-f]*[0-9])[0-9a-f]{8,}\b
      | \b[^\s@'"<>]+@[^\s@'"<>]+\.\w+
      | (?<![A-Za-z_])[-+]?[0-9]+(?:[.,:/-][0-9]+)*
      | '[^']*' | "[^"]*" | \[redacted\]
    """,
    re.IGNORECASE | re.VERBOSE,
)


def fingerprint(message: str) -> str:
    """Give what the messages of one kind of failure share: their first line, with a gap wherever they differ."""
    first = message.strip().partition("\n")[0][: _LONGEST * 2]
    return _VARYING.sub(GAP, first)[:_LONGEST].strip()


def fixed_part(print_: str) -> str:
    """Give the longest piece that every such message has, to look for it."""
    return max((piece.strip() for piece in print_.split(GAP)), key=len, default="")
