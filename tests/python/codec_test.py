#!/usr/bin/env python3
"""The parts without a transport: bytes as PROTOCOL.md shows them, values, resumption of scans and of reads through
indexes, retries, the wheel."""
import datetime
import importlib.metadata
import importlib.util
import inspect
import random
import re
import subprocess
import sys
import tempfile
import unittest
import zipfile

import support
from support import SOURCE, WHEEL, cellar
from cellar import (
    Applied,
    CellarError,
    Code,
    Mutation,
    RowRange,
    _bodies,
    _decode,
    _decode_admin,
    _decode_indexes,
    _encode,
    _encode_admin,
    _encode_indexes,
    _index_calls,
)
from cellar import _frames, _session, retry, times
from cellar._frames import Kind
from cellar._scan import Scan, clip
from cellar._schema.AlterIndexRequest import AlterIndexRequest
from cellar._schema.CreateIndexRequest import CreateIndexRequest
from cellar._schema.Op import Op
from cellar._schema.ReadIndexRequest import ReadIndexRequest
from cellar._schema.Span import Span
from cellar.options import address_of


def examples():
    """The hexadecimal dumps of PROTOCOL.md, "A worked exchange", in order."""
    text = (SOURCE / "schema/PROTOCOL.md").read_text().split("## A worked exchange")[1].split("\n## ")[0]
    dumps = re.findall(r"(?:^    [0-9a-f]{4}  .*\n)+", text, re.M)
    return [bytes.fromhex("".join(line[10:] for line in dump.splitlines())) for dump in dumps]


class Bytes(unittest.TestCase):
    """Against the exchange in PROTOCOL.md, whose bytes a test of the C++ code checks too."""

    def setUp(self):
        names = ("hello", "bind", "put", "put_reply", "get", "got", "mutate", "mutated", "read", "chunk", "annotated")
        self.dump = dict(zip(names, examples(), strict=True))

    def test_preface_and_fixed_layouts(self):
        session = _session.Session(bytes(range(1, 9)), "n", b"", b"")
        self.assertEqual(session.opening()[:16], self.dump["hello"][:16])
        put = _encode.put(Mutation("row").set("f", "q", "hello", timestamp=5000), None)
        self.assertEqual(_frames.frame(Kind.REQUEST, Op.Put, put, 4, 1), self.dump["put"])
        self.assertEqual(_frames.frame(Kind.REQUEST, Op.Get, _encode.get(b"row", 1, []), 5, 1), self.dump["get"])

    def frame_of(self, data):
        reader = _frames.FrameReader()
        for i in range(len(data)):  # byte by byte
            self.assertIsNone(reader.next())
            reader.feed(data[i : i + 1])
        return reader.next()

    def test_answers(self):
        self.assertEqual(
            _decode.put(self.frame_of(self.dump["put_reply"]).body),
            cellar.Committed(1795000000123456789, 1795000000123000),
        )
        cell = cellar.Cell("f", b"q", 5000, b"hello")
        self.assertEqual(_decode.got(b"row", [self.frame_of(self.dump["got"]).body]), cellar.Row(b"row", (cell,)))
        self.assertEqual(_decode.row_of([self.frame_of(self.dump["chunk"]).body]), cellar.Row(b"row", (cell,)))
        self.assertEqual(_decode.mutate_row(self.frame_of(self.dump["mutated"]).body), cellar.Committed(0, 0))
        noted = _decode.row_of([self.dump["annotated"]]).cells[0]
        self.assertEqual(noted.expire_at_us, 9000)
        self.assertEqual(noted.explanation, cellar.Explanation(9001, cellar.DeathCause.EXPIRY, False, None))

    def test_the_last_chunk_tells_what_is_known_of_a_row(self):
        first = support.chunk_body(b"row", [b"1"], flags=0)
        last = support.chunk_body(b"row", [b"2"], flags=_decode.CONTINUED | _decode.COMPLETE, runs=7, runs_opened=2)
        row = _decode.row_of([first, last])
        self.assertEqual([cell.value for cell in row], [b"1", b"2"])
        self.assertEqual((row.runs, row.runs_opened), (7, 2))
        plain = _decode.row_of([support.chunk_body(b"row", [b"1"])])
        self.assertEqual((plain.runs, plain.runs_opened, plain.commit_stamp_ns), (0, 0, 0))

    def test_flatbuffers_bodies_mean_the_same(self):
        """Another builder may lay out a body differently, so its content is compared."""
        from cellar._schema.MutateRowRequest import MutateRowRequest

        def content(body):
            b, request = _bodies.Body(body), MutateRowRequest.GetRootAs(body, 0)
            arena = bytes(b.vector(request, 3, 1))
            ((at, until, f_at, f_size, q_at, q_size, v_at, v_size, kind, flags, *_),) = b.structs(
                request, 2, _encode.MUTATION
            )
            row = request.Row()
            return (
                arena[row.At() : row.At() + row.Size()],
                arena[f_at : f_at + f_size],
                arena[q_at : q_at + q_size],
                arena[v_at : v_at + v_size],
                at,
                until,
                kind,
                flags,
                request.Durability(),
            )

        shown = content(self.dump["mutate"][_frames.HEADER.size :])
        self.assertEqual(
            shown, content(_encode.mutate_row(Mutation("row").set("f", "q", "hello", timestamp=5000), None, None))
        )
        self.assertEqual(shown[:5], (b"row", b"f", b"q", b"hello", 5000))


