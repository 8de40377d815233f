#!/usr/bin/env python3
"""What the clients do with their connections: the hello, silence, full sockets, owners, the node's clock, the end."""
import asyncio
import os
import resource
import threading
import time
import unittest
from unittest import mock

import support
from support import WRITE, Bed, FakeNode, Listener, all_of, cellar, frame, refusal, reply
from cellar import Applied, Code, Mutation, Token
from cellar import _frames, _session
from cellar._connection import Connection
from cellar._frames import Kind
from cellar._schema.MutateRowRequest import MutateRowRequest
from cellar._schema.Op import Op

HOUR_US = 3_600_000_000
SOON_S = 1.0
FIRST_ROW = support.chunk_body(b"first", [b"v"])


class Deaf(Listener):
    """Answers the hello, if it is told to, and then reads nothing until `listen` is set. `ended`: the client closed."""

    def __init__(self, greets=True):
        self.greets = greets
        self.listen, self.ended = threading.Event(), threading.Event()
        super().__init__()

    def serve(self, peer, number):
        stream = peer.makefile("rb")
        stream.read(16)
        *_, request_id, _, _, _ = _frames.HEADER.unpack(stream.read(_frames.HEADER.size))
        if self.greets:
            peer.sendall(support.hello_reply(request_id))
        self.listen.wait(support.BOUND_S)
        try:
            while peer.recv(1 << 20):
                pass
        finally:
            self.ended.set()


def drop(client, **options):
    """A write without a token that a fake node answers with an empty reply."""
    return client.drop_row_range("t", prefix="r", **options)


