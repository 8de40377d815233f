"""Support of the tests of the Python client: the package from the wheel, a node, a proxy that cuts, a node that lies,
a test with listeners.

A test is started as  TEST.py WHEEL SOURCE_DIR BIN_DIR
"""
import asyncio
import pathlib
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest

WHEEL, SOURCE, BIN = (pathlib.Path(word).resolve() for word in sys.argv[1:4])
del sys.argv[1:4]
sys.dont_write_bytecode = True
sys.path.insert(0, str(WHEEL))

import cellar  # noqa: E402
from cellar import _bodies, _decode, _encode, _frames  # noqa: E402
from cellar._schema import HelloReply, Limits, MutateRowsReply, PingReply, ReadChunk, Status  # noqa: E402

START_S = 60
SOON = 0.05
FEATURES = (
    "tokens",
    "drop_row_range",
    "drop_row_range_tokens",
    "explain",
    "include_dead",
    "with_expiry",
    "reversed",
    "preview",
    "alter_table",
    "rule_history",
    "restore_table",
    "sample_row_keys",
)


class Node:
    """A `cellard` in a directory of its own."""

    def __init__(self, *options):
        self._directory = tempfile.TemporaryDirectory(prefix="python_client.")
        self._out = pathlib.Path(self._directory.name) / "out"
        self._options = options
        self.start("127.0.0.1:0")

    def path(self, name):
        return pathlib.Path(self._directory.name) / name

    def start(self, listen):
        with open(self._out, "wb") as out, open(self.path("log"), "ab") as log:
            self.process = subprocess.Popen(
                [
                    BIN / "cellard",
                    "--data-dir",
                    self.path("data"),
                    "--listen",
                    listen,
                    "--http-listen",
                    "",
                    "--shards",
                    "2",
                    "--memory-total",
                    "256MiB",
                    "--drain-within",
                    "0s",
                    *self._options,
                ],
                stdout=out,
                stderr=log,
            )
        until = time.monotonic() + START_S
        while "ready on" not in (text := self._out.read_text()):
            assert self.process.poll() is None and time.monotonic() < until, self.path("log").read_text()
            time.sleep(SOON)
        self.address = text.split("ready on ")[1].strip()

    def restart(self):
        self.end()
        self.start(self.address)

    def end(self):
        self.process.terminate()
        self.process.wait(START_S)

    def stop(self):
        self.end()
        self._directory.cleanup()


class Listener:
    """Accepts connections on loopback; each is served by `serve(socket, number)` in a thread."""

    def __init__(self):
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.address = "127.0.0.1:%d" % self._socket.getsockname()[1]
        self.connections = 0
        self._open = []
        self.failure = None
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                peer, _ = self._socket.accept()
            except OSError:
                return
            peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self.connections += 1
            self._open.append(peer)
            threading.Thread(target=self._guarded, args=(peer, self.connections), daemon=True).start()

    def _guarded(self, peer, number):
        try:
            self.serve(peer, number)
        except OSError:
            pass
        except Exception as error:  # of the test itself
            self.failure = error
            raise
        finally:
            shut(peer)

    def serve(self, peer, number):
        raise NotImplementedError

    def cut(self):
        """Ends every connection."""
        for peer in self._open:
            shut(peer)

    def stop(self):
        shut(self._socket)
        self.cut()


def shut(peer):
    try:
        peer.shutdown(socket.SHUT_RDWR)
    except OSError:
        pass
    peer.close()


class Proxy(Listener):
    """Leads to a node. `cut_after`: bytes of answers after which the next connections end, each in its turn; then none
    does. `mute`: answers are dropped."""

    def __init__(self, address, cut_after=()):
        self.target = address.rsplit(":", 1)
        self.cuts = list(cut_after)
        self.mute = False
        super().__init__()

    def serve(self, peer, number):
        budget = self.cuts.pop(0) if self.cuts else None
        with socket.create_connection(self.target) as node:
            self._open.append(node)
            threading.Thread(target=self._forward, args=(peer, node), daemon=True).start()
            passed = 0
            while data := node.recv(65536):
                if self.mute:
                    continue
                if budget is not None and passed + len(data) >= budget:
                    peer.sendall(data[: budget - passed])
                    return
                passed += len(data)
                peer.sendall(data)

    def _forward(self, peer, node):
        try:
            while data := peer.recv(65536):
                node.sendall(data)
        except OSError:
            pass
        shut(node)