class Bodies(unittest.TestCase):
    def test_every_enum_is_that_of_the_schema(self):
        def numbers(name):
            module = importlib.import_module(f"cellar._schema.{name}")
            return sorted(v for k, v in vars(getattr(module, name)).items() if not k.startswith("_"))

        for ours, name in (
            (cellar.filter.FilterKind, "FilterKind"),
            (cellar.mutation.MutationKind, "MutationKind"),
            (cellar.DeathCause, "DeathCause"),
            (cellar.TimestampMeaning, "TimestampMeaning"),
            (cellar.BornDead, "BornDead"),
            (cellar.Profile, "Profile"),
            (cellar.Compaction, "Compaction"),
            (cellar.BottomCompression, "BottomCompression"),
            (cellar.Granularity, "Granularity"),
            (cellar.Compression, "Compression"),
            (Applied, "Applied"),
        ):
            self.assertEqual(sorted(int(m) for m in ours), numbers(name), name)
        self.assertEqual([*sorted(int(d) for d in cellar.Durability), 255], numbers("Durability"))
        self.assertEqual(sorted(int(k) for k in cellar.tables.RuleKind)[1:], numbers("RuleKind"))

    def test_rules(self):
        rule = cellar.max_age(datetime.timedelta(days=30)) | (cellar.max_versions(9) & cellar.max_age(86_400_000_000))
        nodes = list(_encode_admin.RULE.iter_unpack(_encode_admin.rule_nodes(rule)))
        self.assertEqual([(n[2], n[1]) for n in nodes], [(3, 2), (2, 0), (4, 2), (1, 0), (2, 0)])
        self.assertEqual(_decode_admin.rule_of(nodes), rule)
        self.assertEqual(str(rule), "maxage=30d or (maxversions=9 and maxage=1d)")
        self.assertEqual(_decode_admin.rule_of([]), cellar.KEEP_EVERYTHING)
        one, two, three = (cellar.max_versions(n) for n in (1, 2, 3))
        self.assertEqual(one | two | three, cellar.any_of(one, two, three))
        for bad in ([(0, 1, 3, 0, 0)], [(1, 0, 1, 0, 0)] * 2, [(1, 0, 9, 0, 0)], [(0, 1, 3, 0, 0)] * 100):
            with self.assertRaises(cellar.Internal):
                _decode_admin.rule_of(bad)

    def test_a_body_cannot_hold_more_than_its_bytes(self):
        """Many entries that name one table cost no more than the body allows."""
        b = _bodies.new_builder()
        from cellar._schema import ListTablesReply, TableSummary

        name = b.CreateString("t")
        TableSummary.Start(b)
        TableSummary.AddName(b, name)
        one = TableSummary.End(b)
        same = _bodies.table_vector(b, [int(one)] * 10_000)
        ListTablesReply.Start(b)
        ListTablesReply.AddTables(b, same)
        with self.assertRaises(cellar.Internal):
            _decode_admin.list_tables(_bodies.finish(b, ListTablesReply.End(b), b"RLST"))

    def test_unknown_numbers_of_a_newer_node(self):
        error = cellar.errors.error_of(99, "m", 77)
        self.assertEqual((error.code, error.applied), (Code.UNKNOWN, Applied.MAYBE_APPLIED))

    def test_changed_bodies_raise_internal(self):
        chance = random.Random(1)
        body = examples()[-1]
        for _ in range(20_000):
            changed = bytearray(body)
            for _ in range(chance.randint(1, 6)):
                changed[chance.randrange(len(body))] = chance.randrange(256)
            try:
                _decode.row_of([bytes(changed[: chance.choice((len(body), chance.randrange(1, len(body))))])])
            except CellarError as error:
                self.assertIs(error.code, Code.INTERNAL)