class BothClients(Bed):
    async def test_a_connection_lost_during_the_hello_applied_nothing(self):
        node = self.listen(FakeNode(lambda op, rid, b, n: reply(op, rid), lambda rid: None))

        async def body(client):
            error = await self.failure_of(cellar.Unavailable, client.mutate_row("t", WRITE))
            self.assertIs(error.applied, Applied.NOT_APPLIED)

        await self.with_both(body, node.address)

    async def test_a_client_that_waits_survives_losses_during_the_hello(self):
        def hello(rid):
            losses.append(rid)
            return support.hello_reply(rid) if len(losses) > 3 else None

        async def body(client):
            losses.clear()
            await drop(client)
            losses.clear()
            node.cut()
            await asyncio.sleep(support.SOON)
            self.assertEqual(await all_of(client.read_rows("t")), [])

        losses = []
        node = self.listen(FakeNode(ended, hello))
        once = cellar.RetryOptions(max_attempts=1, backoff_min_s=0.001, backoff_max_s=0.005)
        await self.with_both(body, node.address, wait_for_connection=True, retry=once)

    async def test_a_short_silence_does_not_end_a_connection(self):
        def answer(op, rid, b, n):
            time.sleep(0.3)
            return reply(op, rid)

        async def body(client):
            before = node.connections
            await self.failure_of(cellar.DeadlineExceeded, client.read_row("t", "r", timeout=0.05))
            await client.ping()
            self.assertEqual(node.connections, before + 1)

        node = self.listen(FakeNode(answer))
        await self.with_both(body, node.address)

    async def test_short_timeouts_leave_a_dead_connection(self):
        async def body(client):
            dead.append(node.connections + 1)
            failures = 0
            while node.connections <= dead[-1] and failures < 5:
                try:
                    await client.ping(timeout=0.5)
                except cellar.DeadlineExceeded:
                    failures += 1
            self.assertIn(failures, (2, 3))  # a second of silence

        dead = []
        node = self.listen(FakeNode(lambda op, rid, b, n: b"" if n in dead else reply(op, rid)))
        await self.with_both(body, node.address)

    async def test_nodes_that_name_each_other_are_asked_in_bounded_number(self):
        def elsewhere(other):
            return lambda op, rid, b, n: refusal(op, rid, Code.ABORTED, 0, 0, owner=other[0])

        one, two = [""], [""]
        a, b = self.listen(FakeNode(elsewhere(two))), self.listen(FakeNode(elsewhere(one)))
        one[0], two[0] = a.address, b.address

        async def body(client):
            for call in (
                lambda: all_of(client.read_rows("t")),
                lambda: client.read_row("t", "r"),
                lambda: client.mutate_rows("t", [WRITE]),
            ):
                a.requests.clear()
                b.requests.clear()
                error = await self.failure_of(cellar.CellarError, call())
                self.assertEqual((error.code, error.applied), (Code.ABORTED, Applied.NOT_APPLIED))
                self.assertEqual(len(a.requests) + len(b.requests), 1 + 4)  # a hint is followed once

        await self.with_both(body, a.address)

    async def test_a_second_owner_is_waited_for(self):
        """Two nodes that name each other agree after a while."""

        def changed(op, rid, b, n):
            if len(new.requests) % 2:
                return refusal(op, rid, Code.ABORTED, 0, 0, owner=old.address)
            return ended(op, rid, b, n)

        new = self.listen(FakeNode(changed))
        old = self.listen(FakeNode(lambda op, rid, b, n: refusal(op, rid, Code.ABORTED, 0, 0, owner=new.address)))

        async def writes(client):
            new.requests.clear()
            await drop(client)
            self.assertEqual(len(new.requests), 2)

        async def reads(client):
            new.requests.clear()
            self.assertEqual(await all_of(client.read_rows("t")), [])
            self.assertEqual(len(new.requests), 2)

        await self.with_both(writes, old.address)
        await self.with_both(reads, old.address)

    async def test_a_lost_entry_does_not_overtake_a_later_one_of_its_row(self):
        """The node may have refused the first entry and applied the last: with its token that is not done again, so the
        first must not be applied now."""
        stamped = [Mutation("a").set("a", "q", v, timestamp=1000) for v in "12"]
        last = Mutation("a", token=Token.draw()).set("a", "q", "3", timestamp=1000)
        other = Mutation("b").set("a", "q", "v", timestamp=1000)
        for what, entries, attempts, failed, options in (
            ("tokens", [stamped[0], other, stamped[1]], ["aba", "ba"], [0], {"draw_tokens": True}),
            ("a token behind none", [stamped[0], last], ["aa", "a"], [0], {"sole_writer": True}),
            ("no tokens", [stamped[0], other, stamped[1]], ["aba", "aba"], [], {"sole_writer": True}),
            ("none behind a token", [last, stamped[0]], ["aa", "aa"], [], {"sole_writer": True}),
        ):

            def answer(op, rid, body, n):
                sent.append(b"".join(support.rows_of(body)).decode())
                return support.row_failures(rid, {}) if len(sent) > 1 else None

            async def body(client):
                sent.clear()
                call = client.mutate_rows("t", entries, **options)
                if failed:
                    error = await self.failure_of(cellar.PartlyFailed, call)
                    self.assertEqual({i: e.applied for i, e in error.failures.items()}, {0: Applied.MAYBE_APPLIED})
                else:
                    await call
                self.assertEqual(sent, attempts, what)

            sent = []
            await self.with_both(body, self.listen(FakeNode(answer)).address)

    async def test_tokens_follow_the_clock_of_the_node(self):
        def answer(op, rid, body, n):
            if op == Op.Ping:
                return support.pong(rid, HOUR_US)
            issued.append(MutateRowRequest.GetRootAs(body, 0).Token().IssuedUs())
            return reply(op, rid)

        async def asked(client):
            await client.ping()
            await writes(client)

        async def writes(client):
            await client.mutate_row("t", WRITE, draw_tokens=True)
            self.assertLess(abs(issued[-1] - support.now_us() - HOUR_US), 60_000_000)

        async def others(client):
            node.requests.clear()
            await client.mutate_row("t", WRITE, token=Token(b"t", 1000))
            self.assertEqual([op for _, op in node.requests], [Op.MutateRow])  # has its own time

        issued = []
        node = self.listen(FakeNode(answer))
        await self.with_both(asked, node.address)
        with mock.patch.object(_session, "CLOCK_AGE_S", -1.0):
            await self.with_both(writes, node.address)
            await self.with_both(others, node.address)

    async def test_a_clock_that_is_not_told_leaves_a_write_unsent(self):
        async def body(client):
            node.requests.clear()
            write = client.mutate_row("t", WRITE, draw_tokens=True, timeout=0.2)
            error = await self.failure_of(cellar.DeadlineExceeded, write)
            self.assertIs(error.applied, Applied.NOT_APPLIED)
            self.assertEqual([op for _, op in node.requests], [Op.Ping])

        node = self.listen(FakeNode(lambda op, rid, b, n: b""))
        with mock.patch.object(_session, "CLOCK_AGE_S", -1.0):
            await self.with_both(body, node.address)


