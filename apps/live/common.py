"""What the processes of all products need: read once, before they are forked from the one that has read it."""

import uvicorn  # noqa: F401 - read here for all
from aiosmtpd.controller import Controller  # noqa: F401 - as above

from apps import _stage, _traffic  # noqa: F401 - as above
from holdfast import Holdfast
from holdfast.server import asgi

asgi(Holdfast(), ["health"])  # it reads the parts of the service when the first one is made
