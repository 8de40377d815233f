"""Every operation against a node. `node_test.py` plays it with the blocking client, `asyncio_test.py` with that of
asyncio."""
import asyncio
import datetime
import time
from datetime import timedelta

from support import Node, all_of, cellar, now_us
from cellar import Code, Family, Filter, Mutation, Token, append, increment, int64, max_age, max_versions

UTC = datetime.timezone.utc
MAX_TABLE_NAME = 48  # bytes, and a digit
TICK = 1000  # microseconds: the granularity of the tables


class Operations:
    """Mixed into an IsolatedAsyncioTestCase. `make`: the class of the client."""

    make = None

    @classmethod
    def setUpClass(cls):
        cls.node = Node()

    @classmethod
    def tearDownClass(cls):
        cls.node.stop()

    async def asyncSetUp(self):
        self.client = self.make(self.node.address)
        self.table = self.id().rsplit(".", 1)[1].removeprefix("test_")[:MAX_TABLE_NAME]
        self.now = now_us()

    async def asyncTearDown(self):
        await self.client.close()

    async def create(self, families, **options):
        return await self.client.create_table(self.table, families, **options)

    async def values(self, row, **options):
        found = await self.client.read_row(self.table, row, **options)
        return [] if found is None else [cell.text for cell in found]

    # ---- the node ----

    async def test_ping_and_server_info(self):
        pong = await self.client.ping(b"echo")
        self.assertEqual(pong.echo, b"echo")
        self.assertLess(abs(pong.now_us / 1e6 - time.time()), 60)
        info = await self.client.server_info()
        self.assertEqual((info.shards, len(info.stats)), (2, 2))
        self.assertGreater(sum(s.requests for s in info.stats), 0)
        hello = await self.client.hello()
        self.assertEqual(hello.version, 2)
        self.assertIn("tokens", hello.features)
        self.assertGreater(hello.limits.frame_bytes, 0)

    # ---- tables ----

    async def test_tables_are_created_described_altered_dropped_and_restored(self):
        rule = max_age(timedelta(days=2)) | (max_versions(3) & max_age(timedelta(hours=1)))
        made = await self.create(
            [Family("a", rule, undo_window=timedelta(hours=3), window=cellar.WriteWindow(past=timedelta(days=1))), "b"],
            granularity=cellar.Granularity.MICROS,
            splits=["g", "p"],
            options=cellar.TableOptions(
                durability=cellar.Durability.PERIODIC, reclaim_within=timedelta(hours=2), dead_slack=0.25
            ),
        )
        self.assertEqual(made, await self.client.describe_table(self.table))
        a = made.family("a")
        self.assertEqual(a.rule, rule)
        self.assertEqual((a.undo_window, a.window.past, a.window.future), (3 * 3_600_000_000, 86_400_000_000, None))
        self.assertEqual(made.family("b").rule, cellar.KEEP_EVERYTHING)
        self.assertEqual(made.granularity, cellar.Granularity.MICROS)
        self.assertEqual([t.start for t in made.tablets], [b"", b"g", b"p"])
        self.assertEqual(made.options.durability, cellar.Durability.PERIODIC)
        self.assertEqual((made.options.reclaim_within, made.options.dead_slack), (7_200_000_000, 0.25))
        with self.assertRaises(cellar.AlreadyExists):
            await self.create(["a"])

        altered = await self.client.alter_table(
            self.table,
            add={"c": max_versions(1)},
            drop=["b"],
            alter=[Family("a", born_dead=cellar.BornDead.ACCEPT)],
            options=cellar.TableOptions(dead_slack=0.5),
        )
        self.assertEqual([f.name for f in altered.families], ["a", "c"])
        self.assertEqual(altered.family("a").rule, rule)  # what was not named stays
        self.assertEqual(altered.family("a").born_dead, cellar.BornDead.ACCEPT)
        self.assertEqual((altered.options.dead_slack, altered.options.reclaim_within), (0.5, 7_200_000_000))
        self.assertGreater(altered.version, made.version)

        summary = {t.name: t for t in await self.client.list_tables(self.table)}[self.table]
        self.assertEqual((summary.tablets, summary.families, summary.dropped), (3, 2, False))
        await self.client.drop_table(self.table)
        self.assertEqual(await self.client.list_tables(self.table), [])
        dropped = await self.client.list_tables(self.table, include_dropped=True)
        self.assertTrue(dropped[0].dropped and dropped[0].restorable_until_us > dropped[0].dropped_us)
        self.assertEqual((await self.client.restore_table(self.table)).table_id, made.table_id)
        self.assertIsNone(await self.client.flush_table(self.table))
        self.assertIsNone(await self.client.compact_table(self.table))

    async def test_profile(self):
        made = await self.create(["m"], profile=cellar.Profile.TABLESTORE)
        m = made.family("m")
        self.assertEqual(m.rule, max_versions(1))
        self.assertEqual(m.window, cellar.WriteWindow(86_400_000_000, 86_400_000_000, True))
        self.assertTrue(m.window_from_profile)

    # ---- cells ----

    async def test_cells_are_written_read_and_deleted(self):
        await self.create(["a", "b"])
        done = await self.client.mutate_row(
            self.table, Mutation("r").set("a", "q", "new").set("b", b"\x00\xff", b"\xfe")
        )
        self.assertEqual(done.timestamp_us, done.commit_stamp_ns // 1000 // TICK * TICK)
        when = datetime.datetime(2020, 2, 3, 4, 5, 6, 7000, UTC)
        await self.client.mutate_row(
            self.table, Mutation(b"r").set("a", b"q", "old", timestamp=when).set("a", b"p", "", timestamp=0)
        )
        row = await self.client.read_row(self.table, "r")
        self.assertEqual(row.key, b"r")
        self.assertEqual(
            [(c.family, c.qualifier, c.value) for c in row],
            [("a", b"p", b""), ("a", b"q", b"new"), ("a", b"q", b"old"), ("b", b"\x00\xff", b"\xfe")],
        )
        self.assertEqual(row.versions("a", "q")[1].timestamp, when)
        self.assertEqual(row.find("a", "q").text, "new")
        self.assertIsNone(row.find("a", "none"))
        self.assertEqual(await self.values("r", versions=1, columns=[("a", "q")]), ["new"])
        self.assertEqual(
            await self.values("r", columns=[("a", "p"), ("a", "q")], filter=Filter.value_regex("o.*")), ["old"]
        )
        self.assertIsNone(await self.client.read_row(self.table, "nobody"))

        await self.client.mutate_row(
            self.table, Mutation("r").delete_column("a", "q", start=when, end=when + timedelta(seconds=1))
        )
        self.assertEqual(await self.values("r", columns=[("a", "q")]), ["new"])
        await self.client.mutate_row(self.table, Mutation("r").delete_family("b").delete_column("a", "p"))
        self.assertEqual(await self.values("r"), ["new"])
        await self.client.mutate_row(self.table, Mutation("r").delete_row())
        self.assertIsNone(await self.client.read_row(self.table, "r"))

    async def test_an_expiry_of_a_cell_ends_it(self):
        await self.create({"a": max_age(timedelta(days=2))})
        m = (
            Mutation("r")
            .set("a", "long", "1", ttl=timedelta(days=9))
            .set("a", "short", "2", ttl=timedelta(milliseconds=400))
        )
        m.set("a", "date", "3", expire_at=datetime.datetime.now(UTC) + timedelta(hours=1)).set("a", "rule", "4")
        done = await self.client.mutate_row(self.table, m)
        row = await self.client.explain(self.table, "r")
        long, short, rule = (row.find("a", q) for q in ("long", "short", "rule"))
        self.assertEqual(long.expire_at_us, done.commit_stamp_ns // 1000 + 9 * 86_400_000_000)
        self.assertEqual(short.explanation.cause, cellar.DeathCause.EXPIRY)
        self.assertEqual(short.explanation.dies_at_us, short.expire_at_us + 1)
        self.assertIsNone(rule.expire_at_us)
        self.assertEqual(rule.explanation.cause, cellar.DeathCause.MAX_AGE)
        self.assertEqual(rule.explanation.dies_at_us, rule.timestamp_us + 2 * 86_400_000_000 + 1)
        await asyncio.sleep(0.6)
        row = await self.client.read_row(self.table, "r", with_expiry=True)
        self.assertEqual([c.text for c in row], ["3", "1", "4"])
        self.assertIsNone(row.find("a", "rule").expire_at_us)
        dead = (await self.client.explain(self.table, "r")).find("a", "short")
        self.assertTrue(dead is None or dead.explanation.dead)

    async def test_an_explained_row_tells_the_runs_of_its_tablet(self):
        await self.create(["a"])
        await self.client.mutate_row(self.table, Mutation("r").set("a", "q", "v"))
        await self.client.flush_table(self.table)
        row = await self.client.explain(self.table, "r")
        self.assertEqual((row.runs, row.runs_opened), (1, 1))
        self.assertEqual((await self.client.read_row(self.table, "r")).runs, 0)  # not asked

    async def test_large_rows_come_in_pieces(self):
        await self.create(["a"])
        value = "v" * 60_000
        m = Mutation("r")
        for i in range(20):
            m.set("a", "q", value, timestamp=TICK * (i + 1))
        await self.client.mutate_row(self.table, m)
        stamps = [TICK * (20 - i) for i in range(20)]
        for options in ({}, {"with_expiry": True}, {"filter": Filter.family("a")}):
            row = await self.client.read_row(self.table, "r", **options)
            self.assertEqual([c.timestamp_us for c in row], stamps)
            self.assertTrue(all(c.text == value for c in row))
        rows = await all_of(self.client.read_rows(self.table))
        self.assertEqual([c.timestamp_us for c in rows[0]], stamps)

    async def test_many_rows_at_once(self):
        await self.create(["a"], splits=["row500"])
        rows = [
            Mutation(f"row{i:03}").set("a", "q", "x" * 3000, timestamp=TICK) for i in range(1000)
        ]  # several requests
        await self.client.mutate_rows(self.table, rows)
        self.assertEqual(len(await all_of(self.client.read_rows(self.table, versions=1))), 1000)
        bad = [
            Mutation("b1").set("a", "q", "1"),
            Mutation("b2").set("none", "q", "1"),
            Mutation("b3").set("a", "q", "1"),
        ]
        with self.assertRaises(cellar.PartlyFailed) as failed:
            await self.client.mutate_rows(self.table, bad)
        self.assertEqual(list(failed.exception.failures), [1])
        self.assertIsInstance(failed.exception.failures[1], cellar.NotFound)
        self.assertEqual(failed.exception.code, Code.NOT_FOUND)
        self.assertEqual(len(await all_of(self.client.read_rows(self.table, prefix="b"))), 2)
        await self.client.mutate_rows(self.table, [])

    # ---- scans and filters ----

    async def test_scans(self):
        await self.create(["a"], splits=["k05"])
        keys = [b"k%02d" % i for i in range(10)]
        await self.client.mutate_rows(self.table, [Mutation(k).set("a", "q", k, timestamp=TICK) for k in keys])

        async def scan(**options):
            return [row.key async for row in self.client.read_rows(self.table, **options)]

        self.assertEqual(await scan(), keys)
        self.assertEqual(await scan(start="k03", end="k05"), keys[3:5])
        self.assertEqual(await scan(start="k08"), keys[8:])
        self.assertEqual(await scan(prefix="k0", limit=3, reversed=True), keys[:-4:-1])
        self.assertEqual(await scan(keys=["k07", "k01", "none"]), [b"k01", b"k07"])
        open_closed = cellar.RowRange("k02", "k04", start_open=True, end_closed=True)
        self.assertEqual(
            await scan(ranges=[open_closed, cellar.RowRange("k09")], keys=["k00"]), [b"k00", b"k03", b"k04", b"k09"]
        )
        self.assertEqual(await scan(filter=Filter.row_regex("k0[13]")), [b"k01", b"k03"])
        self.assertEqual(await scan(start="z"), [])
        points = await self.client.sample_row_keys(self.table)
        self.assertEqual([p.key for p in points], [b"k05", b""])

    async def test_a_scan_that_is_left_leaves_the_client_usable(self):
        await self.create(["a"])
        await self.client.mutate_rows(self.table, [Mutation(f"{i:04}").set("a", "q", "v" * 2000) for i in range(2000)])
        rows = self.client.read_rows(self.table)
        first = await anext(rows)
        self.assertEqual(first.key, b"0000")
        self.assertEqual(await self.values("0001", versions=1), ["v" * 2000])  # another call amid the scan
        second = await anext(rows)
        self.assertEqual(second.key, b"0001")
        await rows.aclose()
        self.assertEqual(len(await all_of(self.client.read_rows(self.table, limit=1999))), 1999)

    async def test_every_filter(self):
        await self.create(["a", "b"])
        m = Mutation("r").set("a", "q1", "v1", timestamp=1 * TICK).set("a", "q1", "v2", timestamp=2 * TICK)
        m.set("a", "q2", "w", timestamp=3 * TICK).set("b", "q3", b"\x05", timestamp=4 * TICK)
        await self.client.mutate_row(self.table, m)
        everything = ["v2", "v1", "w", "\x05"]
        F = Filter
        for f, expected in (
            (F.pass_all(), everything),
            (F.block_all(), []),
            (F.chain(F.family("a"), F.cells_per_column(1)), ["v2", "w"]),
            (F.interleave(F.column("a", "q2"), F.value_regex("v1")), ["v1", "w"]),
            (F.condition(F.column("a", "none"), F.block_all(), F.family("b")), ["\x05"]),
            (F.condition(F.column("a", "q1"), F.column("a", "q2")), ["w"]),
            (F.row_regex("x"), []),
            (F.row_sample(0.999999), everything),
            (F.family_regex("b|c"), ["\x05"]),
            (F.qualifier_regex("q[13]"), ["v2", "v1", "\x05"]),
            (F.column_range("a", "q1", "q2", start_open=True, end_closed=True), ["w"]),
            (F.timestamp_range(2 * TICK, 4 * TICK), ["v2", "w"]),
            (F.timestamp_range(None, 2 * TICK), ["v1"]),
            (F.timestamp_range(datetime.datetime.fromtimestamp(0.004, UTC)), ["\x05"]),
            (F.value_range("v1", "v2", start_open=True, end_closed=True), ["v2"]),
            (F.value_range(None, "v"), ["\x05"]),
            (F.value_bitmask(b"\x04"), ["w", "\x05"]),
            (F.value_bitmask(b"\x0a"), []),
            (F.value_bitmask(b"\x12"), ["w"]),
            (F.cells_per_row_offset(3), ["\x05"]),
            (F.cells_per_row(1), ["v2"]),
            (F.chain(F.cells_per_row(2), F.strip_value()), ["", ""]),
            (F.chain(F.interleave(F.chain(F.family("b"), F.sink()), F.pass_all()), F.block_all()), ["\x05"]),
        ):
            self.assertEqual(await self.values("r", filter=f), expected, f)
        row = await self.client.read_row(self.table, "r", filter=F.chain(F.family("b"), F.label("seen")))
        self.assertEqual(row.cells[0].labels, ("seen",))
        self.assertEqual(
            await self.values("r", columns=[("a", "q1"), ("b", "q3")], versions=1, with_expiry=True), ["v2", "\x05"]
        )

    # ---- conditional writes ----

    async def test_conditions_counters_and_appends(self):
        await self.create(["a"])
        for matched in (False, True):
            done = await self.client.check_and_mutate(
                self.table,
                "r",
                then=Mutation("r").set("a", "q", "again"),
                otherwise=Mutation("r").set("a", "q", "first"),
            )
            self.assertEqual(done.matched, matched)
        done = await self.client.check_and_mutate(
            self.table,
            "r",
            condition=Filter.chain(Filter.cells_per_column(1), Filter.value_regex("again")),
            then=Mutation("r").delete_row(),
        )
        self.assertTrue(done.matched)
        self.assertIsNone(await self.client.read_row(self.table, "r"))
        done = await self.client.check_and_mutate(self.table, "r", then=Mutation("r").set("a", "q", "never"))
        self.assertEqual((done.matched, done.commit_stamp_ns), (False, 0))
        row = await self.client.read_modify_write(
            self.table, "n", [increment("a", "n", 5), increment("a", "n", -2), append("a", "s", "x")]
        )
        self.assertEqual((row.find("a", "n").int64, row.find("a", "s").text), (3, "x"))
        before = row.commit_stamp_ns
        row = await self.client.read_modify_write(self.table, "n", [increment("a", "n"), append("a", "s", b"y")])
        self.assertGreater(row.commit_stamp_ns, before)
        self.assertGreater(before, 0)
        self.assertEqual((row.find("a", "n").value, row.find("a", "s").text), (int64(4), "xy"))
        with self.assertRaises(cellar.CellarError) as refused:
            await self.client.read_modify_write(self.table, "n", [increment("a", "s")])
        self.assertEqual(refused.exception.applied, cellar.Applied.NOT_APPLIED)

    async def test_drop_row_range(self):
        await self.create(["a"], splits=["k05"])
        await self.client.mutate_rows(self.table, [Mutation(f"k{i:02}").set("a", "q", "v") for i in range(10)])
        self.assertEqual(await self.client.drop_row_range(self.table, start="k02", end="k07", draw_tokens=True), 2)
        self.assertEqual(await self.client.drop_row_range(self.table, prefix="k09"), 1)
        self.assertEqual([r.key async for r in self.client.read_rows(self.table)], [b"k00", b"k01", b"k07", b"k08"])
        with self.assertRaises(ValueError):
            await self.client.drop_row_range(self.table)

    # ---- tokens ----

    async def test_a_token_makes_a_repetition_harmless(self):
        await self.create(["a"])
        token = Token(b"t", (await self.client.ping()).now_us)
        first = await self.client.read_modify_write(self.table, "r", [increment("a", "n")], token=token)
        again = await self.client.read_modify_write(self.table, "r", [increment("a", "n")], token=token)
        self.assertEqual((first.repeated, again.repeated), (False, True))
        self.assertEqual((first.cells[0].int64, again.cells), (1, first.cells))
        done = [
            await self.client.mutate_row(self.table, Mutation("s").set("a", "q", "v"), token=token) for _ in range(2)
        ]
        self.assertEqual([d.repeated for d in done], [False, True])
        checks = [
            await self.client.check_and_mutate(self.table, "c", otherwise=Mutation("c").set("a", "q", "v"), token=token)
            for _ in range(2)
        ]
        self.assertEqual([(c.repeated, c.matched) for c in checks], [(False, False), (True, False)])
        await self.client.mutate_rows(self.table, [Mutation("m", token=token).set("a", "q", "v")], draw_tokens=True)
        await self.client.mutate_rows(self.table, [Mutation("m", token=token).set("a", "q", "v")])
        self.assertEqual(len(await self.values("m")), 1)

    async def test_tokens_that_are_refused(self):
        await self.create(["a"])
        now = (await self.client.ping()).now_us
        await self.client.mutate_row(self.table, Mutation("r").set("a", "q", "v"), token=Token(b"t", now))
        with self.assertRaises(cellar.InvalidArgument):  # other content
            await self.client.mutate_row(self.table, Mutation("r").set("a", "q", "w"), token=Token(b"t", now))
        with self.assertRaises(cellar.FailedPrecondition) as old:
            await self.client.mutate_row(
                self.table, Mutation("r").set("a", "q", "v"), token=Token(b"u", now - 3_600_000_000)
            )
        self.assertEqual(old.exception.applied, cellar.Applied.MAYBE_APPLIED)
        with self.assertRaises(ValueError):
            Token(b"t" * 65)
        self.assertEqual(await self.values("r"), ["v"])

    # ---- rules ----

    async def test_rules_preview_history_and_undo(self):
        await self.create(
            {"d": max_versions(3)},
            granularity=cellar.Granularity.MICROS,
            options=cellar.TableOptions(reclaim_within=timedelta(days=7)),
        )
        m = Mutation("readme")
        for i in range(1, 6):
            m.set("d", "text", f"v{i}", timestamp=i)
        await self.client.mutate_row(self.table, m)
        self.assertEqual(await self.values("readme"), ["v5", "v4", "v3"])
        preview = await self.client.preview_rule(self.table, "d", max_versions(1))
        self.assertEqual(
            (preview.cells, preview.rows, preview.samples, preview.approximate), (2, 1, (b"readme",), False)
        )
        self.assertEqual(preview.undo_window_us, 86_400_000_000)
        progress = []
        exact = await self.client.preview_rule(self.table, "d", max_versions(1), progress=progress.append, samples=0)
        self.assertEqual((exact.cells, exact.samples), (2, ()))
        guess = await self.client.preview_rule(self.table, "d", max_versions(1), approximate=True)
        self.assertTrue(guess.approximate and guess.least.cells <= guess.cells <= guess.most.cells)

        changed = await self.client.set_rule(self.table, "d", max_versions(1))
        self.assertEqual(changed.undo_windows[0].replaced, max_versions(3))
        self.assertEqual(await self.values("readme"), ["v5"])
        row = await self.client.explain(self.table, "readme")
        self.assertEqual(
            [(c.text, c.explanation.dead, c.explanation.cause.name) for c in row],
            [
                ("v5", False, "NONE"),
                ("v4", True, "HIDDEN"),
                ("v3", True, "HIDDEN"),
                ("v2", True, "MAX_VERSIONS"),
                ("v1", True, "MAX_VERSIONS"),
            ],
        )
        self.assertIsNone(row.cells[0].explanation.dies_at)
        history = await self.client.rule_history(self.table, "d")
        self.assertEqual([e.rule for e in history.eras], [max_versions(1), max_versions(3)])
        self.assertGreater(history.eras[0].undo_until_us, history.now_us)
        with self.assertRaises(cellar.FailedPrecondition):
            await self.client.undo_rule(self.table, "d", expected_version=history.version + 1)
        undone = await self.client.undo_rule(self.table, "d", expected_version=history.version)
        self.assertEqual(undone.family("d").rule, max_versions(3))
        self.assertEqual(await self.values("readme"), ["v5", "v4", "v3"])
        kept = await self.client.set_rule(self.table, "d", cellar.KEEP_EVERYTHING)
        self.assertEqual(kept.family("d").rule, cellar.KEEP_EVERYTHING)
        self.assertEqual(await self.values("readme"), ["v5", "v4", "v3"])

    # ---- indexes ----

    async def made_index(self, index):
        await self.client.create_index(self.table, index)
        while not all(d.ready for d in await self.client.describe_indexes(self.table)):
            await asyncio.sleep(0.01)

    async def hits(self, index, **options):
        rows = await all_of(self.client.read_index(self.table, index, **options))
        return [(row.key, *(cell.text for cell in row)) for row in rows]

    async def test_an_index_finds_cells_by_value_and_time(self):
        await self.create({"f": max_versions(3), "g": cellar.KEEP_EVERYTHING}, splits=["m"])
        await self.client.mutate_row(self.table, Mutation("z").set("f", "q", "x", timestamp=1000).set("g", "n", "zn"))
        await self.made_index(cellar.Index("v", "f", "q", covered=(("g", "n"),)))
        await self.made_index(
            cellar.Index("t", "f", "q", (cellar.IndexPart.VALUE, cellar.IndexPart.TIME), match=cellar.IndexMatch.ANY)
        )
        await self.client.mutate_row(
            self.table, Mutation("a").set("f", "q", "x", timestamp=2000).set("f", "q", "x", timestamp=3000)
        )
        await self.client.mutate_row(self.table, Mutation("b").set("f", "q", "y", timestamp=2000))
        self.assertEqual(await self.hits("v"), [(b"a", "x"), (b"z", "x", "zn"), (b"b", "y")])
        self.assertEqual(await self.hits("v", value="x", reversed=True, limit=1), [(b"z", "x", "zn")])
        self.assertEqual(await self.hits("v", values=cellar.RowRange("x", start_open=True)), [(b"b", "y")])
        self.assertEqual(await self.hits("v", value="x", prefix="z"), [(b"z", "x", "zn")])
        self.assertEqual(await self.hits("t", value="x"), [(b"a", "x"), (b"a", "x"), (b"z", "x")])
        self.assertEqual(await self.hits("t", value="x", since=1000, until=3000), [(b"a", "x"), (b"z", "x")])
        whole = await self.hits("v", value="x", whole_rows=True, filter=Filter.family("g"))
        self.assertEqual(whole, [(b"z", "zn")])
        rows = await all_of(self.client.read_index(self.table, "v", value="x", explain=True))
        self.assertTrue(all(cell.explanation is not None for row in rows for cell in row))

        altered = await self.client.alter_index(self.table, "v", max_age=timedelta(hours=1))
        self.assertEqual([i.name for i in altered.indexes], ["t", "v"])
        self.assertEqual(altered.indexes[1].max_age, 3_600_000_000)
        self.assertEqual(altered.indexes[1].covered, (("g", b"n"),))
        self.assertEqual(await self.hits("v"), [])
        refused = self.client.alter_index(self.table, "v", max_age=0)
        with self.assertRaises(cellar.InvalidArgument):
            await refused
        left = await self.client.drop_index(self.table, "v")
        self.assertEqual([i.name for i in left.indexes], ["t"])
        with self.assertRaises(cellar.NotFound):
            await self.hits("v")

    # ---- errors ----

    async def test_errors_tell_code_reason_and_outcome(self):
        await self.create(
            [
                Family("a"),
                Family("e", max_age(timedelta(seconds=1)), timestamps=cellar.TimestampMeaning.EXPIRY),
                Family("s", max_versions(3), timestamps=cellar.TimestampMeaning.SEQUENCE),
            ]
        )
        cases = (
            (cellar.NotFound, self.client.read_row("no-such-table", "r"), "no-such-table"),
            (cellar.NotFound, self.client.mutate_row(self.table, Mutation("r").set("none", "q", "v")), "none"),
            (cellar.InvalidArgument, self.client.mutate_row(self.table, Mutation("r").set("e", "q", "v")), "expiry"),
            (
                cellar.OutOfRange,
                self.client.mutate_row(self.table, Mutation("r").set("e", "q", "v", timestamp=1000)),
                "born dead",
            ),
            (
                cellar.InvalidArgument,
                self.client.mutate_row(self.table, Mutation("r").set("a", "q", "v", timestamp=1)),
                "1",
            ),
            (cellar.InvalidArgument, self.client.mutate_row(self.table, Mutation("r")), ""),
            (cellar.InvalidArgument, self.client.set_rule(self.table, "s", max_age(timedelta(days=1))), "sequence"),
            (cellar.InvalidArgument, self.client.preview_rule(self.table, "s", max_age(timedelta(days=1))), "sequence"),
            (cellar.InvalidArgument, self.client.read_row(self.table, "r", filter=Filter.value_regex("(")), ""),
            (cellar.FailedPrecondition, self.client.undo_rule(self.table, "a"), ""),
            (cellar.NotFound, self.client.restore_table("never-was"), "never-was"),
            (cellar.InvalidArgument, self.client.create_table("", ["a"]), ""),
        )
        for kind, call, word in cases:
            with self.assertRaises(kind) as refused:
                await call
            self.assertIs(refused.exception.applied, cellar.Applied.NOT_APPLIED)
            self.assertIsNone(refused.exception.retry_after_ms)
            self.assertIn(word, refused.exception.message)
        with self.assertRaises(cellar.NotFound):
            await all_of(self.client.read_rows("no-such-table"))
        await self.client.ping()

    async def test_wrong_arguments_are_not_sent(self):
        await self.create(["a"])
        for call, kind in (
            (lambda: Mutation("r").set("a", "q", 5), TypeError),
            (lambda: Mutation("r").set("a", "q", "v", timestamp=datetime.datetime(2020, 1, 1)), ValueError),
            (lambda: Mutation("r").set("a", "q", "v", ttl=1, expire_at=1), ValueError),
            (lambda: Mutation("r").set("a", "q", "v", timestamp=2**63), ValueError),
            (lambda: Mutation("r").set("a", "q", "v", timestamp=1.5), TypeError),
            (lambda: cellar.Client("no:port:at:all"), ValueError),
            (lambda: cellar.Client("host:70000"), ValueError),
            (lambda: cellar.Client(routing_hint=b"short"), ValueError),
            (lambda: cellar.any_of(cellar.KEEP_EVERYTHING, max_versions(1)), ValueError),
        ):
            with self.assertRaises(kind):
                call()
        for call in (
            self.client.check_and_mutate(self.table, "r", then=Mutation("other").delete_row()),
            self.client.read_row(self.table, "r", versions=-1),
            self.client.ping(timeout=-5),
        ):
            with self.assertRaises(ValueError):
                await call

    async def test_a_timeout_of_nothing_passes_at_once(self):
        await self.create(["a"])
        with self.assertRaises(cellar.DeadlineExceeded) as late:
            await self.client.mutate_row(self.table, Mutation("r").set("a", "q", "v"), timeout=0)
        self.assertIs(late.exception.applied, cellar.Applied.NOT_APPLIED)
        self.assertIsNone(await self.client.read_row(self.table, "r", timeout=timedelta(seconds=9)))

    async def test_a_client_uses_more_tables_than_handles(self):
        from cellar import _session

        handles, _session.MAX_HANDLE = _session.MAX_HANDLE, 2
        try:
            names = [f"{self.table}{i}" for i in range(3)]
            for name in names:
                await self.client.create_table(name, ["a"])
                await self.client.mutate_row(name, Mutation("r").set("a", "q", name))
            for _ in range(3):
                for name in names:
                    self.assertEqual((await self.client.read_row(name, "r")).cells[0].text, name)
        finally:
            _session.MAX_HANDLE = handles
