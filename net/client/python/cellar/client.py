"""Client: access to a node with blocking calls."""
from __future__ import annotations

import contextlib
import functools
import inspect
import threading
import time
from collections.abc import Callable, Generator, Iterator
from typing import Any, Concatenate, ParamSpec, TypeVar

from cellar import _calls, _index_calls
from cellar._calls import Answer, Batch, Call
from cellar._connection import Connection, earlier
from cellar._decode import status
from cellar._dial import Identity, no_connection
from cellar._frames import Frame, Kind, broken
from cellar._scan import Stream
from cellar._steps import Ask, Planner, Reception, Sleep, Steps, left_s, overdue, prepare, prepare_scan, unstamped
from cellar.cells import Row
from cellar.errors import CellarError, Code, error_of
from cellar.node import Hello
from cellar.options import CLIENT_TIMEOUT, DEFAULT_ADDRESS, ClientOptions

SLICE_S = 0.05
"""A scan that waits lets the calls of other threads go first after this."""
YIELD_S = 0.001
FAREWELL_S = 1.0
"""For which `close` waits until calls of other threads have ended."""

T = TypeVar("T")
P = ParamSpec("P")


def documented(method: Any, described: Callable[..., Any], returns: Any = None) -> Any:
    """Gives a method the name, the documentation and, behind `self`, the arguments of the call that it makes."""
    functools.update_wrapper(method, described)
    del method.__wrapped__
    signature = inspect.signature(described)
    own = inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    returned = returns or str(signature.return_annotation).removeprefix("Call[").removesuffix("]")
    method.__signature__ = signature.replace(
        parameters=[own, *signature.parameters.values()], return_annotation=returned
    )
    return method


def _call(described: Callable[P, Call[T]]) -> Callable[Concatenate[Client, P], T]:
    def method(self: Client, *args: P.args, **kwargs: P.kwargs) -> T:
        return self._perform(self._planner.run(described(*args, **kwargs)))

    made: Callable[Concatenate[Client, P], T] = documented(method, described)
    return made


def _batch(described: Callable[P, Batch]) -> Callable[Concatenate[Client, P], None]:
    def method(self: Client, *args: P.args, **kwargs: P.kwargs) -> None:
        self._perform(self._planner.run_batch(described(*args, **kwargs)))

    made: Callable[Concatenate[Client, P], None] = documented(method, described, "None")
    made.__name__ = "mutate_rows"
    return made


def _stream(
    described: Callable[P, Stream], name: str
) -> Callable[Concatenate[Client, P], Generator[Row, None, None]]:
    def method(self: Client, *args: P.args, **kwargs: P.kwargs) -> Generator[Row, None, None]:
        return self._rows(described(*args, **kwargs))

    made: Callable[Concatenate[Client, P], Generator[Row, None, None]] = documented(
        method, described, "Generator[Row, None, None]"
    )
    made.__name__ = name
    return made


