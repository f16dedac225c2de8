"""An ASGI application, and what it was sent: everything that a log of it could have."""

from typing import Any


class Watched:
    """Keeps the head of every request."""

    def __init__(self, application: Any) -> None:
        self._application = application
        self.requests: list[dict[str, str]] = []

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            sent = {key.decode(): value.decode() for key, value in scope["headers"]}
            query = scope["query_string"].decode()
            self.requests.append({**sent, ":": f"{scope['method']} {scope['path']}?{query}"})
        await self._application(scope, receive, send)
