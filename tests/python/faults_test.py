#!/usr/bin/env python3
"""Both clients when connections are cut, nodes restart, refuse, are silent, or lie. No call may hang, and none may
claim to know more than it can."""
import asyncio
import os
import random
import ssl
import tempfile
import threading
import time
import unittest

import support
from support import WRITE, Bed, FakeNode, Node, Proxy, all_of, cellar, frame, refusal, reply
from cellar import Applied, Code, Mutation, RetryOptions, Token, append, increment
from cellar import _steps
from cellar._frames import Kind
from cellar._schema.Op import Op


class Faults(Bed):
    @classmethod
    def setUpClass(cls):
        cls.node = Node()
        with cellar.Client(cls.node.address) as client:
            client.create_table("t", ["a"])
            client.create_table("w", ["a"])  # for rows that tests write
            client.mutate_rows(
                "t", [Mutation(f"k{i:04}").set("a", "q", "v" * 500, timestamp=1000) for i in range(2000)]
            )

    @classmethod
    def tearDownClass(cls):
        cls.node.stop()

    # ---- connections that are cut ----

    async def test_a_scan_resumes_behind_the_last_whole_row(self):
        for options, expected in (
            ({}, 2000),
            ({"reversed": True}, 2000),
            ({"limit": 1500}, 1500),
            ({"prefix": "k1"}, 1000),
            ({"keys": [f"k{i:04}" for i in range(0, 2000, 3)], "start": "k1990"}, 674),
        ):

            async def body(client):
                proxy.cuts = [200_000, 3_000, 150_000, 40, 300_000]
                proxy.cut()
                keys = [row.key async for row in client.read_rows("t", **options)]
                self.assertEqual(len(keys), expected)
                self.assertEqual(keys, sorted(set(keys), reverse=options.get("reversed", False)))
                self.assertLess(len(proxy.cuts), 4)  # it was cut at least twice

            proxy = self.listen(Proxy(self.node.address))
            await self.with_both(body, proxy.address, retry=RetryOptions(backoff_min_s=0.001))

    async def test_a_read_through_an_index_resumes_behind_the_last_hit(self):
        with cellar.Client(self.node.address) as client:
            client.create_table("i", ["a"])
            client.create_index("i", cellar.Index("by_value", "a", "q"))
            client.mutate_rows(
                "i",
                [Mutation(f"k{i:04}").set("a", "q", f"{i % 7}" + "v" * 500, timestamp=1000) for i in range(2000)],
            )
        every = sorted((i % 7, f"k{i:04}".encode()) for i in range(2000))
        for options, expected in (
            ({}, every),
            ({"reversed": True}, every[::-1]),
            ({"limit": 1500}, every[:1500]),
            ({"whole_rows": True, "values": cellar.RowRange("3")}, [hit for hit in every if hit[0] >= 3]),
            ({"prefix": "k1", "limit": 900}, [hit for hit in every if hit[1] >= b"k1"][:900]),
        ):

            async def body(client):
                proxy.cuts = [200_000, 3_000, 150_000, 40, 300_000]
                proxy.cut()
                rows = [row async for row in client.read_index("i", "by_value", **options)]
                self.assertEqual([(int(row.cells[0].text[0]), row.key) for row in rows], expected)
                self.assertLess(len(proxy.cuts), 4)  # it was cut at least twice

            proxy = self.listen(Proxy(self.node.address))
            await self.with_both(body, proxy.address, retry=RetryOptions(backoff_min_s=0.001))

    async def test_reads_are_repeated_over_a_new_connection(self):
        async def body(client):
            await client.ping()
            proxy.cuts = [20]
            for _ in range(3):
                proxy.cut()
                self.assertEqual(len(await client.read_row("t", "k0001")), 1)

        proxy = self.listen(Proxy(self.node.address))
        await self.with_both(body, proxy.address, retry=RetryOptions(backoff_min_s=0.001))

    async def test_a_connection_that_ended_while_idle_is_not_used(self):
        async def body(client):
            await client.read_row("t", "k0001")
            proxy.cut()
            await asyncio.sleep(0.05)
            done = await client.mutate_row(
                "w", Mutation("idle").set("a", "q", "v")
            )  # has no token, and must not be in doubt
            self.assertFalse(done.repeated)

        proxy = self.listen(Proxy(self.node.address))
        await self.with_both(body, proxy.address)

    async def test_a_client_survives_a_restart_of_the_node(self):
        node = Node()
        try:

            async def body(client):
                if not await client.list_tables():
                    await client.create_table("t", ["a"])
                await asyncio.to_thread(node.restart)
                await client.mutate_row("t", WRITE)
                await asyncio.to_thread(node.end)
                began = time.monotonic()
                error = await self.failure_of(cellar.Unavailable, client.mutate_row("t", WRITE))
                self.assertIs(error.applied, Applied.NOT_APPLIED)
                self.assertLess(time.monotonic() - began, 1)  # at once
                once = RetryOptions(max_attempts=1, backoff_min_s=0.001)
                async with type(client)(node.address, wait_for_connection=True, retry=once) as patient:
                    began = time.monotonic()
                    await self.failure_of(cellar.Unavailable, patient.ping(timeout=0.3))
                    self.assertLess(time.monotonic() - began, 1)
                    starting = threading.Thread(target=node.start, args=(node.address,))
                    starting.start()
                    if isinstance(client, support.Blocking):
                        await patient.mutate_rows("t", [WRITE])
                    else:
                        await all_of(patient.read_rows("t"))
                    starting.join()

            await self.with_both(body, node.address)
        finally:
            node.stop()

    # ---- what is repeated ----

    async def test_a_write_in_doubt_is_repeated_only_with_a_token(self):
        """The node applies each write, and its answers do not arrive."""

        async def lost(client, call, expected):
            proxy.mute = False
            proxy.cut()
            await client.ping()
            counted = await count("n")
            proxy.mute = True
            task = asyncio.create_task(in_thread(client, call))
            await asyncio.sleep(0.3)
            proxy.mute = False
            proxy.cut()
            error = None
            try:
                await task
            except cellar.CellarError as failed:
                error = failed
            applied = await count("n") - counted
            self.assertEqual(applied, 1)
            if expected:
                self.assertIsNone(error)
            else:
                self.assertIsInstance(error, cellar.Unavailable)
                self.assertIs(error.applied, Applied.MAYBE_APPLIED)

        async def count(row):
            with cellar.Client(self.node.address) as direct:
                found = direct.read_row("w", row, columns=[("a", "s")], versions=1)
                return len(found.cells[0].value) if found else 0

        async def in_thread(client, call):
            if isinstance(client, support.Blocking):
                return await asyncio.to_thread(asyncio.run, call(client))
            return await call(client)

        async def body(client):
            one = [append("a", "s", "x")]
            await lost(client, lambda c: c.read_modify_write("w", "n", one), False)
            await lost(client, lambda c: c.read_modify_write("w", "n", one, draw_tokens=True), True)
            await lost(client, lambda c: c.read_modify_write("w", "n", one, token=Token.draw()), True)

        proxy = self.listen(Proxy(self.node.address))
        await self.with_both(body, proxy.address, timeout=8.0)

    async def test_which_failures_are_repeated(self):
        """What the client sends again, by the outcome that the node states and by the request."""
        deletes = Mutation("r").delete_row()
        stamped = Mutation("r").set("a", "q", "v", timestamp=1000)
        lives = Mutation("r").set("a", "q", "v", timestamp=1000, ttl=1000)
        no, maybe, yes = Applied.NOT_APPLIED, Applied.MAYBE_APPLIED, Applied.APPLIED
        for what, call, outcome, code, retry_after_ms, attempts in (
            ("read", lambda c: c.read_row("t", "r"), maybe, Code.UNAVAILABLE, 0, 4),
            ("read, final", lambda c: c.read_row("t", "r"), no, Code.UNAVAILABLE, None, 1),
            ("read, other code", lambda c: c.read_row("t", "r"), no, Code.DATA_LOSS, 0, 1),
            ("preview", lambda c: c.preview_rule("t", "a", cellar.max_versions(1)), no, Code.ABORTED, 0, 4),
            ("write, refused", lambda c: c.mutate_row("t", WRITE), no, Code.RESOURCE_EXHAUSTED, 1, 4),
            ("write, in doubt", lambda c: c.mutate_row("t", WRITE), maybe, Code.UNAVAILABLE, 0, 1),
            ("write, applied", lambda c: c.mutate_row("t", WRITE, draw_tokens=True), yes, Code.UNAVAILABLE, 0, 1),
            ("token, in doubt", lambda c: c.mutate_row("t", WRITE, draw_tokens=True), maybe, Code.UNAVAILABLE, 0, 4),
            (
                "sole writer, stamped",
                lambda c: c.mutate_row("t", stamped, sole_writer=True),
                maybe,
                Code.UNAVAILABLE,
                0,
                4,
            ),
            (
                "sole writer, delete",
                lambda c: c.mutate_row("t", deletes, sole_writer=True),
                maybe,
                Code.UNAVAILABLE,
                0,
                4,
            ),
            (
                "sole writer, server stamp",
                lambda c: c.mutate_row("t", WRITE, sole_writer=True),
                maybe,
                Code.UNAVAILABLE,
                0,
                1,
            ),
            ("sole writer, ttl", lambda c: c.mutate_row("t", lives, sole_writer=True), maybe, Code.UNAVAILABLE, 0, 1),
            ("drop range", lambda c: c.drop_row_range("t", prefix="r"), maybe, Code.UNAVAILABLE, 0, 1),
            (
                "drop range, token",
                lambda c: c.drop_row_range("t", prefix="r", draw_tokens=True),
                maybe,
                Code.UNAVAILABLE,
                0,
                4,
            ),
            (
                "increment",
                lambda c: c.read_modify_write("t", "r", [increment("a", "q")]),
                maybe,
                Code.UNAVAILABLE,
                0,
                1,
            ),
            ("batch", lambda c: c.mutate_rows("t", [WRITE]), maybe, Code.UNAVAILABLE, 0, 1),
            ("batch, refused", lambda c: c.mutate_rows("t", [WRITE]), no, Code.UNAVAILABLE, 0, 4),
            ("batch, tokens", lambda c: c.mutate_rows("t", [WRITE], draw_tokens=True), maybe, Code.UNAVAILABLE, 0, 4),
            ("alter", lambda c: c.set_rule("t", "a", cellar.max_versions(1)), maybe, Code.UNAVAILABLE, 0, 1),
            ("create, refused", lambda c: c.create_table("t", ["a"]), no, Code.UNAVAILABLE, 0, 4),
        ):

            async def body(client):
                node.requests.clear()
                error = await self.failure_of(cellar.CellarError, call(client))
                self.assertEqual(len(node.requests), attempts, what)
                self.assertEqual(error.code, code, what)
                known = no if what.startswith(("read", "preview")) else outcome
                if not what.startswith("batch"):  # of several entries
                    self.assertIs(error.applied, known, what)

            node = self.listen(FakeNode(lambda op, rid, b, n: refusal(op, rid, code, outcome, retry_after_ms)))
            await self.with_both(body, node.address)

    async def test_entries_of_a_batch_are_repeated_in_their_order(self):
        """Each case: the rows sent; by attempt, which entries fail and how; the rows of each attempt; the entries that
        fail for good."""
        passing, doubt = (Code.UNAVAILABLE, Applied.NOT_APPLIED), (Code.UNAVAILABLE, Applied.MAYBE_APPLIED)
        final = (Code.OUT_OF_RANGE, Applied.NOT_APPLIED)
        for what, rows, failures, attempts, failed, options in (
            ("the failed one alone", "abc", [{1: passing}], ["abc", "b"], [], {}),
            ("not behind a later write of its row", "aab", [{0: passing}], ["aab"], [0], {}),
            ("with a later write of its row", "aab", [{0: passing, 1: passing}], ["aab", "aa"], [], {}),
            ("before a later one that is final", "aab", [{0: passing, 1: final}], ["aab", "a"], [1], {}),
            ("not before one in doubt", "aab", [{0: passing, 1: doubt}], ["aab"], [0, 1], {}),
            (
                "not before one in doubt that is repeated",
                "aab",
                [{0: passing, 1: doubt}],
                ["aab", "a"],
                [0],
                {"draw_tokens": True},
            ),
            ("one in doubt, without a token", "ab", [{0: doubt, 1: passing}], ["ab", "b"], [0], {}),
            ("one in doubt, with a token", "ab", [{0: doubt}], ["ab", "a"], [], {"draw_tokens": True}),
            (
                "indices of the second attempt",
                "abcd",
                [{1: passing, 3: passing}, {1: passing}],
                ["abcd", "bd", "d"],
                [],
                {},
            ),
            (
                "as often as allowed",
                "ab",
                [{0: passing}, {0: passing}, {0: passing}, {0: passing}],
                ["ab", "a", "a", "a"],
                [0],
                {},
            ),
        ):

            def answer(op, rid, body, n):
                sent.append(b"".join(support.rows_of(body)).decode())
                return support.row_failures(rid, failures[len(sent) - 1] if len(sent) <= len(failures) else {})

            async def body(client):
                sent.clear()
                call = client.mutate_rows("t", [Mutation(row).set("a", "q", "v") for row in rows], **options)
                if failed:
                    error = await self.failure_of(cellar.PartlyFailed, call)
                    self.assertEqual(sorted(error.failures), failed, what)
                else:
                    await call
                self.assertEqual(sent, attempts, what)

            sent = []
            await self.with_both(body, self.listen(FakeNode(answer)).address)

    async def test_an_outcome_stays_in_doubt(self):
        """The first attempt is in doubt, the second is refused for good: the write may have been applied."""

        async def body(client):
            node.requests.clear()
            error = await self.failure_of(cellar.ResourceExhausted, client.mutate_row("t", WRITE, draw_tokens=True))
            self.assertEqual(len(node.requests), 2)
            self.assertIs(error.applied, Applied.MAYBE_APPLIED)

        def answer(op, rid, b, n):
            if len(node.requests) == 1:
                return refusal(op, rid, Code.UNAVAILABLE, Applied.MAYBE_APPLIED, 0)
            return refusal(op, rid, Code.RESOURCE_EXHAUSTED, Applied.NOT_APPLIED)

        node = self.listen(FakeNode(answer))
        await self.with_both(body, node.address)

    async def test_a_repetition_has_the_same_token_and_time(self):
        bodies = []

        def answer(op, rid, body, n):
            bodies.append(body)
            return refusal(op, rid, Code.UNAVAILABLE, Applied.MAYBE_APPLIED, 0)

        async def body(client):
            bodies.clear()
            await self.failure_of(cellar.Unavailable, client.mutate_row("t", WRITE, draw_tokens=True))
            self.assertEqual((len(bodies), len(set(bodies))), (4, 1))

        await self.with_both(body, self.listen(FakeNode(answer)).address)

    async def test_without_the_feature_tokens_are_not_sent(self):
        node = self.listen(
            FakeNode(
                lambda op, rid, b, n: reply(op, rid), lambda rid: support.hello_reply(rid, features=("drop_row_range",))
            )
        )

        async def body(client):
            node.requests.clear()
            await self.failure_of(cellar.Unimplemented, client.mutate_row("t", WRITE, draw_tokens=True))
            await self.failure_of(cellar.Unimplemented, client.read_row("t", "r", explain=True))
            await self.failure_of(cellar.Unimplemented, client.drop_row_range("t", prefix="r", token=Token.draw()))
            self.assertEqual(node.requests, [])
            self.assertEqual(
                await client.drop_row_range("t", prefix="r", draw_tokens=True), 0
            )  # a drawn one is left out
            self.assertEqual(len(node.requests), 1)

        await self.with_both(body, node.address)

    async def test_a_request_that_is_too_large_is_not_sent(self):
        node = self.listen(
            FakeNode(lambda op, rid, b, n: reply(op, rid), lambda rid: support.hello_reply(rid, frame_bytes=4096))
        )

        async def body(client):
            error = await self.failure_of(
                cellar.InvalidArgument, client.mutate_row("t", Mutation("r").set("a", "q", b"v" * 5000))
            )
            self.assertIs(error.applied, Applied.NOT_APPLIED)
            self.assertEqual(node.requests, [])

        await self.with_both(body, node.address)

    async def test_the_owner_of_a_table_is_followed(self):
        strangers = lambda op, rid, b, n: refusal(op, rid, Code.ABORTED, 0, 0, owner=self.node.address)
        node = self.listen(FakeNode(strangers))

        async def body(client):
            node.requests.clear()
            self.assertEqual(len(await client.read_row("t", "k0001")), 1)
            self.assertEqual(len(await client.read_row("t", "k0002")), 1)
            await client.mutate_rows("w", [Mutation("owned").set("a", "q", "v")])
            self.assertEqual(len(node.requests), 2)  # one for each table
            self.assertEqual(len(await all_of(client.read_rows("t", prefix="k000"))), 10)
            self.assertEqual(len(node.requests), 2)

        await self.with_both(body, node.address)

        async def nowhere(client):
            lost.requests.clear()
            error = await self.failure_of(cellar.CellarError, client.read_row("t", "r"))
            self.assertIn(error.code, (Code.ABORTED, Code.UNAVAILABLE))
            self.assertLessEqual(len(lost.requests), 2)

        lost = self.listen(FakeNode(lambda op, rid, b, n: refusal(op, rid, Code.ABORTED, 0, 0, owner="127.0.0.1:1")))
        await self.with_both(nowhere, lost.address)

    # ---- silence ----

    async def test_a_silent_node_is_given_up_at_the_timeout(self):
        node = self.listen(FakeNode(lambda op, rid, b, n: b""))

        async def body(client):
            for call, applied in (
                (client.read_row("t", "r", timeout=0.2), Applied.NOT_APPLIED),
                (client.mutate_row("t", WRITE, timeout=0.2), Applied.MAYBE_APPLIED),
            ):
                began = time.monotonic()
                error = await self.failure_of(cellar.DeadlineExceeded, call)
                self.assertIs(error.applied, applied)
                self.assertLess(time.monotonic() - began, 1)

        await self.with_both(body, node.address)

    async def test_a_scan_gives_up_a_silent_node(self):
        """A scan has no timeout: pings find out that nobody is there."""
        node = self.listen(FakeNode(lambda op, rid, b, n: b""))

        async def body(client):
            node.requests.clear()
            await self.failure_of(cellar.Unavailable, all_of(client.read_rows("t")))
            self.assertEqual([op for _, op in node.requests], [Op.ReadRows, Op.Ping] * 2)

        await self.with_both(body, node.address, keepalive=0.1, retry=RetryOptions(max_attempts=2, backoff_min_s=0.001))

    async def test_a_slow_reader_does_not_take_the_node_for_silent(self):
        proxy = self.listen(Proxy(self.node.address))

        async def body(client):
            before = proxy.connections
            count = 0
            async for _ in client.read_rows("t"):
                if count % 700 == 0:
                    time.sleep(0.3)  # blocks an event loop too
                count += 1
            self.assertEqual((count, proxy.connections), (2000, before + 1))  # over one connection

        await self.with_both(body, proxy.address, keepalive=0.1)

    async def test_an_idle_client_waits_for_a_slow_answer(self):
        def answer(op, rid, b, n):
            time.sleep(0.05)
            return reply(op, rid)

        node = self.listen(FakeNode(answer))

        async def body(client):
            await client.ping()
            node.requests.clear()
            await asyncio.sleep(0.5)
            await client.ping()
            self.assertEqual(len(node.requests), 1)  # no other ping

        await self.with_both(body, node.address, keepalive=0.2)

    async def test_a_node_that_does_not_answer_the_hello(self):
        node = self.listen(FakeNode(lambda op, rid, b, n: b"", lambda rid: b""))

        async def body(client):
            error = await self.failure_of(cellar.Unavailable, client.ping())
            self.assertIs(error.applied, Applied.NOT_APPLIED)

        await self.with_both(body, node.address, connect_timeout=0.2)

    async def test_goaway(self):
        """A node that stops: it answers what it has, and new requests go over a new connection."""

        def answer(op, rid, b, n):
            return frame(Kind.GOAWAY, 0, 0) + reply(op, rid)

        node = self.listen(FakeNode(answer))

        async def body(client):
            node.requests.clear()
            for _ in range(3):
                await client.ping()
            numbers = [number for number, _ in node.requests]
            self.assertEqual(len(set(numbers)), 3)

        await self.with_both(body, node.address)

        async def error(client):
            failed = await self.failure_of(cellar.Unavailable, client.mutate_row("t", WRITE))
            self.assertIs(failed.applied, Applied.MAYBE_APPLIED)
            self.assertIn("two requests", failed.message)

        angry = FakeNode(
            lambda op, rid, b, n: refusal(0, 0, Code.INVALID_ARGUMENT, kind=Kind.GOAWAY, message="two requests")
        )
        await self.with_both(error, self.listen(angry).address)

    # ---- lies ----

    async def test_answers_that_break_the_protocol(self):
        kinds = {
            "unknown kind": lambda op, rid: frame(9, op, rid),
            "kind of a client": lambda op, rid: frame(Kind.REQUEST, op, rid),
            "unknown flag": lambda op, rid: frame(Kind.REPLY, op, rid, flags=4),
            "checksum unasked": lambda op, rid: frame(Kind.REPLY, op, rid, flags=2),
            "error in a chunk": lambda op, rid: frame(Kind.CHUNK, op, rid, flags=1),
            "another operation": lambda op, rid: reply(op + 1, rid),
            "another request": lambda op, rid: reply(op, rid + 7),
            "huge body": lambda op, rid: support._frames.HEADER.pack(2**31, Kind.REPLY, op, 0, rid, 0, 0, 0),
            "odd size": lambda op, rid: support._frames.HEADER.pack(7, Kind.REPLY, op, 0, rid, 0, 0, 0) + bytes(7),
            "a handle": lambda op, rid: support._frames.HEADER.pack(0, Kind.REPLY, op, 0, rid, 5, 0, 0),
            "text": lambda op, rid: b"HTTP/1.1 400 Bad Request\r\n\r\n" * 3,
            "garbage": lambda op, rid: os.urandom(200),
            "another body": lambda op, rid: reply(op, rid, support.hello_body()),
            "no body but bytes": lambda op, rid: reply(op, rid, b"\xff" * 64),
            "error without a body of one": lambda op, rid: frame(Kind.REPLY, op, rid, b"\xff" * 32, flags=1),
            "half a frame": lambda op, rid: reply(op, rid, bytes(64))[:40],
        }
        for what, lie in kinds.items():

            async def body(client):
                for call in (
                    client.read_row("t", "r"),
                    client.mutate_row("t", WRITE),
                    client.describe_table("t"),
                    client.read_row("t", "r", explain=True),
                    all_of(client.read_rows("t")),
                ):
                    error = await self.failure_of(cellar.CellarError, call)
                    self.assertIn(error.code, (Code.INTERNAL, Code.UNAVAILABLE, Code.DEADLINE_EXCEEDED), what)

            def answer(op, rid, b, n):
                data = lie(op, rid)
                return data if what != "half a frame" else None

            node = self.listen(FakeNode(answer))
            await self.with_both(body, node.address, timeout=0.5, keepalive=0.2, retry=RetryOptions(max_attempts=1))

    async def test_random_answers_with_a_valid_frame(self):
        """Bodies that are nearly right: valid answers of a node with bytes changed."""
        with cellar.Client(self.node.address) as client:
            real = {op: body for op, body in answers_of(client)}
        chance = random.Random(7)

        def answer(op, rid, b, n):
            body = bytearray(real.get(op, b""))
            for _ in range(chance.randint(1, 8)):
                if body:
                    body[chance.randrange(len(body))] = chance.choice((0, 1, 127, 255, chance.randrange(256)))
            kind = Kind.CHUNK if op == Op.ReadRows else Kind.REPLY
            return frame(kind, op, rid, bytes(body)) + (frame(Kind.END, op, rid) if op == Op.ReadRows else b"")

        async def body(client):
            for _ in range(60):
                for call in (
                    client.read_row("t", "r"),
                    client.read_row("t", "r", explain=True),
                    client.describe_table("t"),
                    client.server_info(),
                    client.list_tables(),
                    all_of(client.read_rows("t")),
                    client.rule_history("t", "a"),
                    client.mutate_row("t", WRITE, token=Token.draw()),
                ):
                    try:
                        await call
                    except cellar.CellarError as error:
                        self.assertIs(error.code, Code.INTERNAL, error)

        await self.with_both(body, self.listen(FakeNode(answer)).address, retry=RetryOptions(max_attempts=1))

    async def test_a_stream_that_lies(self):
        good = None
        with cellar.Client(self.node.address) as client:
            good = dict(answers_of(client))[Op.ReadRows]
        for what, answer in (
            ("no end mark", lambda op, rid: reply(op, rid)),
            ("end without rows", lambda op, rid: frame(Kind.CHUNK, op, rid, good) + frame(Kind.END, op, rid)),
        ):

            async def body(client):
                error = await self.failure_of(cellar.Internal, all_of(client.read_rows("t")))
                self.assertIn("broke the protocol", error.message)

            await self.with_both(body, self.listen(FakeNode(lambda op, rid, b, n: answer(op, rid))).address)

    # ---- who may connect ----

    async def test_a_hello_that_is_refused(self):
        def hello(rid):
            return refusal(1, rid, Code.UNAUTHENTICATED, message="no principal has this token")

        async def body(client):
            error = await self.failure_of(cellar.Unauthenticated, client.ping())
            self.assertIn("no principal", error.message)
            self.assertEqual(node.connections, seen[0] + 1)  # not repeated
            seen[0] = node.connections

        node, seen = self.listen(FakeNode(lambda op, rid, b, n: b"", hello)), [0]
        await self.with_both(body, node.address, token="wrong")

    async def test_another_version_is_refused(self):
        node = self.listen(FakeNode(lambda op, rid, b, n: b"", lambda rid: support.hello_reply(rid, version=3)))

        async def body(client):
            await self.failure_of(cellar.Unimplemented, client.ping())

        await self.with_both(body, node.address)

    async def test_tokens_and_their_files(self):
        from cellar._dial import Identity
        from cellar.options import ClientOptions

        with tempfile.TemporaryDirectory() as directory:
            path = os.path.join(directory, "token")
            identity = Identity(ClientOptions(token_file=path))
            with self.assertRaises(cellar.NotFound):
                identity.session("127.0.0.1")
            with open(path, "w") as file:
                file.write("secret \r\nmore\n")
            self.assertIn(b"secret", identity.session("127.0.0.1").opening())
            self.assertNotIn(b"more", identity.session("::1").opening())
            for host in ("192.0.2.1", "2001:db8::1", "example.org"):
                with self.assertRaises(cellar.FailedPrecondition):
                    identity.session(host)
            over_tls = Identity(ClientOptions(token_file=path, tls=ssl.create_default_context()))
            self.assertIn(b"secret", over_tls.session("192.0.2.1").opening())
            open(path, "w").close()
            with self.assertRaises(cellar.InvalidArgument):
                identity.session("127.0.0.1")
        self.assertNotIn("hidden", repr(ClientOptions(token="hidden")))


def answers_of(client):
    """Bodies of valid answers, by operation."""
    kept = []
    original = _steps.Answer

    class Kept(original):
        def __init__(self, op, chunks, last, ended):
            super().__init__(op, chunks, last, ended)
            kept.append((op, last))

    _steps.Answer = Kept
    try:
        client.mutate_row("w", Mutation("r").set("a", "q", "v", ttl=10**10).set("a", "p", "w"), token=Token.draw())
        client.read_row("w", "r")
        client.read_row("w", "r", explain=True, include_dead=True, with_expiry=True)
        client.set_rule("w", "a", cellar.max_versions(5) & cellar.max_age(10**15))
        client.describe_table("w")
        client.server_info()
        client.list_tables()
        client.rule_history("w", "a")
        client.set_rule("w", "a", cellar.KEEP_EVERYTHING)
    finally:
        _steps.Answer = original
    chunk = dict(kept)[Op.ReadRow]
    return [*kept, (Op.ReadRows, chunk)]


if __name__ == "__main__":
    unittest.main()
