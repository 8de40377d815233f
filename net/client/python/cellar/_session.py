"""Session: one connection to a node without its transport. Bytes in, frames out; requests in, bytes out."""
from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass

from cellar import _decode, _encode
from cellar._frames import MAX_HANDLE, VERSION, Frame, FrameReader, Kind, broken, frame, preface
from cellar._schema.Op import Op
from cellar.errors import Applied, CellarError, Code, error_of
from cellar.node import Hello

HELLO_ID = 2**32 - 1
LAST_ID = 2**31
CLOCK_AGE_S = 30.0
"""The node's time is asked for again after this, because its clock may stand, jump or drift: a node refuses tokens that
are 60 s ahead of it."""
_LAST = frozenset((Kind.REPLY, Kind.END))


@dataclass(slots=True)
class _Live:
    """A request that the node has not finished. wanted: somebody waits for its frames."""

    op: int
    wanted: bool = True


def lost(reason: str) -> CellarError:
    """The connection ended while requests waited: they may have been applied, and a retry can help."""
    return error_of(Code.UNAVAILABLE, reason, Applied.MAYBE_APPLIED, 0)


class Session:
    """The state of a connection: the hello, live requests, handles."""

    def __init__(self, hint: bytes, client_name: str, client_id: bytes, token: bytes) -> None:
        self.hello: Hello | None = None
        self.draining = False
        """The node is stopping: it answers what it has, and takes no more."""
        self._opening = preface(hint) + frame(
            Kind.REQUEST, Op.Hello, _encode.hello(client_name, client_id, token), HELLO_ID
        )
        self._reader = FrameReader()
        self._live: dict[int, _Live] = {HELLO_ID: _Live(Op.Hello)}
        self._handles: OrderedDict[str, int] = OrderedDict()
        self._last_id = 0
        self._clock_us = 0
        self._clock_at = 0.0

    def opening(self) -> bytes:
        """The first bytes to send: preface and hello."""
        return self._opening

    @property
    def facts(self) -> Hello:
        """What the node stated. REQUIRES: the hello was answered."""
        assert self.hello is not None
        return self.hello

    @property
    def waiting(self) -> int:
        """Requests whose last frame has not come."""
        return len(self._live)

    @property
    def max_body_bytes(self) -> int:
        return self._reader.max_body_bytes

    def now_us(self) -> int:
        """The node's clock, about: as of the hello or the last pong, plus the time since."""
        return self._clock_us + int((time.monotonic() - self._clock_at) * 1e6)

    @property
    def clock_is_old(self) -> bool:
        """Whether a ping should be answered before `now_us` is relied upon."""
        return time.monotonic() - self._clock_at > CLOCK_AGE_S

    def has(self, request_id: int) -> bool:
        """Whether the node has the request, abandoned or not: its last frame has not come."""
        return request_id in self._live

    def request(self, op: int, body: bytes, table: str | None = None, deadline_ms: int = 0) -> tuple[int, bytes]:
        """The id of a new request, and the bytes to send. `table`: is named by a handle."""
        self._last_id = self._last_id + 1 if self._last_id < LAST_ID else 1
        while self._last_id in self._live:
            self._last_id += 1
        request_id = self._last_id
        bind, handle = self._handle(table) if table is not None else (b"", 0)
        data = bind + frame(Kind.REQUEST, op, body, request_id, handle, deadline_ms)
        self._live[request_id] = _Live(op)
        return request_id, data

    def _handle(self, table: str) -> tuple[bytes, int]:
        """The bind frame, if one is needed, and the handle. With all handles in use the one that was used longest ago
        is bound again; requests before it keep their table."""
        if table in self._handles:
            self._handles.move_to_end(table)
            return b"", self._handles[table]
        handle = len(self._handles) + 1
        if handle > MAX_HANDLE:
            handle = self._handles.popitem(last=False)[1]
        self._handles[table] = handle
        return frame(Kind.BIND, 0, _encode.bind(table), handle=handle), handle

    def unsent(self, request_id: int) -> None:
        """The bytes of the request did not leave: the node does not know it."""
        self._live.pop(request_id, None)

    def credit(self, request_id: int, chunks: int) -> bytes:
        """The node may send so many more chunks. Empty if the request is finished."""
        live = self._live.get(request_id)
        return frame(Kind.CREDIT, live.op, _encode.credit(chunks), request_id) if live else b""

    def abandon(self, request_id: int) -> bytes:
        """Nobody waits for the request any more: the bytes that cancel it. Its frames are dropped until the last."""
        live = self._live.get(request_id)
        if live is None or not live.wanted:
            return b""
        live.wanted = False
        return frame(Kind.CANCEL, live.op, b"", request_id)

    def ping(self) -> bytes:
        """A ping whose answer nobody waits for."""
        request_id, data = self.request(Op.Ping, b"")
        self._live[request_id].wanted = False
        return data

    def feed(self, data: bytes) -> Iterator[Frame]:
        """Yields the frames that these bytes complete, of requests that somebody waits for; also sets `hello` and
        `draining`. Raises if the connection is of no use any more: the frames before are valid."""
        self._reader.feed(data)
        while (received := self._reader.next()) is not None:
            if received.kind is Kind.GOAWAY:
                self._goaway(received)
                continue
            live = self._live.get(received.request_id)
            if live is None or live.op != received.op:
                raise broken(f"a frame of request {received.request_id}, which it does not have")
            if received.kind in _LAST:
                del self._live[received.request_id]
            if received.op == Op.Ping and received.kind is Kind.REPLY and not received.error:
                self._set_clock(_decode.pong(received.body).now_us)
            if received.request_id == HELLO_ID:
                self._on_hello(received)
            elif live.wanted:
                yield received

    def _goaway(self, received: Frame) -> None:
        if received.error:
            reason = _decode.status(received.body)
            raise lost(f"the node ended the connection: {reason.message}")
        self.draining = True

    def _on_hello(self, received: Frame) -> None:
        if received.kind is not Kind.REPLY:
            raise broken("an answer to the hello that is no reply")
        if received.error:
            raise _decode.status(received.body)
        hello = _decode.hello(received.body)
        if hello.version != VERSION:
            raise error_of(Code.UNIMPLEMENTED, f"the node chose version {hello.version} of the protocol")
        if hello.limits.frame_bytes:
            self._reader.max_body_bytes = hello.limits.frame_bytes
        self._set_clock(hello.now_us)
        self.hello = hello

    def _set_clock(self, now_us: int) -> None:
        if now_us:  # 0: not stated
            self._clock_us, self._clock_at = now_us, time.monotonic()