class Values(unittest.TestCase):
    def test_times(self):
        when = datetime.datetime(2025, 4, 30, 9, 0, 0, 1, datetime.timezone.utc)
        self.assertEqual(cellar.to_us(when), 1746003600000001)
        self.assertEqual(cellar.to_datetime(1746003600000001), when)
        east = datetime.datetime(2016, 7, 21, tzinfo=datetime.timezone(datetime.timedelta(hours=8)))
        self.assertEqual(cellar.to_us(east), 1469030400000000)
        self.assertEqual(times.span_us(datetime.timedelta(days=2, microseconds=3)), 172_800_000_003)

    def test_addresses(self):
        for text, expected in (
            ("h:1", ("h", 1)),
            ("h", ("h", 7420)),
            ("[::1]:99", ("::1", 99)),
            ("[::1]", ("::1", 7420)),
        ):
            self.assertEqual(address_of(text), expected)
        for text in ("", ":1", "h:", "h:x", "::1", "[::1", "[::1]x", "h:0", "h:65536"):
            with self.assertRaises(ValueError, msg=text):
                address_of(text)

    def test_loopback(self):
        from cellar._dial import is_loopback

        for host, expected in (
            ("127.0.0.1", True),
            ("127.8.8.8", True),
            ("::1", True),
            ("::ffff:127.0.0.1", True),
            ("10.0.0.1", False),
            ("::ffff:10.0.0.1", False),
            ("localhost", False),
            ("", False),
        ):
            self.assertEqual(is_loopback(host), expected, host)

    def test_prefixes_end(self):
        for prefix, end in ((b"a", b"b"), (b"a\xff", b"b"), (b"\xff", None), (b"", None), (b"a\x00", b"a\x01")):
            self.assertEqual(cellar.cells.prefix_end(prefix), end)

    def test_counters(self):
        self.assertEqual(cellar.int64(-1), b"\xff" * 8)
        self.assertEqual(cellar.Cell("f", b"q", 0, cellar.int64(7)).int64, 7)
        with self.assertRaises(ValueError):
            _ = cellar.Cell("f", b"q", 0, b"short").int64


class Resumption(unittest.TestCase):
    KEYS = [b"%d" % i for i in range(10)]

    def rows_of(self, scan):
        """What a node would answer."""
        chosen = []
        for key in self.KEYS:
            inside = [
                not (r.start is not None and (key < r.start or (r.start_open and key == r.start)))
                and not (r.end is not None and (key > r.end or (not r.end_closed and key == r.end)))
                for r in scan.ranges
            ]
            if key in scan.keys or any(inside) or (not scan.keys and not scan.ranges):
                chosen.append(key)
        chosen = chosen[::-1] if scan.reversed_order else chosen
        return chosen[: scan.row_limit] if scan.row_limit else chosen

    def test_what_is_left_is_what_was_not_read(self):
        chance = random.Random(3)
        for _ in range(3000):

            def bound():
                return chance.choice([None, *self.KEYS])

            ranges = [
                RowRange(bound(), bound(), chance.random() < 0.5, chance.random() < 0.5)
                for _ in range(chance.randint(0, 3))
            ]
            keys = chance.sample(self.KEYS, chance.randint(0, 3))
            scan = Scan(
                table="t",
                keys=keys,
                ranges=ranges,
                selection=None,
                row_limit=chance.choice((0, 0, 3, 7)),
                reversed_order=chance.random() < 0.5,
                explain=False,
                include_dead=False,
                with_expiry=False,
            )
            expected = self.rows_of(scan)
            read = []
            while True:
                offered = self.rows_of(scan)
                taken = offered[: chance.randint(0, 3)]
                read += taken
                scan._rows, scan._last = len(taken), taken[-1] if taken else b""
                if taken == offered or not scan.resume():
                    break
            self.assertEqual(read, expected)

    def test_nothing_is_left_of_a_range_that_was_read(self):
        self.assertIsNone(clip(RowRange(b"a", b"c", end_closed=True), b"c", False))
        self.assertIsNone(clip(RowRange(b"c", b"d"), b"c", True))
        self.assertEqual(clip(RowRange(b"a", b"c"), b"b", True), RowRange(b"a", b"b"))