def ended(op, rid, body, number):
    """An answer of a node without rows."""
    return frame(Kind.END, op, rid) if op == Op.ReadRows else reply(op, rid)


class Asyncio(Bed):
    async def test_a_short_timeout_leaves_the_other_calls_alone(self):
        def answer(op, rid, b, n):
            time.sleep(0.3)
            return reply(op, rid)

        node = self.listen(FakeNode(answer))
        async with cellar.AsyncClient(node.address) as client:
            write, read = await asyncio.gather(
                drop(client), client.read_row("t", "r", timeout=0.05), return_exceptions=True
            )
        self.assertEqual(write, 0)
        self.assertIsInstance(read, cellar.DeadlineExceeded)

    async def test_a_short_timeout_during_a_long_call_leaves_it_alone(self):
        def answer(op, rid, b, n):
            time.sleep(1.5 if op == Op.DropRowRange else 0)
            return reply(op, rid)

        node = self.listen(FakeNode(answer))
        async with cellar.AsyncClient(node.address) as client:
            write = asyncio.create_task(drop(client))
            await asyncio.sleep(1.2)  # the node is silent for longer than SILENCE_S
            await self.failure_of(cellar.DeadlineExceeded, client.read_row("t", "r", timeout=0.05))
            self.assertEqual(await write, 0)
        self.assertEqual(node.connections, 1)

    async def test_close_ends_calls_whose_bytes_nobody_reads(self):
        node = self.listen(Deaf())
        client = cellar.AsyncClient(node.address)
        large = Mutation("r").set("a", "q", b"v" * (4 << 20))
        calls = [asyncio.create_task(client.mutate_row("t", large, timeout=None)) for _ in range(8)]
        await asyncio.sleep(0.3)
        async with asyncio.timeout(SOON_S):
            await client.close()
            outcomes = await asyncio.gather(*calls, return_exceptions=True)
        for outcome in outcomes:
            self.assertIsInstance(outcome, cellar.CellarError)
        node.listen.set()
        self.assertTrue(await asyncio.to_thread(node.ended.wait, SOON_S), "the socket is still open")

    async def test_close_ends_calls_that_wait_for_a_connection(self):
        node = self.listen(Deaf(greets=False))
        client = cellar.AsyncClient(node.address)
        calls = [asyncio.create_task(client.ping()) for _ in range(3)]
        await asyncio.sleep(0.1)
        calls[0].cancel()
        await client.close()
        outcomes = await asyncio.gather(*calls, return_exceptions=True)
        self.assertEqual([type(o) for o in outcomes], [asyncio.CancelledError, cellar.Cancelled, cellar.Cancelled])
        self.assertIs(outcomes[1].applied, Applied.NOT_APPLIED)

    async def test_a_ping_has_room_beside_the_requests(self):
        node = self.listen(FakeNode(lambda op, rid, b, n: b"", lambda rid: support.hello_reply(rid, in_flight=4)))
        async with cellar.AsyncClient(node.address) as client:
            calls = [asyncio.create_task(client.ping()) for _ in range(8)]
            await asyncio.sleep(0.2)
            self.assertEqual(len(node.requests), 3)
            await client.close()
            for outcome in await asyncio.gather(*calls, return_exceptions=True):
                self.assertIsInstance(outcome, cellar.CellarError)

    async def test_an_abandoned_request_counts_until_the_node_has_ended_it(self):
        def answer(op, rid, b, n):
            ids.append(rid)
            return b"" if len(ids) <= 2 else reply(op, rid)

        ids = []
        node = self.listen(FakeNode(answer, lambda rid: support.hello_reply(rid, in_flight=3)))
        async with cellar.AsyncClient(node.address) as client:
            for _ in range(2):
                await self.failure_of(cellar.DeadlineExceeded, client.ping(timeout=0.1))
            waiting = asyncio.create_task(client.ping())
            await asyncio.sleep(0.1)
            self.assertEqual(len(ids), 2)
            node.send(reply(Op.Ping, ids[0]))
            await waiting
            self.assertEqual(len(ids), 3)
            # The loss of the connection frees what is still held.
            node.cut()
            await client.ping()


