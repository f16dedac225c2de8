"""HTTP applications to mount in a server of your own, or to serve alone: `pip install "holdfast[server]"`."""

from collections.abc import Awaitable as _Awaitable
from collections.abc import Callable as _Callable
from collections.abc import Collection as _Collection
from collections.abc import Sequence as _Sequence
from typing import TYPE_CHECKING, Any

from holdfast.domain.access import Principal, Role, Scope
from holdfast.domain.errors import Configuration as _Configuration
from holdfast.domain.health import Check, Verdict
from holdfast.domain.webhook import WebhookEvent
from holdfast.interfaces.http.button import Button, Pressed
from holdfast.interfaces.http.hooks import Authorize, FormatArgs, JobFacts, JobLink, JobLinks, JobPanel
from holdfast.interfaces.http.hooks import Hooks as _Hooks
from holdfast.interfaces.http.login_links import LoginLinks
from holdfast.runtime.access import add_person, create_key
from holdfast.runtime.verifiers import GitHub, HmacHeader, SharedSecret, StandardWebhook, Stripe, Verifier

if TYPE_CHECKING:
    from holdfast.runtime.app import Holdfast

__all__ = [
    "Authorize",
    "Button",
    "Check",
    "FormatArgs",
    "GitHub",
    "HmacHeader",
    "JobFacts",
    "JobLink",
    "JobLinks",
    "JobPanel",
    "LoginLinks",
    "Pressed",
    "Principal",
    "Role",
    "Scope",
    "SharedSecret",
    "StandardWebhook",
    "Stripe",
    "Verdict",
    "Verifier",
    "WebhookEvent",
    "add_person",
    "asgi",
    "callbacks",
    "create_key",
    "end_streams",
    "examine",
    "serve",
    "webhooks",
]


def asgi(
    app: "Holdfast",
    parts: _Collection[str] | None = None,
    authenticate: _Callable[[Any], _Awaitable[Principal | None]] | None = None,
    *,
    links: LoginLinks | None = None,
    buttons: _Sequence[Button] = (),
    authorize: Authorize | None = None,
    format_args: FormatArgs | None = None,
    job_links: JobLinks | None = None,
    panels: _Sequence[JobPanel] = (),
) -> Any:
    """Make an app's service as an ASGI application: to mount under any prefix, or to serve.

    `parts` are those of `holdfast server --parts`; `authenticate` says who makes a request where your own users do.
    `links` let people in once without a password; `buttons` of yours stand on every page of the dashboard.
    `authorize` may refuse what a role allows; `format_args` and `job_links` say what a job was given and where it leads in your
    words, and `panels` of yours stand on its page.
    """
    try:
        from holdfast.interfaces.http.asgi import asgi as make  # noqa: PLC0415 - an extra
    except ImportError as error:
        raise _needs_server(error) from error
    hooks = _Hooks(authorize, format_args, job_links, panels)
    return make(app, parts, authenticate, links=links, buttons=buttons, hooks=hooks)


def callbacks(app: "Holdfast") -> Any:
    """Make the ASGI application that takes callbacks from the runs of an app's executors.

    It answers nothing but POST /callbacks/v1/…: give it a public listener of its own, or mount it.
    """
    return asgi(app, ["callbacks"])


def end_streams() -> None:
    """End the open streams of this event loop; call it when your own server is told to stop and waits for its connections."""
    from holdfast.runtime.streams import end_streams as end  # noqa: PLC0415 - with the rest of the service

    end()


def examine(app: "Holdfast") -> list[Check]:
    """Look at everything that `holdfast doctor` looks at, for a health page or an operator's command of your own.

    A database that cannot be reached is a check that failed, and the last one.
    """
    from holdfast.interfaces.checks import examine as look  # noqa: PLC0415 - as the rest: only who asks pays for it

    return list(look(lambda: app.link.database, roles_required=False))


def serve(
    application: Any,
    host: str = "127.0.0.1",
    port: int = 7070,
    *,
    tries: int = 1,
    opened: _Callable[[str], None] | None = None,
) -> int:
    """Serve an ASGI application as `holdfast server` does, until SIGTERM or Ctrl-C; gives the process' exit code.

    For an application that mounts ours: streams end at once when it is told to stop, where uvicorn alone would wait for them.
    A port that is taken is followed by the next, so many `tries`; `opened` is told the address once somebody can come.
    """
    try:
        from holdfast.interfaces.http import serving  # noqa: PLC0415 - an extra
    except ImportError as error:
        raise _needs_server(error) from error
    listener = serving.listen(host, port, tries=tries)
    if opened is not None:
        opened(serving.address_of(listener))
    return serving.serve(application, listener)


def webhooks(app: "Holdfast") -> Any:
    """Make the ASGI application that takes the events of an app's webhooks.

    It answers nothing but POST /webhooks/v1/…: give it a public listener of its own, or mount it.
    """
    return asgi(app, ["webhooks"])


def _needs_server(error: ImportError) -> _Configuration:
    return _Configuration(f"this needs {error.name}: pip install 'holdfast[server]'")
