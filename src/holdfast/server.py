"""HTTP applications to mount in a server of your own, or to serve alone: `pip install "holdfast[server]"`."""

from typing import TYPE_CHECKING, Any

from holdfast.domain.errors import Configuration as _Configuration
from holdfast.domain.webhook import WebhookEvent
from holdfast.runtime.verifiers import GitHub, HmacHeader, SharedSecret, StandardWebhook, Stripe, Verifier

if TYPE_CHECKING:
    from holdfast.runtime.app import Holdfast

__all__ = [
    "GitHub",
    "HmacHeader",
    "SharedSecret",
    "StandardWebhook",
    "Stripe",
    "Verifier",
    "WebhookEvent",
    "callbacks",
    "webhooks",
]


def callbacks(app: "Holdfast") -> Any:
    """Make the ASGI application that takes callbacks from the runs of an app's executors.

    It answers nothing but POST /callbacks/v1/…: give it a public listener of its own, or mount it.
    """
    try:
        from holdfast.interfaces.http.callbacks import callbacks as make  # noqa: PLC0415 - an extra
    except ImportError as error:
        raise _Configuration("taking callbacks needs starlette: pip install 'holdfast[server]'") from error
    return make(app)


def webhooks(app: "Holdfast") -> Any:
    """Make the ASGI application that takes the events of an app's webhooks.

    It answers nothing but POST /webhooks/v1/…: give it a public listener of its own, or mount it.
    """
    try:
        from holdfast.interfaces.http.asgi import asgi  # noqa: PLC0415 - an extra
    except ImportError as error:
        raise _Configuration("taking webhooks needs starlette: pip install 'holdfast[server]'") from error
    return asgi(app, parts=["webhooks"])
