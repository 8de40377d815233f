"""Answers to values: pure functions over bodies, which raise INTERNAL for an invalid one."""
from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any

from cellar import _bodies as bodies
from cellar._bodies import Body, span_of
from cellar._encode import SAME_COLUMN, SAME_FAMILY
from cellar._frames import ALIGNMENT, broken
from cellar._schema.CheckAndMutateRowReply import CheckAndMutateRowReply
from cellar._schema.DropRowRangeReply import DropRowRangeReply
from cellar._schema.HelloReply import HelloReply
from cellar._schema.MutateRowReply import MutateRowReply
from cellar._schema.MutateRowsReply import MutateRowsReply
from cellar._schema.PingReply import PingReply
from cellar._schema.ReadChunk import ReadChunk
from cellar._schema.ReadEnd import ReadEnd
from cellar._schema.SampleRowKeysReply import SampleRowKeysReply
from cellar._schema.ServerInfoReply import ServerInfoReply
from cellar._schema.Status import Status
from cellar.cells import Cell, DeathCause, Explanation, Row
from cellar.errors import CellarError, error_of
from cellar.mutation import Committed
from cellar.node import Hello, Limits, Pong, ServerInfo, ShardStats
from cellar.tables import SplitPoint
from cellar.times import NEVER_US

GOT = struct.Struct("<II")
GOT_CELL = struct.Struct("<qIHBB")
PUT_REPLY = struct.Struct("<Qq")
ROW = struct.Struct("<IIIHH")
CELL = struct.Struct("<qIIIIHBBHH")
EXPLAIN = struct.Struct("<qBBHI")
EXPIRY = struct.Struct("<q")
SPAN = struct.Struct("<II")
SAMPLE = struct.Struct("<IIQ")
FAILURE = struct.Struct("<IIIIBBH")
CHUNK_ROWS, CHUNK_CELLS, CHUNK_ARENA, CHUNK_EXPLAIN, CHUNK_EXPIRY, CHUNK_POSITION = 0, 1, 2, 4, 7, 11
CONTINUED, COMPLETE = 1, 2
MAX_ROW_BYTES = 1 << 29
"""Of the chunks of one row: a node returns rows of up to 256 MiB."""
NO_CLAUSE = 2**16 - 1
NO_RETRY = 2**32 - 1


def status(body: bytes) -> CellarError:
    """The error that a frame with the error flag states."""
    return bodies.decode(body, b"RSTA", Status, _status)


def _status(body: Body, s: Any) -> CellarError:
    retry_after_ms = s.RetryAfterMs()
    return error_of(
        s.Code(),
        body.text(s, 3),
        s.Applied(),
        None if retry_after_ms == NO_RETRY else retry_after_ms,
        body.text(s, 8) or None,
    )


def hello(body: bytes) -> Hello:
    return bodies.decode(body, b"RHEL", HelloReply, _hello)


def _hello(body: Body, h: Any) -> Hello:
    stated = h.Limits()
    limits = Limits()
    if stated is not None:
        limits = Limits(
            stated.FrameBytes(), stated.CellBytes(), stated.RowBytes(), stated.RowKeyBytes(), stated.QualifierBytes(),
            stated.MutationsPerRow(), stated.InFlight(), stated.ChunkBytes(), stated.ChunkCredits(),
        )  # fmt: skip
    features = frozenset(bytes(name).decode(errors="replace") for name in body.tables(h.FeaturesLength(), h.Features))
    return Hello(
        version=h.Version(),
        server_version=body.text(h, 1),
        shard=h.Shard(),
        shards=h.Shards(),
        limits=limits,
        now_us=h.NowUs(),
        features=features,
        advertise=body.text(h, 8),
        instance=h.Instance(),
    )


def pong(body: bytes) -> Pong:
    return bodies.decode(body, b"RPNG", PingReply, lambda b, p: Pong(p.NowUs(), bytes(b.vector(p, 0, 1))))


def server_info(body: bytes) -> ServerInfo:
    return bodies.decode(body, b"RSIN", ServerInfoReply, _server_info)


