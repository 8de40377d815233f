"""AsyncConnection: one connection to a node in an event loop, with many requests at once."""
from __future__ import annotations

import asyncio
import socket
from collections import deque
from dataclasses import dataclass, field

from cellar._connection import RECEIVE_BYTES, SILENCE_S, deadline_ms
from cellar._dial import Identity
from cellar._frames import Frame
from cellar._schema.Op import Op
from cellar._session import Session, lost
from cellar.errors import Applied, CellarError, Code, error_of
from cellar.options import address_of

WRITE_BUFFER_BYTES = 1 << 20
"""Bytes that wait for the socket; beyond it requests wait."""


@dataclass
class _Inbox:
    """Frames of one request, and whether somebody waits for the next one."""

    sent_at: float
    frames: deque[Frame] = field(default_factory=deque)
    arrived: asyncio.Event = field(default_factory=asyncio.Event)


class AsyncConnection:
    """Opened by `open`, which connects and says hello."""

    def __init__(self, address: str, identity: Identity) -> None:
        self.address = address
        self.session: Session
        self._identity = identity
        self._keepalive = identity.options.keepalive
        self._inboxes: dict[int, _Inbox] = {}
        self._abandoned: set[int] = set()  # requests that hold a slot until the node has ended them
        self._clock = asyncio.Lock()
        self._failure: CellarError | None = None
        self._heard_at = 0.0
        self._ignored_since = 0.0  # when the first request was sent that timed out since something was heard
        self._reader: asyncio.StreamReader
        self._writer: asyncio.StreamWriter
        self._receiving: asyncio.Task[None] | None = None
        self._slots: asyncio.Semaphore

    @staticmethod
    async def open(address: str, identity: Identity) -> AsyncConnection:
        self = AsyncConnection(address, identity)
        host, port = address_of(address)
        self._reader, self._writer = await asyncio.open_connection(
            host,
            port,
            ssl=identity.tls,
            server_hostname=identity.server_name(address) if identity.tls else None,
            limit=RECEIVE_BYTES,
        )
        try:
            raw = self._writer.get_extra_info("socket")
            raw.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._writer.transport.set_write_buffer_limits(high=WRITE_BUFFER_BYTES)
            self.session = identity.session(self._writer.get_extra_info("peername")[0])
            self._writer.write(self.session.opening())
            while self.session.hello is None:
                self._take(await self._reader.read(RECEIVE_BYTES))
        except BaseException:
            self._writer.transport.abort()
            raise
        stated = self.session.facts.limits.in_flight
        most = identity.options.max_in_flight
        # One less than the node takes: a ping must pass when all slots are in use.
        self._slots = asyncio.Semaphore(max(1, min(most, stated - 1)) if stated else most)
        self._receiving = asyncio.create_task(self._receive())
        return self

    @property
    def usable(self) -> bool:
        """Whether new requests may be sent."""
        return self._failure is None and not self.session.draining

    @property
    def done(self) -> bool:
        """Nobody waits for it any more."""
        return self._failure is not None or self.session.waiting == 0

    def close(self, reason: str = "the client was closed") -> None:
        self._fail(lost(reason))

    async def closed(self) -> None:
        """Waits for the end of the task that receives."""
        if self._receiving is not None:
            await asyncio.gather(self._receiving, return_exceptions=True)

    # ---- requests ----

    async def start(self, op: int, body: bytes, table: str | None, deadline: float | None) -> int:
        """Sends a request when there is room for it; its id."""
        await self._slots.acquire()
        if not self.usable:
            self._slots.release()
            raise error_of(Code.UNAVAILABLE, f"the connection to {self.address} is closed", retry_after_ms=0)
        request_id, data = self.session.request(op, body, table, deadline_ms(deadline))
        self._inboxes[request_id] = _Inbox(asyncio.get_running_loop().time())
        self._writer.write(data)
        return request_id

    async def renew_clock(self, wanted: bool) -> None:
        """Asks for the node's time if that is wanted, and what is known of it is old. Every write passes here, so that
        they keep their order while one of them waits. Errors: nothing was applied."""
        async with self._clock:
            if not wanted or not self.session.clock_is_old:
                return
            request_id = await self.start(Op.Ping, b"", None, None)
            try:
                await self.next_frame(request_id)
            except CellarError as error:
                error.applied = Applied.NOT_APPLIED
                raise
            finally:
                self.abandon(request_id)

    async def drain(self) -> None:
        """Waits until the socket has taken most of what was written."""
        try:
            await self._writer.drain()
        except OSError as error:
            self._fail(lost(f"the connection to {self.address} is lost: {error}"))

    async def next_frame(self, request_id: int) -> Frame:
        """The next frame of the answer. UNAVAILABLE: the connection is lost."""
        inbox = self._inboxes[request_id]
        while not inbox.frames:
            if self._failure is not None:
                failure = self._failure
                raise error_of(failure.code, failure.message, failure.applied, failure.retry_after_ms)
            inbox.arrived.clear()
            await inbox.arrived.wait()
        return inbox.frames.popleft()

    def finish(self, request_id: int) -> None:
        """The answer was received to its end."""
        if self._inboxes.pop(request_id, None) is not None:
            self._slots.release()

    def abandon(self, request_id: int, in_vain: bool = False) -> None:
        """Nobody waits for the answer any more: the node is told. in_vain: the timeout passed; a connection on which
        nothing came since the request is closed after SILENCE_S of silence, also if that spans several requests that
        timed out. The request counts for the node until its last frame, and so keeps its slot."""
        inbox = self._inboxes.pop(request_id, None)
        if inbox is None:
            return
        if self._failure is not None or not self.session.has(request_id):
            self._slots.release()
            return
        self._abandoned.add(request_id)
        data = self.session.abandon(request_id)
        if in_vain and self._is_silent(inbox.sent_at):
            self.close("the node was silent until the timeout")
        elif data:
            self._writer.write(data)

    def _is_silent(self, sent_at: float) -> bool:
        """Of a request that timed out. Requests that somebody still waits for do not count: they may take long."""
        if self._heard_at >= sent_at:
            return False
        earlier_one = self._ignored_since > self._heard_at
        self._ignored_since = min(self._ignored_since, sent_at) if earlier_one else sent_at
        return asyncio.get_running_loop().time() - self._ignored_since >= SILENCE_S

    def credit(self, request_id: int, chunks: int) -> None:
        """The node may send so many more chunks."""
        data = self.session.credit(request_id, chunks) if self._failure is None else b""
        if data:
            self._writer.write(data)

    # ---- bytes ----

    async def _receive(self) -> None:
        """Receives until the connection ends. Pings a silent node, and gives it up when it stays silent."""
        pinged = False
        while self._failure is None:
            try:
                async with asyncio.timeout(self._keepalive):
                    data = await self._reader.read(RECEIVE_BYTES)
                self._take(data)
                pinged = False
            except TimeoutError:
                if self.session.waiting == 0:
                    continue
                if pinged:
                    self._fail(lost(f"{self.address} is silent"))
                else:
                    pinged = True
                    self._writer.write(self.session.ping())
            except CellarError as error:
                self._fail(error)
            except OSError as error:
                self._fail(lost(f"the connection to {self.address} is lost: {error}"))

    def _take(self, data: bytes) -> None:
        if not data:
            raise lost(f"{self.address} closed the connection")
        self._heard_at = asyncio.get_running_loop().time()
        for frame in self.session.feed(data):
            inbox = self._inboxes.get(frame.request_id)
            if inbox is not None:
                inbox.frames.append(frame)
                inbox.arrived.set()
        for request_id in [i for i in self._abandoned if not self.session.has(i)]:
            self._abandoned.remove(request_id)
            self._slots.release()
        if self.session.draining and self.session.waiting == 0:
            raise lost(f"{self.address} is stopping")

    def _fail(self, error: CellarError) -> None:
        if self._failure is not None:
            return
        self._failure = error
        self._writer.transport.abort()  # close() would wait for a node that reads what was written
        if self._receiving is not None and self._receiving is not asyncio.current_task():
            self._receiving.cancel()
        for inbox in self._inboxes.values():
            inbox.arrived.set()
        for _ in self._abandoned:
            self._slots.release()
        self._abandoned.clear()