class Threads(Bed):
    """The blocking client."""

    def in_thread(self, call):
        """Starts call() in a thread; a list gets its outcome."""
        outcome = []

        def run():
            try:
                outcome.append(call())
            except Exception as error:
                outcome.append(error)

        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        return thread, outcome

    def within(self, bound_s, call):
        began = time.monotonic()
        try:
            return call()
        finally:
            self.assertLess(time.monotonic() - began, bound_s)

    async def test_a_timeout_covers_the_wait_for_another_thread(self):
        def answer(op, rid, b, n):
            if op == Op.ReadRows:
                time.sleep(3)
            return b""

        for busy, outcome_of_drop in (
            (lambda c: list(c.read_rows("t")), Applied.MAYBE_APPLIED),  # it is sent between waits of the scan
            (lambda c: c.compact_table("t"), Applied.NOT_APPLIED),
        ):
            client = cellar.Client(self.listen(FakeNode(answer)).address)
            thread, outcome = self.in_thread(lambda: busy(client))
            time.sleep(0.2)
            with self.assertRaises(cellar.DeadlineExceeded) as failed:
                self.within(SOON_S, lambda: client.drop_row_range("t", prefix="r", timeout=0.2))
            self.assertIs(failed.exception.applied, outcome_of_drop)
            self.within(SOON_S, client.close)
            thread.join(SOON_S)
            self.assertFalse(thread.is_alive())
            self.assertIsInstance(outcome[0], cellar.CellarError)

    async def test_calls_pass_a_scan_that_waits(self):
        node = self.listen(FakeNode(lambda op, rid, b, n: b"" if op == Op.ReadRows else reply(op, rid)))
        with cellar.Client(node.address) as client:
            thread, _ = self.in_thread(lambda: list(client.read_rows("t")))
            time.sleep(0.2)
            for _ in range(5):
                self.within(SOON_S, lambda: client.ping(timeout=SOON_S))
            self.assertTrue(thread.is_alive())
        thread.join(SOON_S)
        self.assertFalse(thread.is_alive())

    async def test_close_while_connecting(self):
        client = cellar.Client(self.listen(Deaf(greets=False)).address, connect_timeout=1.5)
        thread, outcome = self.in_thread(client.ping)
        time.sleep(0.1)
        self.within(1.3, client.close)
        thread.join(2 * SOON_S)
        self.assertIsInstance(outcome[0], cellar.CellarError)

    async def test_a_client_works_with_many_open_files(self):
        node = self.listen(FakeNode(lambda op, rid, b, n: reply(op, rid)))
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        if hard != resource.RLIM_INFINITY and hard < 2048:
            self.skipTest("too few files may be open")
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, 2048), hard))
        files = [os.open(os.devnull, os.O_RDONLY) for _ in range(1100)]
        try:
            with cellar.Client(node.address) as client:
                client.ping()
                client.ping()
            self.assertEqual(node.connections, 1)
        finally:
            for file in files:
                os.close(file)
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))

    async def test_a_goaway_behind_chunks_is_seen(self):
        def answer(op, rid, b, n):
            if op != Op.ReadRows:
                return reply(op, rid)
            more = b"".join(frame(Kind.CHUNK, op, rid, bytes(200_000)) for _ in range(6))
            return frame(Kind.CHUNK, op, rid, FIRST_ROW) + more + frame(Kind.GOAWAY, 0, 0)

        node = self.listen(FakeNode(answer))
        with cellar.Client(node.address) as client:
            rows = client.read_rows("t")
            self.assertEqual(next(rows).key, b"first")
            time.sleep(0.2)
            client.ping()
            self.assertEqual(node.requests[-1], (2, Op.Ping))
            rows.close()

    async def test_a_large_write_during_a_scan_of_large_cells(self):
        """The node reads nothing until its chunks are taken."""

        def answer(op, rid, b, n):
            if op != Op.ReadRows:
                return reply(op, rid)
            return frame(Kind.CHUNK, op, rid, FIRST_ROW) + frame(Kind.CHUNK, op, rid, bytes(4 << 20)) * 8

        node = self.listen(FakeNode(answer))
        with cellar.Client(node.address) as client:
            rows = client.read_rows("t")
            self.assertEqual(next(rows).key, b"first")
            large = Mutation("r").set("a", "q", b"v" * (16 << 20))
            self.within(4, lambda: client.mutate_row("t", large, token=Token.draw(), timeout=5))
            self.assertEqual(node.connections, 1)
            rows.close()

    async def test_a_send_between_a_wait_and_its_receive_loses_nothing(self):
        """As when a scan is collected as garbage there."""

        def answer(op, rid, b, n):
            time.sleep(0.1)
            return reply(op, rid)

        def wait_at_most(connection, *times):
            wait(connection, *times)
            if connection.session.hello is not None and not nested:
                nested.append(True)
                connection._send_small(connection.session.ping())

        nested, wait = [], Connection._wait_at_most
        node = self.listen(FakeNode(answer))
        with mock.patch.object(Connection, "_wait_at_most", wait_at_most), cellar.Client(node.address) as client:
            drop(client)
            self.assertEqual((nested, node.connections), ([True], 1))

    def breaking(self, connection, whole):
        """The socket of a connection that takes a request whole or in part, amid which a scan is collected as garbage,
        and then breaks."""
        sent, send_through = [], connection._socket.send

        def send(data):
            if sent:
                raise ConnectionResetError
            sent.append(True)
            connection._send_small(connection.session.ping())
            return send_through(data if whole else data[:10])

        broken = mock.Mock(wraps=connection._socket)
        broken.send.side_effect = send
        return mock.patch.object(connection, "_socket", broken)

    async def test_a_request_that_left_before_its_connection_broke_is_in_doubt(self):
        for whole in (True, False):
            node = self.listen(FakeNode(lambda op, rid, b, n: reply(op, rid)))
            with cellar.Client(node.address, **support.QUICK) as client:
                drop(client)
                connection = client._connections[node.address]
                with self.breaking(connection, whole):
                    if whole:
                        with self.assertRaises(cellar.Unavailable) as failed:
                            drop(client)
                        self.assertIs(failed.exception.applied, Applied.MAYBE_APPLIED)
                    else:
                        drop(client)
                time.sleep(0.2)
            again = (1, Op.DropRowRange) if whole else (2, Op.DropRowRange)
            self.assertEqual(node.requests, [(1, Op.DropRowRange), again])

    async def test_a_write_that_waits_for_the_clock_of_a_broken_connection_is_not_applied(self):
        node = self.listen(FakeNode(lambda op, rid, b, n: reply(op, rid)))
        with cellar.Client(node.address) as client:
            connection = client._connection(node.address)
            with (
                mock.patch.object(_session, "CLOCK_AGE_S", -1),
                self.breaking(connection, True),
                self.assertRaises(cellar.Unavailable) as failed,
            ):
                connection.renew_clock(None)
            self.assertIs(failed.exception.applied, Applied.NOT_APPLIED)

    async def test_a_send_amid_received_frames_waits_without_spinning(self):
        def take(connection):
            looks.append(True)
            taken(connection)

        looks, taken = [], Connection._take_what_is_there
        node = self.listen(Deaf())
        with cellar.Client(node.address) as client:
            connection = client._connection(node.address)
            node._open[-1].sendall(b"x")
            connection._taking = True
            with mock.patch.object(Connection, "_take_what_is_there", take), self.assertRaises(TimeoutError):
                connection._send(bytes(64 << 20), time.monotonic() + 0.3)
            connection._taking = False
        self.assertLess(len(looks), 50)

    async def test_an_interrupted_farewell_ends_its_connection(self):
        """The bytes that were not sent would hold back those of later requests."""

        def answer(op, rid, b, n):
            return frame(Kind.CHUNK, op, rid, FIRST_ROW) if op == Op.ReadRows else reply(op, rid)

        node = self.listen(FakeNode(answer))
        with cellar.Client(node.address) as client:
            rows = client.read_rows("t")
            self.assertEqual(next(rows).key, b"first")
            connection = client._connections[node.address]
            with mock.patch.object(connection, "_socket", mock.Mock(wraps=connection._socket)) as broken:
                broken.send.side_effect = KeyboardInterrupt
                with self.assertRaises(KeyboardInterrupt):
                    rows.close()
            client.ping(timeout=SOON_S)
            self.assertEqual(node.connections, 2)


if __name__ == "__main__":
    unittest.main()