def _server_info(body: Body, s: Any) -> ServerInfo:
    stats = tuple(
        ShardStats(
            t.Tablets(), t.TablesOnDisk(), t.TableBytes(), t.LogBytes(), t.MemtableBytes(), t.CacheBytes(),
            t.MetadataBytes(), t.Commits(), t.Flushes(), t.Compactions(), t.TornTailBytes(), t.ReplayedCommits(),
            bool(t.ReadOnly()), t.Connections(), t.Requests(), t.RequestsHandedOver(),
        )
        for t in body.tables(s.StatsLength(), s.Stats)
    )  # fmt: skip
    return ServerInfo(
        version=body.text(s, 0),
        shards=s.Shards(),
        io_backend=body.text(s, 2),
        io_reason=body.text(s, 3),
        uptime_us=s.UptimeUs(),
        now_us=s.NowUs(),
        wall_us=s.WallUs(),
        held_us=s.HeldUs(),
        lag_us=s.LagUs(),
        stands=bool(s.Stands()),
        data_dir=body.text(s, 11),
        stats=stats,
    )


# ---- writes ----


def put(body: bytes) -> Committed:
    if len(body) != PUT_REPLY.size:
        raise broken("an answer to a Put of another size")
    return Committed(*PUT_REPLY.unpack_from(body))


def mutate_row(body: bytes) -> Committed:
    return bodies.decode(
        body,
        b"RMUR",
        MutateRowReply,
        lambda _, r: Committed(r.CommitStamp(), r.Timestamp(), bool(r.Repeated()), bool(r.AnswerNotKept())),
    )


def check_and_mutate(body: bytes) -> Committed:
    return bodies.decode(
        body,
        b"RCAM",
        CheckAndMutateRowReply,
        lambda _, r: Committed(
            r.CommitStamp(), r.Timestamp(), bool(r.Repeated()), bool(r.AnswerNotKept()), bool(r.Matched())
        ),
    )


def mutate_rows(body: bytes, entries: int) -> dict[int, CellarError]:
    """The entries that failed, by index."""

    def read(b: Body, reply: Any) -> dict[int, CellarError]:
        arena = b.vector(reply, 1, 1)
        failures = {}
        for index, retry_after_ms, at, size, code, applied, _ in b.structs(reply, 0, FAILURE):
            if index >= entries:
                raise broken("an answer names an entry that was not sent")
            message = span_of(arena, at, size).decode(errors="replace")
            failures[index] = error_of(code, message, applied, None if retry_after_ms == NO_RETRY else retry_after_ms)
        return failures

    return bodies.decode(body, b"RMRS", MutateRowsReply, read)


def drop_row_range(body: bytes) -> int:
    return bodies.decode(body, b"RDRR", DropRowRangeReply, lambda _, r: int(r.Tablets()))


def sample_row_keys(body: bytes) -> list[SplitPoint]:
    def read(b: Body, reply: Any) -> list[SplitPoint]:
        arena = b.vector(reply, 1, 1)
        return [SplitPoint(span_of(arena, at, size), before) for at, size, before in b.structs(reply, 0, SAMPLE)]

    return bodies.decode(body, b"RSRK", SampleRowKeysReply, read)


# ---- reads ----


class RowAssembler:
    """Chunks to rows. A row may span chunks; it is complete with its end mark."""

    def __init__(self) -> None:
        self._key: bytes | None = None  # of the row that is not complete
        self._cells: list[Cell] = []
        self._bytes = 0  # of the chunks since it began
        self._notes = (False, False)
        self._figures = (0, 0, 0)  # runs, runs opened, commit stamp
        self.position = b""  # of the last hit of an index that the last chunk completes; empty: none

    @property
    def in_row(self) -> bool:
        """Whether the last row is not complete."""
        return self._key is not None

    def feed(self, body: bytes) -> list[Row]:
        """The rows that this chunk completes."""
        self._bytes += len(body)
        if self._bytes > MAX_ROW_BYTES:
            raise broken(f"a row of more than {MAX_ROW_BYTES} bytes")
        return bodies.decode(body, b"RCHK", ReadChunk, self._feed)

    def _feed(self, body: Body, chunk: Any) -> list[Row]:
        arena = body.vector(chunk, CHUNK_ARENA, 1)
        self._notes = bool(chunk.Repeated()), bool(chunk.AnswerNotKept())
        self._figures = int(chunk.Runs()), int(chunk.RunsOpened()), int(chunk.CommitStamp())
        self.position = bytes(body.vector(chunk, CHUNK_POSITION, 1))
        labels = [
            tuple(bytes(names).decode(errors="replace").split(","))
            for names in body.tables(chunk.LabelSetsLength(), chunk.LabelSets)
        ]
        cells = _cells(body, chunk, arena, labels)
        complete = []
        taken = 0
        for key_at, key_size, count, flags, _ in body.structs(chunk, CHUNK_ROWS, ROW):
            key = span_of(arena, key_at, key_size)
            if bool(flags & CONTINUED) != (self._key is not None) or (self._key is not None and self._key != key):
                raise broken("a row begins inside another one")
            if taken + count > len(cells):
                raise broken("a row has more cells than its chunk")
            self._key = key
            self._cells += cells[taken : taken + count]
            taken += count
            if flags & COMPLETE:
                complete.append(Row(key, tuple(self._cells), *self._notes, *self._figures))
                self._bytes = len(body.data)
                self._key, self._cells = None, []
        if taken != len(cells):
            raise broken("a chunk has cells of no row")
        if self._key is None:
            self._bytes = 0
        return complete