class FakeNode(Listener):
    """Speaks frames, and answers with what a test wants: `answer(op, request_id, body, connection)` gives bytes to
    send, or None to close the connection. Hello is answered by itself, unless `hello(request_id)` says otherwise in the
    same way."""

    def __init__(self, answer, hello=None):
        self.answer = answer
        self.hello = hello or hello_reply
        self.requests = []  # (connection, op)
        super().__init__()

    def serve(self, peer, number):
        stream = peer.makefile("rb")
        stream.read(16)
        while len(header := stream.read(_frames.HEADER.size)) == _frames.HEADER.size:
            size, kind, op, _, request_id, *_ = _frames.HEADER.unpack(header)
            body = stream.read(size)
            if kind != _frames.Kind.REQUEST:
                continue
            if op == 1:
                data = self.hello(request_id)
            else:
                self.requests.append((number, op))
                data = self.answer(op, request_id, body, number)
            if data is None:
                return
            peer.sendall(data)

    def send(self, data):
        """Sends over the connection that was opened last."""
        self._open[-1].sendall(data)


def frame(kind, op, request_id, body=b"", flags=0):
    """A frame of a node."""
    body = _frames.padded(body)
    return _frames.HEADER.pack(len(body), kind, op, flags, request_id, 0, 0, 0) + body


def reply(op, request_id, body=b""):
    return frame(_frames.Kind.REPLY, op, request_id, body)


def hello_body(features=FEATURES, frame_bytes=1 << 25, version=2, in_flight=64, ahead_us=0):
    b = _bodies.new_builder()
    names = _bodies.table_vector(b, [int(b.CreateString(name)) for name in features])
    Limits.Start(b)
    Limits.AddFrameBytes(b, frame_bytes)
    Limits.AddInFlight(b, in_flight)
    limits = Limits.End(b)
    HelloReply.Start(b)
    HelloReply.AddVersion(b, version)
    HelloReply.AddLimits(b, limits)
    HelloReply.AddFeatures(b, names)
    HelloReply.AddNowUs(b, int(time.time() * 1e6) + ahead_us)
    HelloReply.AddInstance(b, 7)
    return _bodies.finish(b, HelloReply.End(b), b"RHEL")


def hello_reply(request_id, **options):
    return reply(1, request_id, hello_body(**options))


def pong(request_id, ahead_us=0):
    b = _bodies.new_builder()
    PingReply.Start(b)
    PingReply.AddNowUs(b, int(time.time() * 1e6) + ahead_us)
    return reply(2, request_id, _bodies.finish(b, PingReply.End(b), b"RPNG"))


def chunk_body(key, values, flags=_decode.COMPLETE, runs=0, runs_opened=0, position=b""):
    """A chunk with one row or a part of it; its cells have these values."""
    b, arena = _bodies.new_builder(), _bodies.Arena()
    row = _decode.ROW.pack(*arena.add(key), len(values), flags, 0)
    cells = []
    for value in values:
        (family, _), (at, size) = arena.add(b"a"), arena.add(value)
        cells.append(_decode.CELL.pack(1000, family, family, at, size, 1, 1, 0, 0, 0))
    rows = _bodies.struct_vector(b, _decode.ROW.size, row)
    cells = _bodies.struct_vector(b, _decode.CELL.size, b"".join(cells))
    bytes_of_all = _bodies.byte_vector(b, arena.bytes)
    place = _bodies.byte_vector(b, position) if position else 0
    ReadChunk.Start(b)
    ReadChunk.AddRows(b, rows)
    ReadChunk.AddCells(b, cells)
    ReadChunk.AddArena(b, bytes_of_all)
    ReadChunk.AddRuns(b, runs)
    ReadChunk.AddRunsOpened(b, runs_opened)
    if place:
        ReadChunk.AddPosition(b, place)
    return _bodies.finish(b, ReadChunk.End(b), b"RCHK")


