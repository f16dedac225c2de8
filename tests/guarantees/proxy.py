"""A proxy that speaks enough of PostgreSQL's protocol to fail at a chosen statement.

It can cut a connection before a statement reaches the server or after its commit but before its answer, or in the middle of
any message, swallow everything (a half-open connection), deliver a statement only after its client has gone, pass everything on
later, and drop notifications.
"""

import re
import socket
import struct
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Literal

from psycopg import conninfo

from guarantees.waiting import until

SSL_REQUEST, GSS_REQUEST = 80877103, 80877104
HEAD = 5  # a kind and a length
NO_TRANSACTION = b"I"  # what the server says it is in, once it has answered
CHUNK = 1 << 16
NULL = -1
TURNED_AWAY = b"C53300\0"  # the code of an answer that there is no connection left
FLUSHED_WITHIN = 2.0
Action = Literal["cut_before", "cut_after", "swallow", "late"]
Row = list[bytes | None]


@dataclass
class Strike:
    """What is to happen to the statements that match, and how often it has."""

    action: Action
    pattern: re.Pattern[str]
    times: int
    counts: Callable[[Row], bool] | None = None  # only where the server's answer has a row that does
    landed: int = 0

    def until_landed(self, times: int = 1) -> None:
        until(f"{self.action} of {self.pattern.pattern} lands", lambda: self.landed >= times)


@dataclass
class _Unit:
    """What a client asked up to one ReadyForQuery."""

    texts: list[str] = field(default_factory=list)
    strike: Strike | None = None


class Proxy:
    """Listens on a port of its own and passes everything to the real server, unless told otherwise."""

    def __init__(self, url: str) -> None:
        self._target = _address_of(url)
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.url = conninfo.make_conninfo(url, host="127.0.0.1", port=self._listening.getsockname()[1])
        self._strikes: list[Strike] = []
        self._connections: list[_Connection] = []
        self.drops_notifications = False
        self.dropped = 0
        self.turned_away = 0
        self.swallows = False
        self.delay: Callable[[], float] | None = None  # in seconds, of each piece that is passed on
        self.delayed = 0
        self._room: Callable[[], int] | None = None
        self.cut_anywhere = 0
        self._heard: bytearray | None = None
        threading.Thread(target=self._accept, daemon=True).start()

    def strike(
        self, action: Action, pattern: str, times: int = 1, *, counts: Callable[[Row], bool] | None = None
    ) -> Strike:
        """Fail the next statements that match; after their commit only those whose answer has a row that counts, where that is asked."""
        made = Strike(action, re.compile(pattern, re.IGNORECASE), times, counts)
        self._strikes.append(made)
        return made

    def withdraw(self, strike: Strike) -> None:
        """Fail no more statements because of this."""
        self._strikes.remove(strike)

    def aim_at(self, url: str) -> None:
        """Lead new connections to another server; those there are stay where they lead."""
        self._target = _address_of(url)

    @contextmanager
    def overheard(self) -> Iterator[bytearray]:
        """Give all that clients say while the block lasts."""
        self._heard = heard = bytearray()
        try:
            yield heard
        finally:
            self._heard = None

    def hear(self, said: bytes) -> None:
        if self._heard is not None:
            self._heard += said

    def go_silent(self) -> int:
        """Pass nothing on any more, in no direction, and close nothing: what a dead peer behind a router looks like."""
        self.swallows = True
        connections = list(self._connections)
        for connection in connections:
            connection.silent = True
        return len(connections)

    def deliver(self) -> None:
        """Let the server have, and commit, the statements that are late; their clients have gone."""
        for connection in list(self._connections):
            connection.deliver()

    def speak_again(self) -> None:
        """Serve new connections; the silent ones stay silent."""
        self.swallows = False

    def forget_silent(self) -> None:
        """End the silent connections, as the keepalives of both sides do at last."""
        for connection in list(self._connections):
            if connection.silent:
                connection.hang_up()

    def cut_after_bytes(self, room: Callable[[], int]) -> None:
        """Cut every connection, those that come too, when so many bytes have passed in the one direction or the other."""
        self._room = room
        for connection in list(self._connections):
            connection.leave_room(room)

    def cut_no_more(self) -> None:
        """Let connections be as long as they like."""
        self._room = None
        for connection in list(self._connections):
            connection.leave_room(None)

    def forget(self, connection: "_Connection") -> None:
        with suppress(ValueError):  # its two threads may both say so
            self._connections.remove(connection)

    def struck(self, texts: list[str]) -> Strike | None:
        for strike in self._strikes:
            if strike.landed < strike.times and any(strike.pattern.search(text) for text in texts):
                return strike
        return None

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listening.accept()
                try:
                    server = socket.create_connection(self._target)
                except OSError:
                    client.close()
                    continue
                for one in (client, server):
                    one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                connection = _Connection(self, client, server)
                connection.silent = self.swallows
                self._connections.append(connection)
                connection.leave_room(self._room)
                threading.Thread(target=connection.pass_requests, daemon=True).start()
                threading.Thread(target=connection.pass_answers, daemon=True).start()

    def close(self) -> None:
        self._listening.close()
        for connection in list(self._connections):
            connection.hang_up()


