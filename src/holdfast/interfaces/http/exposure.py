"""What must hold before the doors open beyond this machine."""

from collections.abc import Collection
from typing import TYPE_CHECKING

from holdfast.domain.errors import Configuration
from holdfast.interfaces.http.hosts import is_loopback
from holdfast.runtime.keys import master_keys
from holdfast.store.people import has_callers

if TYPE_CHECKING:
    from holdfast.interfaces.http.access import Authenticate
    from holdfast.runtime.app import Holdfast

# Their callers sign, or bring a secret of their own, or learn nothing.
KNOWN_BY_THEMSELVES = frozenset({"approvals", "callbacks", "health", "tick", "webhooks"})


def refuse_open_door(
    app: "Holdfast",
    host: str,
    parts: Collection[str],
    *,
    authenticate: "Authenticate | None" = None,
    auth: bool = True,
) -> None:
    """Refuse to listen where it is not safe: with a weak master key, or beyond loopback where nobody is asked who they are."""
    master_keys()
    if is_loopback(host):
        return
    if not auth:
        raise Configuration(
            f"without authentication the server listens on this machine only, not on {host or 'every address'}: use --host 127.0.0.1"
        )
    if set(parts) <= KNOWN_BY_THEMSELVES or authenticate is not None:
        return
    if not app.link.perform(has_callers()):
        raise Configuration(
            f"the server would listen on {host or 'every address'}, and there is neither a key nor a person nor a hook that could say "
            "who comes: holdfast key create NAME --scope read, or holdfast user add NAME --role admin, or authenticate=…"
        )