class IndexScans(unittest.TestCase):
    """Reads through an index."""

    @staticmethod
    def request(body):
        return ReadIndexRequest.GetRootAs(body, 0)

    def test_a_request_has_what_was_given(self):
        scan = _index_calls.read_index(
            "t",
            "i",
            values=RowRange("a", "c", True, True),
            qualifier="",
            since=1000,
            prefix="s",
            keys=["r"],
            whole_rows=True,
            filter=cellar.Filter.family("f"),
            limit=7,
            reversed=True,
            explain=True,
        )
        body = scan.body()
        r, b = self.request(body), _bodies.Body(body)
        arena = bytes(b.vector(r, 9, 1))
        self.assertEqual(b.text(r, 1), "i")
        self.assertIsNone(r.Value())
        v = r.Values()
        self.assertEqual((arena[v.Start(Span()).At()], arena[v.End(Span()).At()], v.Flags()), (ord("a"), ord("c"), 15))
        self.assertEqual(r.Qualifier().Size(), 0)
        self.assertIsNone(r.Qualifiers())
        self.assertEqual((r.Time().Start(), r.Time().Flags()), (1000, 1))
        self.assertEqual((r.KeysLength(), r.RangesLength(), r.FilterLength()), (1, 1, 1))
        self.assertEqual((r.WholeRows(), r.Limit(), r.Reversed(), r.Explain()), (True, 7, True, True))
        self.assertTrue(r.AfterIsNone())
        plain = self.request(_index_calls.read_index("t", "i", value="").body())
        self.assertEqual(plain.Value().Size(), 0)
        self.assertTrue(plain.Time() is None and plain.Limit() is None and plain.KeysIsNone() and plain.FilterIsNone())

    def test_it_resumes_behind_the_last_hit_with_what_is_left_of_its_limit(self):
        scan = _index_calls.read_index("t", "i", limit=3)
        scan.body()
        rows = scan.feed(support.chunk_body(b"r", [b"1"], position=b"p1"))
        rows += scan.feed(support.chunk_body(b"r", [b"2"], position=b"p2"))
        self.assertEqual([(r.key, r.cells[0].value) for r in rows], [(b"r", b"1"), (b"r", b"2")])
        self.assertEqual(scan.feed(support.chunk_body(b"s", [b"a"], flags=0)), [])
        self.assertTrue(scan.resume())
        body = scan.body()
        left = self.request(body)
        self.assertEqual((bytes(_bodies.Body(body).vector(left, 15, 1)), left.Limit()), (b"p2", 1))
        self.assertTrue(scan.resume())  # nothing came
        self.assertEqual(self.request(scan.body()).Limit(), 1)
        scan.feed(support.chunk_body(b"s", [b"a"], position=b"p3"))
        self.assertFalse(scan.resume())

    def test_hits_without_a_position_are_a_fault(self):
        scan = _index_calls.read_index("t", "i")
        scan.body()
        with self.assertRaises(cellar.Internal):
            scan.feed(support.chunk_body(b"r", [b"1"]))
        scan = _index_calls.read_index("t", "i")
        scan.body()
        scan.feed(support.chunk_body(b"r", [b"1"], position=b"p1"))
        with self.assertRaises(cellar.Internal):  # the position of an earlier chunk is not theirs
            scan.feed(support.chunk_body(b"r", [b"2"]))

    def test_definitions(self):
        index = cellar.Index(
            "i", "f", "q", covered=(("g", b"\xff"),), type=cellar.IndexType.INT64, max_age=datetime.timedelta(hours=1)
        )
        body = _encode_indexes.create_index("t", index)
        request = CreateIndexRequest.GetRootAs(body, 0)
        told = _decode_indexes.index_of(_bodies.Body(body), request.Index())
        self.assertEqual(
            told,
            cellar.Index(
                "i", "f", b"q", (cellar.IndexPart.VALUE,), cellar.IndexType.INT64, cellar.IndexMatch.NEWEST,
                (("g", b"\xff"),), 3_600_000_000, None,
            ),
        )  # fmt: skip
        of_family = CreateIndexRequest.GetRootAs(_encode_indexes.create_index("t", cellar.Index("i", "f")), 0).Index()
        self.assertTrue(of_family.QualifierIsNone() and of_family.CoveredIsNone())
        self.assertEqual(of_family.Parts(0), cellar.IndexPart.TIME)
        for max_age, given, us in ((cellar.UNCHANGED, False, None), (None, True, None), (5000, True, 5000)):
            change = AlterIndexRequest.GetRootAs(_encode_indexes.alter_index("t", "i", max_age, None), 0)
            self.assertEqual((change.MaxAgeGiven(), change.MaxAgeUs(), change.TighterBase()), (given, us, None))


