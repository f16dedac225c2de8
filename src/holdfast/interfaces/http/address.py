"""Where a request came to, written as an address has it: what looks escaped in a name is escaped once more."""

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from starlette.requests import Request

from holdfast.domain.segments import leading_there, name_of

_AS_IT_CAME = "".join(map(chr, range(0x21, 0x7F)))


def prefix(request: Request) -> str:
    """Write what stands before every path, where the service is mounted under one."""
    return quote(_mounted_at(request))


def here(request: Request) -> str:
    """Write the path within the service."""
    path, mounted_at = str(request.scope["path"]), _mounted_at(request)
    is_below = f"{path}/".startswith(f"{mounted_at}/")
    return quote(leading_there(path.removeprefix(mounted_at) if is_below else path)) or "/"


def parts(request: Request) -> Mapping[str, Any]:
    """Read what stands in the path in place of names and ids."""
    found = request.path_params.items()
    return {key: name_of(value) if isinstance(value, str) else value for key, value in found}


def query_without(request: Request, name: str) -> str:
    """Write what stands behind the question mark, with it and without this one; bytes that no address has are escaped."""
    given = quote(bytes(request.scope["query_string"]), safe=_AS_IT_CAME)
    kept = [part for part in given.split("&") if part and part.partition("=")[0] != name]
    return f"?{'&'.join(kept)}" if kept else ""


def _mounted_at(request: Request) -> str:
    return str(request.scope.get("root_path", "")).rstrip("/")