class _Connection:
    """Two sockets and what was asked but not answered yet."""

    def __init__(self, proxy: Proxy, client: socket.socket, server: socket.socket) -> None:
        self._proxy = proxy
        self._client = client
        self._server = server
        self._statements: dict[bytes, str] = {}
        self._asked: deque[_Unit] = deque([_Unit()])  # the start-up is answered by a ReadyForQuery too
        self._unit = _Unit()
        self._late = b""
        self._held: list[tuple[bytes, bytes]] = []  # an answer that may not reach its client
        self._room: dict[socket.socket, int] = {}  # the bytes that yet pass to either side before it is cut
        self._slow = {side: _Slow(self, side) for side in (client, server)}
        self._has_begun = False
        self.silent = False

    def deliver(self) -> None:
        late, self._late = self._late, b""
        if late:
            self._server.sendall(late)

    def leave_room(self, room: Callable[[], int] | None) -> None:
        self._room = {} if room is None else {side: room() for side in (self._client, self._server)}

    def hang_up(self) -> None:
        self._proxy.forget(self)
        for one in (self._client, self._server):
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()

    def pass_requests(self) -> None:
        try:
            self._pass_startup()
            for messages in _read_messages(self._client):
                passed = bytearray()
                for kind, message in messages:
                    body = message[HEAD:]
                    self._note(kind, body)
                    self._proxy.hear(body)
                    if kind in b"QS" and self._ends_here(kind, passed):
                        return
                    passed += message
                self._send(self._server, passed)
        except (OSError, EOFError):
            self._end()

    def _pass_startup(self) -> None:
        while True:
            (length,) = struct.unpack("!I", _read(self._client, 4))
            body = _read(self._client, length - 4)
            if struct.unpack("!I", body[:4])[0] in {SSL_REQUEST, GSS_REQUEST}:
                self._send(self._client, b"N")
                continue
            self._send(self._server, struct.pack("!I", length) + body)
            return

    def _note(self, kind: bytes, body: bytes) -> None:
        if kind == b"Q":
            self._unit.texts.append(body[:-1].decode())
        elif kind == b"P":
            name, text = body.split(b"\0", 2)[:2]
            self._statements[name] = text.decode()
        elif kind == b"B":
            self._unit.texts.append(self._statements.get(body.split(b"\0", 2)[1], ""))

    def _ends_here(self, kind: bytes, before: bytearray) -> bool:
        unit, self._unit = self._unit, _Unit()
        unit.strike = self._proxy.struck(unit.texts)
        self._asked.append(unit)
        if unit.strike is None or unit.strike.action == "cut_after":
            return False
        self._send(self._server, before)
        before.clear()
        if unit.strike.action == "swallow":
            self.silent = True
            unit.strike.landed += 1
            return False
        if unit.strike.action == "late":
            # The server has the statement but not yet the Sync that commits it.
            self._late = kind + struct.pack("!I", 4)
            self._client.shutdown(socket.SHUT_RDWR)
            self._client.close()
        else:
            self.hang_up()
        unit.strike.landed += 1
        return True

    def pass_answers(self) -> None:
        try:
            for messages in _read_messages(self._server):
                passed = bytearray()
                for kind, message in messages:
                    if kind == b"A" and self._proxy.drops_notifications:
                        self._proxy.dropped += 1
                        continue
                    self._has_begun |= kind == b"Z"
                    self._proxy.turned_away += kind == b"E" and TURNED_AWAY in message
                    strike = self._asked[0].strike if self._asked else None
                    if kind == b"Z":
                        self._asked.popleft()
                    if strike is None or strike.action != "cut_after":
                        passed += message
                        continue
                    self._held.append((kind, message))
                    if kind == b"Z":
                        if self._was_committed(strike):
                            self._send(self._client, passed)
                            self.hang_up()
                            strike.landed += 1
                            return
                        passed += b"".join(each for _, each in self._held)
                        self._held.clear()
                self._send(self._client, passed)
        except (OSError, EOFError):
            self._end()

    def _was_committed(self, strike: Strike) -> bool:
        """Say whether the answer that is held back is that of a commit: no error, and no transaction that goes on."""
        kinds = {kind for kind, _ in self._held}
        _, ready = self._held[-1]
        if b"E" in kinds or ready[HEAD:] != NO_TRANSACTION:
            return False
        rows = (_cells(message[HEAD:]) for kind, message in self._held if kind == b"D")
        return strike.counts is None or any(map(strike.counts, rows))

    def _send(self, to: socket.socket, message: bytes | bytearray) -> None:
        if not message or self.silent:
            return
        room = self._room.get(to)
        if room is not None and room < len(message):
            self._cut_within(to, message[:room])
        if room is not None:
            self._room[to] = room - len(message)
        if not self._slow[to].takes(bytes(message), self._proxy.delay):
            to.sendall(message)

    def _cut_within(self, to: socket.socket, part: bytes | bytearray) -> None:
        with suppress(OSError):
            to.sendall(part)
        # Who is only just being let in has asked for nothing yet.
        self._proxy.cut_anywhere += self._has_begun
        self.hang_up()
        raise EOFError

    def note_delayed(self) -> None:
        self._proxy.delayed += 1

    def _end(self) -> None:
        # A silent connection says nothing about the end of its other side either.
        if not self.silent and not self._late:
            for side in self._slow.values():
                side.flush()
            self.hang_up()


