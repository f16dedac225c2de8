"""Routes of the API: a path is taken apart before it is unescaped, so that a name may have any character, `/` too."""

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import unquote

from starlette.routing import Match, Route

Scope = Mapping[str, Any]


class SegmentedRoute(Route):
    """A route whose parameters are whole segments, as they came: `%2F` stands within one, `/` between two.

    Matched on the unescaped path, `GET /schedules/a%2Fnext` would be the next times of `a`.
    """

    def __init__(self, path: str, endpoint: Any) -> None:
        super().__init__(path, endpoint)
        self._wanted = path.split("/")[1:]

    def matches(self, scope: Any) -> tuple[Match, dict[str, Any]]:
        """Say whether a request came here, and what stands in place of the parameters."""
        found = _found(self._wanted, _segments(scope)) if scope["type"] == "http" else None
        if found is None:
            return Match.NONE, {}
        return Match.FULL, {
            "endpoint": self.endpoint,
            "path_params": {**scope.get("path_params", {}), **found},
        }


def _found(wanted: Sequence[str], given: Sequence[str]) -> dict[str, str] | None:
    if len(wanted) != len(given):
        return None
    found: dict[str, str] = {}
    for part, came in zip(wanted, given, strict=True):
        if part.startswith("{") and came:
            found[part[1:-1]] = came
        elif part != came:
            return None
    return found


def _segments(scope: Scope) -> list[str]:
    """Unescape each segment of the path below where the API is mounted."""
    path, mounted_at = str(scope["path"]), str(scope.get("root_path", "")).rstrip("/")
    if not f"{path}/".startswith(f"{mounted_at}/"):
        mounted_at = ""
    escaped = bytes(scope.get("raw_path") or b"").partition(b"?")[0].decode("ascii", "replace")
    parts = [unquote(part) for part in escaped.split("/")]
    first = mounted_at.count("/") + 1
    if "/".join(parts) == path and "/".join(parts[:first]) == mounted_at:
        return parts[first:]
    # Not every server tells a path as it came, and what stands before us may have written another: then no name has a `/`.
    return path.removeprefix(mounted_at).split("/")[1:]
