"""AsyncClient: access to a node in an event loop of asyncio."""
from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Coroutine
from contextlib import aclosing
from typing import Any, Concatenate, ParamSpec, TypeVar

from cellar import _calls, _index_calls
from cellar._async_connection import AsyncConnection
from cellar._calls import Answer, Batch, Call
from cellar._decode import status
from cellar._dial import Identity, no_connection
from cellar._frames import Kind, broken
from cellar._scan import Stream
from cellar._steps import Ask, Planner, Reception, Sleep, Steps, left_s, overdue, prepare, prepare_scan, unstamped
from cellar.cells import Row
from cellar.client import documented
from cellar.errors import CellarError, Code, error_of
from cellar.node import Hello
from cellar.options import DEFAULT_ADDRESS, ClientOptions, seconds

T = TypeVar("T")
P = ParamSpec("P")


def _call(described: Callable[P, Call[T]]) -> Callable[Concatenate[AsyncClient, P], Coroutine[Any, Any, T]]:
    async def method(self: AsyncClient, *args: P.args, **kwargs: P.kwargs) -> T:
        return await self._perform(self._planner.run(described(*args, **kwargs)))

    made: Callable[Concatenate[AsyncClient, P], Coroutine[Any, Any, T]] = documented(method, described)
    return made


def _batch(described: Callable[P, Batch]) -> Callable[Concatenate[AsyncClient, P], Coroutine[Any, Any, None]]:
    async def method(self: AsyncClient, *args: P.args, **kwargs: P.kwargs) -> None:
        await self._perform(self._planner.run_batch(described(*args, **kwargs)))

    made: Callable[Concatenate[AsyncClient, P], Coroutine[Any, Any, None]] = documented(method, described, "None")
    made.__name__ = "mutate_rows"
    return made


def _stream(
    described: Callable[P, Stream], name: str
) -> Callable[Concatenate[AsyncClient, P], AsyncGenerator[Row, None]]:
    def method(self: AsyncClient, *args: P.args, **kwargs: P.kwargs) -> AsyncGenerator[Row, None]:
        return self._rows(described(*args, **kwargs))

    made: Callable[Concatenate[AsyncClient, P], AsyncGenerator[Row, None]] = documented(
        method, described, "AsyncGenerator[Row, None]"
    )
    made.__name__ = name
    return made


class AsyncClient:
    """Access to a node in an event loop. Connects at the first call, and again whenever that is needed.

        async with AsyncClient("127.0.0.1:7420") as cellar:
            await cellar.mutate_row("events", Mutation("user7").set("click", "page", "/home"))
            async for row in cellar.read_rows("events", prefix="user"):
                print(row.key, row.find("click", "page"))

    The methods are those of `Client`, as coroutines. The keyword arguments are the fields of `ClientOptions`. Calls
    that run at the same time share one connection and are answered in any order; writes of one row apply in the order
    in which they were sent. A cancelled call is cancelled at the node; a write may have been applied then. A client
    belongs to one loop.
    """

    def __init__(self, address: str = DEFAULT_ADDRESS, **options: Any) -> None:
        self.options = ClientOptions(address, **options)
        self._planner = Planner(self.options)
        self._identity = Identity(self.options)
        self._connections: dict[str, AsyncConnection] = {}
        self._dialling: dict[str, asyncio.Task[AsyncConnection]] = {}
        self._draining: list[AsyncConnection] = []
        self._closed = False

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Closes the connections; calls under way fail. No call may follow."""
        self._closed = True
        for task in self._dialling.values():
            task.cancel()
        await asyncio.gather(*self._dialling.values(), return_exceptions=True)
        for connection in [*self._connections.values(), *self._draining]:
            connection.close()
            await connection.closed()

    async def hello(self) -> Hello:
        """What the node stated when the connection was opened: version, limits, features."""
        await self.ping()
        return (await self._connection(self.options.address)).session.facts

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

    async def _perform(self, steps: Steps[T]) -> T:
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
                await asyncio.sleep(step.seconds)
                continue
            try:
                answer = await self._ask(step)
            except Exception as error:
                failure = error

    async def _ask(self, ask: Ask) -> Answer:
        sent = False
        try:
            async with asyncio.timeout(left_s(ask.deadline)):
                connection = await self._connection(ask.address)
                if ask.call.writes:
                    await connection.renew_clock(unstamped(ask.tokens))
                op, body = prepare(ask, connection.session)
                table = ask.call.table if ask.call.by_handle else None
                request_id = await connection.start(op, body, table, ask.deadline)
                sent = True
                return await self._answer(connection, request_id, op, ask)
        except TimeoutError:
            if sent:
                connection.abandon(request_id, in_vain=True)
            raise overdue(sent and ask.call.writes) from None
        finally:
            if sent:
                connection.abandon(request_id)

    async def _answer(self, connection: AsyncConnection, request_id: int, op: int, ask: Ask) -> Answer:
        reception = Reception(ask, op)
        await connection.drain()
        while True:
            frame = await connection.next_frame(request_id)
            if frame.kind is not Kind.CHUNK:
                connection.finish(request_id)
            answer = reception.take(frame)
            if answer is not None:
                return answer

    async def _connection(self, address: str) -> AsyncConnection:
        """A connection that takes requests. Calls that need one at the same time wait for the same one."""
        if self._closed:
            raise error_of(Code.CANCELLED, "the client is closed")
        connection = self._connections.get(address)
        if connection is not None and connection.usable:
            return connection
        task = self._dialling.get(address)
        if task is None:
            self._retire(address)
            task = self._dialling[address] = asyncio.create_task(self._dial(address))
            task.add_done_callback(lambda t: t.cancelled() or t.exception())  # its waiters may be gone
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            caller = asyncio.current_task()
            if self._closed and task.cancelled() and not (caller is not None and caller.cancelling()):
                raise error_of(Code.CANCELLED, "the client was closed") from None
            raise

    def _retire(self, address: str) -> None:
        old = self._connections.pop(address, None)
        if old is not None:
            self._draining.append(old)
        for connection in [c for c in self._draining if c.done]:
            connection.close()
            self._draining.remove(connection)

    async def _dial(self, address: str) -> AsyncConnection:
        try:
            async with asyncio.timeout(seconds(self.options.connect_timeout)):
                connection = await AsyncConnection.open(address, self._identity)
            self._connections[address] = connection
            return connection
        except (OSError, CellarError) as error:
            raise no_connection(address, error, self.options.wait_for_connection) from error
        finally:
            del self._dialling[address]

    async def _rows(self, scan: Stream) -> AsyncGenerator[Row, None]:
        while True:
            try:
                async with aclosing(self._attempt(scan)) as rows:
                    async for row in rows:
                        yield row
                return
            except Exception as failure:
                pause = self._planner.after(scan, failure)
            if not scan.resume():
                return
            await asyncio.sleep(pause)

    async def _attempt(self, scan: Stream) -> AsyncGenerator[Row, None]:
        address = self._planner.address(scan.table)
        connection = await self._connection(address)
        body = prepare_scan(scan, connection.session, address)
        request_id = await connection.start(scan.op, body, scan.table, scan.deadline)
        ended = False
        try:
            while not ended:
                frame = await connection.next_frame(request_id)
                ended = frame.kind is not Kind.CHUNK
                if frame.error:
                    raise status(frame.body)
                if frame.kind is Kind.END:
                    scan.end(frame.body)
                elif ended:
                    raise broken("a read ended without an end")
                else:
                    for row in scan.feed(frame.body):
                        yield row
                    connection.credit(request_id, 1)
        finally:
            if ended:
                connection.finish(request_id)
            else:
                connection.abandon(request_id)
