"""How bytes become requests: uvicorn's fast parser, within bounds that it does not have itself."""

from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

# What may arrive without becoming a whole head or a piece of a body: headers that are allowed have less.
LARGEST_HEAD = 64 * 1024


class Protocol(HttpToolsProtocol):
    """One connection. A head or trailers without end are hung up on, and trailers are no headers."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._undigested = 0
        self._reads_head = False

    def data_received(self, data: bytes) -> None:
        """Read on; what leads nowhere for too long ends here."""
        self._undigested += len(data)
        super().data_received(data)
        if self._undigested > LARGEST_HEAD:
            self._give_up()

    def on_message_begin(self) -> None:
        """Begin a request."""
        self._reads_head = True
        super().on_message_begin()

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take a header, not a trailer: a proxy that cleans headers lets trailers through."""
        if self._reads_head:
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """Begin to answer."""
        self._reads_head, self._undigested = False, 0
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """Hand a piece of the body on."""
        self._undigested = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        """Hand the end of the body on."""
        self._undigested = 0
        super().on_message_complete()

    def _give_up(self) -> None:
        cycle: RequestResponseCycle | None = self.cycle  # there is none before the first request
        if cycle is None or cycle.response_complete:
            self.send_400_response("The head of the request is too large.")
        else:
            self.transport.abort()