def _cells(body: Body, chunk: Any, arena: memoryview, labels: list[tuple[str, ...]]) -> list[Cell]:
    records = body.structs(chunk, CHUNK_CELLS, CELL)
    explained = body.structs(chunk, CHUNK_EXPLAIN, EXPLAIN)
    expiries = body.structs(chunk, CHUNK_EXPIRY, EXPIRY)
    if (explained and len(explained) != len(records)) or (expiries and len(expiries) != len(records)):
        raise broken("a chunk has more or fewer annotations than cells")
    families: dict[bytes, str] = {}
    cells = []
    for i, record in enumerate(records):
        timestamp, family_at, qualifier_at, value_at, value_size, qualifier_size, family_size, _, label_set, _ = record
        name = span_of(arena, family_at, family_size)
        family = families.get(name)
        if family is None:
            family = families[name] = name.decode(errors="replace")
        if label_set > len(labels):
            raise broken("a cell names a label set that is not there")
        expiry = expiries[i][0] if expiries else NEVER_US
        cells.append(
            Cell(
                family,
                span_of(arena, qualifier_at, qualifier_size),
                timestamp,
                span_of(arena, value_at, value_size),
                labels[label_set - 1] if label_set else (),
                None if expiry == NEVER_US else expiry,
                _explanation(*explained[i]) if explained else None,
            )
        )
    return cells


def _explanation(dies_at_us: int, cause: int, dead: int, clause: int, _: int) -> Explanation:
    known = DeathCause(cause) if cause in DeathCause.__members__.values() else DeathCause.NONE
    return Explanation(dies_at_us, known, bool(dead), None if clause == NO_CLAUSE else clause)


def row_of(parts: Sequence[bytes]) -> Row | None:
    """The one row of an answer, whose chunks these are; None: it has no cell."""
    assembler = RowAssembler()
    rows = [row for part in parts if part for row in assembler.feed(part)]
    if assembler.in_row or len(rows) > 1:
        raise broken("an answer to a read of one row has not exactly one complete row")
    return rows[0] if rows else None


def repetition(body: bytes) -> tuple[bool, bool]:
    """Whether an answer is that of a repeated write, and whether its content was not kept."""
    return bodies.decode(body, b"RCHK", ReadChunk, lambda _, c: (bool(c.Repeated()), bool(c.AnswerNotKept())))


def got(key: bytes, parts: Sequence[bytes]) -> Row | None:
    """The row of an answer to a Get; None: it has no cell."""
    cells: list[Cell] = []
    for part in parts:
        cells += _got_cells(part)
    return Row(key, tuple(cells)) if cells else None


def _got_cells(body: bytes) -> list[Cell]:
    try:
        count, _ = GOT.unpack_from(body)
        at = GOT.size
        cells = []
        family, qualifier = "", b""
        for i in range(count):
            timestamp, value_size, qualifier_size, family_size, flags = GOT_CELL.unpack_from(body, at)
            at += GOT_CELL.size
            if i == 0 and flags & (SAME_FAMILY | SAME_COLUMN):
                raise broken("the first cell refers to one before it")
            if not flags & (SAME_FAMILY | SAME_COLUMN):
                family = body[at : at + family_size].decode(errors="replace")
                at += family_size
            if not flags & SAME_COLUMN:
                qualifier = body[at : at + qualifier_size]
                at += qualifier_size
            if at + value_size > len(body):
                raise broken("a cell exceeds its body")
            cells.append(Cell(family, qualifier, timestamp, body[at : at + value_size]))
            at += value_size
    except struct.error as error:
        raise broken("a short answer to a Get") from error
    if body[at:] != bytes(-at % ALIGNMENT):
        raise broken("an answer to a Get has more bytes than its cells")
    return cells


def read_end(body: bytes) -> tuple[int, int]:
    """The rows and cells of a stream, as its end states them."""
    return bodies.decode(body, b"REND", ReadEnd, lambda _, e: (int(e.Rows()), int(e.Cells())))