class Client:
    """Access to a node. Connects at the first call, and again whenever that is needed.

        with Client("127.0.0.1:7420") as cellar:
            cellar.mutate_row("events", Mutation("user7").set("click", "page", "/home"))
            for row in cellar.read_rows("events", prefix="user"):
                print(row.key, row.find("click", "page"))

    The keyword arguments are the fields of `ClientOptions`. Calls raise `CellarError`; an error that a call raises is
    final. Threads may share a client: it sends one request at a time, and the wait for its turn counts toward the
    timeout of a call. Other calls may be made while a scan is under way.
    """

    def __init__(self, address: str = DEFAULT_ADDRESS, **options: Any) -> None:
        self.options = ClientOptions(address, **options)
        self._planner = Planner(self.options)
        self._identity = Identity(self.options)
        self._connections: dict[str, Connection] = {}
        self._draining: list[Connection] = []
        self._lock = threading.RLock()
        self._closed = False

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Closes the connections; calls of other threads fail. No call may follow."""
        self._closed = True
        connections = [*self._connections.values(), *self._draining]
        for connection in connections:
            connection.interrupt()
        # The socket of a call that has not ended by then is closed by that call.
        if self._lock.acquire(timeout=FAREWELL_S):
            try:
                for connection in connections:
                    connection.close()
            finally:
                self._lock.release()

    def hello(self) -> Hello:
        """What the node stated when the connection was opened: version, limits, features."""
        self.ping()
        deadline = self._planner.deadline(CLIENT_TIMEOUT)
        with self._turn(deadline):
            return self._connection(self.options.address, deadline).session.facts

    ping = _call(_calls.ping)
    server_info = _call(_calls.server_info)
    read_row = _call(_calls.read_row)
    explain = _call(_calls.explain)
    read_rows = _stream(_calls.scan, "read_rows")
    read_index = _stream(_index_calls.read_index, "read_index")
    sample_row_keys = _call(_calls.sample_row_keys)
    mutate_row = _call(_calls.mutate_row)
    mutate_rows = _batch(_calls.batch)
    check_and_mutate = _call(_calls.check_and_mutate)
    read_modify_write = _call(_calls.read_modify_write)
    drop_row_range = _call(_calls.drop_row_range)
    create_table = _call(_calls.create_table)
    alter_table = _call(_calls.alter_table)
    set_rule = _call(_calls.set_rule)
    drop_table = _call(_calls.drop_table)
    restore_table = _call(_calls.restore_table)
    list_tables = _call(_calls.list_tables)
    describe_table = _call(_calls.describe_table)
    flush_table = _call(_calls.flush_table)
    compact_table = _call(_calls.compact_table)
    preview_rule = _call(_calls.preview_rule)
    undo_rule = _call(_calls.undo_rule)
    rule_history = _call(_calls.rule_history)
    create_index = _call(_index_calls.create_index)
    alter_index = _call(_index_calls.alter_index)
    drop_index = _call(_index_calls.drop_index)
    describe_indexes = _call(_index_calls.describe_indexes)

    # ---- how a call is made ----

    def _perform(self, steps: Steps[T]) -> T:
        answer: Answer | None = None
        failure: Exception | None = None
        while True:
            try:
                step = steps.throw(failure) if failure is not None else steps.send(answer)
            except StopIteration as stop:
                result: T = stop.value
                return result
            answer = failure = None
            if isinstance(step, Sleep):
                time.sleep(step.seconds)
                continue
            try:
                answer = self._ask(step)
            except Exception as error:
                failure = error

    @contextlib.contextmanager
    def _turn(self, deadline: float | None) -> Iterator[None]:
        """Holds the lock. DEADLINE_EXCEEDED: other threads had it until the deadline."""
        left = left_s(deadline)
        if not self._lock.acquire(timeout=-1 if left is None else min(left, threading.TIMEOUT_MAX)):
            raise overdue(False)
        try:
            yield
        finally:
            self._lock.release()

    def _ask(self, ask: Ask) -> Answer:
        with self._turn(ask.deadline):
            connection = self._connection(ask.address, ask.deadline)
            if unstamped(ask.tokens):
                connection.renew_clock(ask.deadline)
            op, body = prepare(ask, connection.session)
            table = ask.call.table if ask.call.by_handle else None
            request_id = connection.start(op, body, table, ask.deadline)
            reception = Reception(ask, op)
            answer, ended = None, False
            try:
                while answer is None:
                    frame = connection.next_frame(request_id, ask.deadline)
                    ended = frame.kind is not Kind.CHUNK
                    answer = reception.take(frame)
                return answer
            except TimeoutError:
                raise overdue(ask.call.writes) from None
            finally:
                if ended:
                    connection.finish(request_id)
                else:
                    connection.abandon(request_id)

    def _connection(self, address: str, deadline: float | None = None) -> Connection:
        """A connection that takes requests."""
        if self._closed:
            raise error_of(Code.CANCELLED, "the client is closed")
        connection = self._connections.get(address)
        if connection is not None and connection.usable:
            return connection
        if connection is not None and not connection.done:
            self._draining.append(connection)  # scans of it are under way
        elif connection is not None:
            connection.close()
        self._connections.pop(address, None)
        for old in [c for c in self._draining if c.done]:
            old.close()
            self._draining.remove(old)
        try:
            connection = self._connections[address] = Connection(address, self._identity, deadline)
        except (OSError, CellarError) as error:
            if isinstance(error, TimeoutError) and left_s(deadline) == 0:
                raise overdue(False) from None
            raise no_connection(address, error, self.options.wait_for_connection) from error
        if self._closed:  # while it was opened, when `close` could not know it
            connection.close()
            raise error_of(Code.CANCELLED, "the client is closed")
        return connection

    def _rows(self, scan: Stream) -> Generator[Row, None, None]:
        while True:
            try:
                yield from self._attempt(scan)
                return
            except Exception as failure:
                pause = self._planner.after(scan, failure)
            if not scan.resume():
                return
            time.sleep(pause)

    def _attempt(self, scan: Stream) -> Generator[Row, None, None]:
        address = self._planner.address(scan.table)
        with self._turn(scan.deadline):
            connection = self._connection(address)
            body = prepare_scan(scan, connection.session, address)
            request_id = connection.start(scan.op, body, scan.table, scan.deadline)
        ended = False
        try:
            while not ended:
                frame = self._next_frame(connection, request_id, scan.deadline)
                ended = frame.kind is not Kind.CHUNK
                if frame.error:
                    raise status(frame.body)
                if frame.kind is Kind.END:
                    scan.end(frame.body)
                elif ended:
                    raise broken("a read ended without an end")
                else:
                    yield from scan.feed(frame.body)
                    with self._lock:
                        connection.credit(request_id, 1)
        finally:
            with self._lock:
                if ended:
                    connection.finish(request_id)
                else:
                    connection.abandon(request_id)

    def _next_frame(self, connection: Connection, request_id: int, deadline: float | None) -> Frame:
        """Of a scan. Waits in slices, between which other threads have their turn."""
        resumed = False
        while True:
            with self._lock:
                try:
                    return connection.next_frame(request_id, earlier(deadline, time.monotonic() + SLICE_S), resumed)
                except TimeoutError:
                    if left_s(deadline) == 0:
                        raise
            resumed = True
            time.sleep(YIELD_S)
