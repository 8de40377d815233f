"""Connection: one blocking connection to a node."""
from __future__ import annotations

import selectors
import socket
import ssl
import time
from collections import deque

from cellar._dial import Identity
from cellar._frames import MAX_DEADLINE_MS, Frame
from cellar._schema.Op import Op
from cellar._session import Session, lost
from cellar._steps import overdue
from cellar.errors import Applied, CellarError, Code, error_of
from cellar.options import address_of, seconds

RECEIVE_BYTES = 1 << 18
LEAST_WAIT_S = 0.001
SILENCE_S = 1.0
"""A shorter silence does not mean that the node is gone: a connection is not given up for it."""
_WOULD_BLOCK = (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError)


def deadline_ms(deadline: float | None) -> int:
    """What a request states: the milliseconds left; 0: no deadline."""
    if deadline is None:
        return 0
    return min(max(int((deadline - time.monotonic()) * 1000), 1), MAX_DEADLINE_MS)


def earlier(a: float | None, b: float) -> float:
    return b if a is None else min(a, b)


class Connection:
    """Connects, and says hello, until then at the latest. Frames of other requests than the one waited for are kept;
    credits bound their number.

    A method that takes a deadline (time.monotonic(), None: none) raises TimeoutError when it passes.
    """

    def __init__(self, address: str, identity: Identity, until: float | None) -> None:
        self.address = address
        self._keepalive = identity.options.keepalive
        self._frames: dict[int, deque[Frame]] = {}
        self._sent_at: dict[int, float] = {}
        self._failure: CellarError | None = None
        self._unsent: deque[memoryview] = deque()
        self._taking = False
        limit = seconds(identity.options.connect_timeout)
        deadline = until if limit is None else earlier(until, time.monotonic() + limit)
        host, port = address_of(address)
        left = None if deadline is None else max(deadline - time.monotonic(), LEAST_WAIT_S)
        self._socket: socket.socket = socket.create_connection((host, port), left)
        try:
            self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self.session: Session = identity.session(self._socket.getpeername()[0])
            if identity.tls is not None:
                self._wait_at_most(deadline, deadline)
                self._socket = identity.tls.wrap_socket(self._socket, server_hostname=identity.server_name(address))
            self._heard_at = self._waiting_since = time.monotonic()
            self._ignored_since = 0.0  # when the first request was sent that was abandoned since something was heard
            self._pinged_at: float | None = None
            self._send(self.session.opening(), deadline)
            while self.session.hello is None:
                self._receive(deadline)
        except BaseException:
            self._socket.close()
            raise

    def _wait_at_most(self, until: float | None, deadline: float | None = None) -> None:
        """The next operation of the socket may wait until then. TimeoutError: the deadline has passed."""
        now = time.monotonic()
        if deadline is not None and now >= deadline:
            raise TimeoutError
        self._socket.settimeout(None if until is None else max(until - now, LEAST_WAIT_S))

    @property
    def usable(self) -> bool:
        """Whether new requests may be sent. Looks for what has arrived, so that a connection that the node closed while
        it was idle is not used again."""
        if self._failure is None:
            self._take_what_is_there()
        return self._failure is None and not self.session.draining

    @property
    def done(self) -> bool:
        """Nobody waits for it any more."""
        return self._failure is not None or self.session.waiting == 0

    def close(self, reason: str = "the client was closed") -> None:
        self._fail(lost(reason))

    def interrupt(self) -> None:
        """Ends the connection from any thread: the thread that uses it wakes up. `close` follows."""
        if self._failure is None:
            self._failure = lost("the client was closed")
        try:
            socket.socket.shutdown(self._socket, socket.SHUT_RDWR)  # of TLS too: its state is the other thread's
        except OSError:
            pass

    def _fail(self, error: Exception) -> None:
        if not isinstance(error, CellarError):
            error = lost(f"the connection to {self.address} is lost: {error}")
        if self._failure is None:
            self._failure = error
        self._socket.close()

    # ---- requests ----

    def start(self, op: int, body: bytes, table: str | None, deadline: float | None) -> int:
        """Sends a request; its id. UNAVAILABLE: not applied, unless the whole request had left."""
        request_id, data = self.session.request(op, body, table, deadline_ms(deadline))
        try:
            self._send(data, deadline)
        except BaseException as error:
            message = f"the request could not be sent to {self.address}: {error}"
            left = not any(piece.obj is data for piece in self._unsent)
            if left:
                # What failed is behind the request, of which the node has every byte.
                self.close(message)
            else:
                # The node lacks the end of the request, so it did not apply it. The stream breaks off in it.
                self.session.unsent(request_id)
                self.close("a request was not sent completely")
            if not isinstance(error, OSError):
                raise
            applied = Applied.MAYBE_APPLIED if left else Applied.NOT_APPLIED
            raise error_of(Code.UNAVAILABLE, message, applied, 0) from error
        self._frames[request_id] = deque()
        self._sent_at[request_id] = time.monotonic()
        return request_id

    def next_frame(self, request_id: int, deadline: float | None, resumed: bool = False) -> Frame:
        """The next frame of the answer. UNAVAILABLE: the connection is lost. resumed: goes on with a wait that raised
        TimeoutError, so the node's silence goes on too."""
        frames = self._frames[request_id]
        if not resumed:
            self._waiting_since = time.monotonic()
        while not frames:
            if self._failure is not None:
                raise error_of(
                    self._failure.code, self._failure.message, self._failure.applied, self._failure.retry_after_ms
                )
            self._receive_or_fail(deadline)
        return frames.popleft()

    def finish(self, request_id: int) -> None:
        """The answer was received to its end."""
        self._frames.pop(request_id, None)
        self._sent_at.pop(request_id, None)

    def abandon(self, request_id: int) -> None:
        """Nobody waits for the answer any more: the node is told. A connection on which nothing came since the request
        is closed after SILENCE_S of silence, also if that spans several abandoned requests. Those that somebody still
        waits for do not count: they may take long."""
        self._frames.pop(request_id, None)
        sent_at = self._sent_at.pop(request_id, 0.0)
        silent = self._heard_at < sent_at
        if silent:
            earlier_one = self._ignored_since > self._heard_at
            self._ignored_since = min(self._ignored_since, sent_at) if earlier_one else sent_at
            silent = time.monotonic() - self._ignored_since >= SILENCE_S
        if self._failure is not None:
            return
        data = self.session.abandon(request_id)
        if silent:
            self.close("the node was silent until the timeout")
        elif data:
            self._send_small(data)

    def renew_clock(self, deadline: float | None) -> None:
        """Asks for the node's time if what is known of it is old. Errors: nothing was applied."""
        if not self.session.clock_is_old:
            return
        try:
            request_id = self.start(Op.Ping, b"", None, deadline)
            try:
                self.next_frame(request_id, deadline)
            except TimeoutError:
                raise overdue(False) from None
            finally:
                self.abandon(request_id)
        except CellarError as error:
            error.applied = Applied.NOT_APPLIED
            raise

    def credit(self, request_id: int, chunks: int) -> None:
        """The node may send so many more chunks."""
        data = self.session.credit(request_id, chunks) if self._failure is None else b""
        if data:
            self._send_small(data)

    # ---- bytes ----

    def _send(self, data: bytes, deadline: float | None) -> None:
        """Sends all of it. Takes what arrives meanwhile, because a node whose answers nobody takes may read nothing.
        Amid another `_send` (a scan that is collected as garbage) it leaves the bytes to that one."""
        self._unsent.append(memoryview(data))
        if len(self._unsent) > 1:
            return
        until = earlier(deadline, time.monotonic() + 2 * self._keepalive)
        while self._unsent:
            if time.monotonic() >= until:
                raise TimeoutError("timed out")
            self._socket.settimeout(0)
            try:
                rest = self._unsent[0][self._socket.send(self._unsent[0]) :]
            except _WOULD_BLOCK:
                self._wait_for_room(until)
                continue
            if rest:
                self._unsent[0] = rest
            else:
                self._unsent.popleft()

    def _wait_for_room(self, until: float) -> None:
        """Waits until more can be sent, or something arrives. Amid `_take` nothing is taken, so what arrives does not
        count: it would end each wait at once."""
        self._take_what_is_there()
        if self._failure is not None:
            raise ConnectionError(self._failure.message)
        events = selectors.EVENT_WRITE if self._taking else selectors.EVENT_READ | selectors.EVENT_WRITE
        with selectors.DefaultSelector() as selector:
            selector.register(self._socket, events)
            selector.select(max(until - time.monotonic(), LEAST_WAIT_S))

    def _send_small(self, data: bytes) -> None:
        """Bytes that nobody waits for. If they cannot be sent, the connection is lost; also after a Ctrl-C, because
        later requests would be left to this `_send`."""
        try:
            self._send(data, time.monotonic() + self._keepalive)
        except BaseException as error:
            self.close(f"the connection to {self.address} is lost: {error}")
            if not isinstance(error, OSError):
                raise

    def _receive_or_fail(self, deadline: float | None) -> None:
        """Receives something, or notes the loss of the connection. TimeoutError: the deadline passed."""
        try:
            self._receive(deadline)
        except TimeoutError:
            raise
        except (CellarError, OSError) as error:
            self._fail(error)

    def _receive(self, deadline: float | None) -> None:
        """Receives once. Pings a node that is silent while somebody waits, and gives it up when it stays silent."""
        quiet_until = (self._pinged_at or max(self._heard_at, self._waiting_since)) + self._keepalive
        self._wait_at_most(deadline if self.session.hello is None else earlier(deadline, quiet_until), deadline)
        try:
            data = self._socket.recv(RECEIVE_BYTES)
        except _WOULD_BLOCK:
            return  # a `_send` of a scan that was collected as garbage came between, and took the timeout away
        except TimeoutError:
            now = time.monotonic()
            if self.session.hello is None or (deadline is not None and now >= deadline):
                raise
            if now >= quiet_until and self._pinged_at is not None:
                raise lost(f"{self.address} is silent") from None
            if now >= quiet_until:
                self._pinged_at = now
                self._send_small(self.session.ping())
            return
        self._take(data)

    def _take(self, data: bytes) -> None:
        if not data:
            raise lost(f"{self.address} closed the connection")
        self._heard_at = time.monotonic()
        self._pinged_at = None
        self._taking = True
        try:
            for frame in self.session.feed(data):
                frames = self._frames.get(frame.request_id)
                if frames is not None:
                    frames.append(frame)
        finally:
            self._taking = False

    def _take_what_is_there(self) -> None:
        """Takes until nothing is left, because the end of the connection may be behind chunks of scans. Credits bound
        their number."""
        if self._taking:
            return
        try:
            self._socket.settimeout(0)
            while self._failure is None:
                self._take(self._socket.recv(RECEIVE_BYTES))
        except _WOULD_BLOCK:
            pass
        except (CellarError, OSError) as error:
            self._fail(error)