class Retries(unittest.TestCase):
    def test_pauses_and_budget(self):
        policy = retry.RetryPolicy(
            retry.RetryOptions(max_attempts=3, backoff_min_s=1, backoff_max_s=3, budget_share=0.5, budget_reserve=2)
        )

        def failed(retry_after_ms=0, code=Code.UNAVAILABLE, applied=Applied.NOT_APPLIED):
            return cellar.errors.error_of(code, "m", applied, retry_after_ms)

        self.assertTrue(0.5 <= policy.pause_s(failed(), False, 1, 99) <= 1)
        self.assertEqual(policy.pause_s(failed(5000), False, 2, 99), 5)
        self.assertIsNone(policy.pause_s(failed(), False, 1, 99))  # the budget is used up
        policy.on_answer()
        policy.on_answer()
        self.assertIsNone(policy.pause_s(failed(), False, 3, 99))  # no attempts left
        self.assertIsNone(policy.pause_s(failed(5000), False, 1, 4))  # not before the deadline
        self.assertIsNone(policy.pause_s(failed(None), False, 1, 99))
        self.assertIsNone(policy.pause_s(failed(applied=Applied.MAYBE_APPLIED), False, 1, 99))
        self.assertIsNotNone(policy.pause_s(failed(applied=Applied.MAYBE_APPLIED), True, 1, 99))


class Surface(unittest.TestCase):
    def test_both_clients_have_the_same_methods_with_docs(self):
        def methods(kind):
            return {n: m for n, m in inspect.getmembers(kind, callable) if not n.startswith("_")}

        blocking, awaited = methods(cellar.Client), methods(cellar.AsyncClient)
        self.assertEqual(blocking.keys(), awaited.keys())
        for name, method in blocking.items():
            self.assertTrue(method.__doc__, name)
            self.assertEqual(method.__name__, name)
            ours, theirs = inspect.signature(method), inspect.signature(awaited[name])
            self.assertEqual(list(ours.parameters.values()), list(theirs.parameters.values()), name)
            self.assertEqual(next(iter(ours.parameters)), "self")
            self.assertNotIn("Call[", str(ours))

    def test_every_public_name_is_documented(self):
        for name in cellar.__all__:
            value = getattr(cellar, name)
            if inspect.isclass(value) or inspect.isfunction(value):
                self.assertTrue(value.__doc__, name)

    def test_the_wheel_is_installable_typed_and_reproducible(self):
        names = zipfile.ZipFile(WHEEL).namelist()
        self.assertIn("cellar/py.typed", names)
        self.assertIn("cellar/_schema/Op.py", names)
        self.assertTrue(all(n.startswith(("cellar/", "cellar-")) for n in names))
        if importlib.util.find_spec("pip") is None:
            self.skipTest("no pip")
        with tempfile.TemporaryDirectory() as target:
            subprocess.run(
                [
                    sys.executable,
                    "-m",
                    "pip",
                    "install",
                    "--quiet",
                    "--no-deps",
                    "--no-index",
                    "--no-compile",
                    "--target",
                    target,
                    "--disable-pip-version-check",
                    "--root-user-action=ignore",
                    WHEEL,
                ],
                check=True,
            )
            program = (
                "import cellar as c, importlib.metadata as m; print(c.__file__, c.__version__, m.version('cellar'))"
            )
            said = subprocess.run(
                [sys.executable, "-c", program],
                check=True,
                capture_output=True,
                text=True,
                cwd="/",
                env={"PYTHONPATH": target},
            ).stdout.split()
            self.assertTrue(said[0].startswith(target))
            self.assertEqual(said[1], said[2])
            self.assertIn(f"cellar-{said[1]}-", WHEEL.name)


if __name__ == "__main__":
    unittest.main()