class _Slow:
    """What is on its way to one side of a connection: all of it, in its order, each piece when it is due."""

    def __init__(self, connection: _Connection, to: socket.socket) -> None:
        self._connection = connection
        self._to = to
        self._on_its_way: deque[tuple[float, bytes]] = deque()
        self._changed = threading.Condition()

    def takes(self, piece: bytes, delay: Callable[[], float] | None) -> bool:
        """Take a piece, if it has to wait, or if others are before it."""
        with self._changed:
            if delay is None and not self._on_its_way:
                return False
            self._on_its_way.append((time.monotonic() + (delay() if delay else 0.0), piece))
            if len(self._on_its_way) == 1:
                threading.Thread(target=self._deliver, daemon=True).start()
        self._connection.note_delayed()
        return True

    def flush(self) -> None:
        """Wait until everything has arrived: an end overtakes nothing."""
        with self._changed:
            self._changed.wait_for(lambda: not self._on_its_way, FLUSHED_WITHIN)

    def _deliver(self) -> None:
        while True:
            due, piece = self._on_its_way[0]
            time.sleep(max(due - time.monotonic(), 0.0))
            if not self._connection.silent:
                with suppress(OSError):  # whoever reads from there finds out too
                    self._to.sendall(piece)
            with self._changed:
                # It leaves when it has arrived, so that nothing is sent past it.
                self._on_its_way.popleft()
                self._changed.notify_all()
                if not self._on_its_way:
                    return


def _cells(row: bytes) -> Row:
    """Take a DataRow apart."""
    (many,) = struct.unpack_from("!H", row)
    cells: Row = []
    at = 2
    for _ in range(many):
        (length,) = struct.unpack_from("!i", row, at)
        at += 4
        cells.append(None if length == NULL else row[at : at + length])
        at += max(length, 0)
    return cells


def _address_of(url: str) -> tuple[str, int]:
    parts = conninfo.conninfo_to_dict(url)
    return str(parts.get("host", "127.0.0.1")), int(parts.get("port") or 5432)


def _read(source: socket.socket, length: int) -> bytes:
    received = bytearray()
    while len(received) < length:
        some = source.recv(length - len(received))
        if not some:
            raise EOFError
        received += some
    return bytes(received)


def _read_messages(source: socket.socket) -> Iterator[list[tuple[bytes, bytes]]]:
    """Give the messages that came at once, each with its kind and whole: what comes together is passed on together."""
    received = bytearray()
    while True:
        some = source.recv(CHUNK)
        if not some:
            raise EOFError
        received += some
        messages, at = [], 0
        while len(received) - at >= HEAD:
            (length,) = struct.unpack_from("!I", received, at + 1)
            end = at + 1 + length
            if end > len(received):
                break
            messages.append((bytes(received[at : at + 1]), bytes(received[at:end])))
            at = end
        del received[:at]
        yield messages


@contextmanager
def proxied(url: str) -> Iterator[Proxy]:
    """Lend a proxy in front of a server."""
    proxy = Proxy(url)
    try:
        yield proxy
    finally:
        proxy.close()