def refusal(op, request_id, code, applied=0, retry_after_ms=None, owner=None, message="no", kind=_frames.Kind.REPLY):
    b = _bodies.new_builder()
    text = b.CreateString(message)
    other = b.CreateString(owner) if owner else 0
    Status.Start(b)
    Status.AddCode(b, int(code))
    Status.AddApplied(b, int(applied))
    if retry_after_ms is not None:
        Status.AddRetryAfterMs(b, retry_after_ms)
    Status.AddMessage(b, text)
    if other:
        Status.AddOwner(b, other)
    return frame(kind, op, request_id, _bodies.finish(b, Status.End(b), b"RSTA"), flags=1)


def row_failures(request_id, failures):
    """An answer to MutateRows. `failures`: {index: (code, applied)}."""
    packed = b"".join(
        _decode.FAILURE.pack(i, 0, 0, 2, int(code), int(applied), 0) for i, (code, applied) in sorted(failures.items())
    )
    b = _bodies.new_builder()
    vector, arena = _bodies.struct_vector(b, _decode.FAILURE.size, packed), _bodies.byte_vector(b, b"no")
    MutateRowsReply.Start(b)
    MutateRowsReply.AddFailures(b, vector)
    MutateRowsReply.AddArena(b, arena)
    return reply(17, request_id, _bodies.finish(b, MutateRowsReply.End(b), b"RMRS"))


def rows_of(body):
    """The row keys of a MutateRows, in order."""
    from cellar._schema.MutateRowsRequest import MutateRowsRequest

    b, request = _bodies.Body(body), MutateRowsRequest.GetRootAs(body, 0)
    arena = b.vector(request, 3, 1)
    return [bytes(arena[at : at + size]) for at, size, *_ in b.structs(request, 1, _encode.ENTRY)]


class Blocking:
    """A `Client` whose methods are coroutines, so that one test is of both clients."""

    def __init__(self, address, **options):
        self._client = cellar.Client(address, **options)

    async def __aenter__(self):
        return self

    async def __aexit__(self, *_):
        self._client.close()

    async def close(self):
        self._client.close()

    def __getattr__(self, name):
        method = getattr(self._client, name)
        if name in ("read_rows", "read_index"):

            async def rows(*args, **kwargs):
                for row in method(*args, **kwargs):
                    yield row

            return rows

        async def call(*args, **kwargs):
            return method(*args, **kwargs)

        return call


BOTH = (Blocking, cellar.AsyncClient)


BOUND_S = 20  # of one test body: whatever a node does, no call hangs
QUICK = {"retry": cellar.RetryOptions(max_attempts=4, backoff_min_s=0.001, backoff_max_s=0.005), "timeout": 3.0}
WRITE = cellar.Mutation("r").set("a", "q", "v")


class Bed(unittest.IsolatedAsyncioTestCase):
    """Tests with listeners, of one client or of both."""

    async def asyncSetUp(self):
        self.listeners = []

    async def asyncTearDown(self):
        for listener in self.listeners:
            listener.stop()
            self.assertIsNone(listener.failure)

    def listen(self, listener):
        self.listeners.append(listener)
        return listener

    async def with_both(self, body, address, **options):
        """Runs body(client) with each client, in bounded time."""
        for make in BOTH:
            with self.subTest(make.__name__):
                async with asyncio.timeout(BOUND_S):
                    async with make(address() if callable(address) else address, **{**QUICK, **options}) as client:
                        began = time.monotonic()
                        await body(client)
                        self.assertLess(time.monotonic() - began, BOUND_S)  # a blocking call cannot be interrupted

    async def failure_of(self, kind, call):
        with self.assertRaises(kind) as failed:
            await call
        return failed.exception


async def all_of(rows):
    return [row async for row in rows]


def now_us():
    return int(time.time() * 1000) * 1000
