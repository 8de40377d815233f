"""Answers about tables to values: pure functions over bodies, which raise INTERNAL for an invalid one."""
from __future__ import annotations

import struct
from typing import Any

from cellar import _bodies as bodies
from cellar._bodies import Body, known, span_of
from cellar._decode_indexes import index_of
from cellar._encode import SPAN
from cellar._encode_admin import RULE
from cellar._frames import broken
from cellar._schema.ListTablesReply import ListTablesReply
from cellar._schema.PreviewProgress import PreviewProgress as WireProgress
from cellar._schema.PreviewRuleReply import PreviewRuleReply
from cellar._schema.RuleHistoryReply import RuleHistoryReply
from cellar._schema.TableDescription import TableDescription as WireDescription
from cellar._schema.WindowUnit import WindowUnit
from cellar.tables import (
    KEEP_EVERYTHING,
    BornDead,
    BottomCompression,
    Compaction,
    Compression,
    Durability,
    Family,
    Granularity,
    Preview,
    PreviewCounts,
    PreviewProgress,
    Profile,
    Rule,
    RuleEra,
    RuleHistory,
    RuleKind,
    TableDescription,
    TableOptions,
    TableSummary,
    TabletDescription,
    TimestampMeaning,
    UndoWindow,
    WriteWindow,
)

TABLET = struct.Struct("<QQIIIIII")
MAX_RULE_DEPTH = 16


def rule_of(nodes: list[tuple[Any, ...]]) -> Rule:
    """The tree of a vector of RuleNode."""
    if not nodes:
        return KEEP_EVERYTHING
    rule, used = _rule(nodes, 0, 1)
    if used != len(nodes):
        raise broken("a rule has nodes that belong to no other")
    return rule


def _rule(nodes: list[tuple[Any, ...]], at: int, depth: int) -> tuple[Rule, int]:
    if at >= len(nodes) or depth > MAX_RULE_DEPTH + 1:
        raise broken("a rule lacks nodes, or is too deep")
    value, child_count, kind, _, _ = nodes[at]
    at += 1
    parts = []
    for _ in range(child_count):
        part, at = _rule(nodes, at, depth + 1)
        parts.append(part)
    if kind not in RuleKind.__members__.values() or kind == RuleKind.KEEP_EVERYTHING:
        raise broken(f"a rule has a node of kind {kind}")
    return Rule(RuleKind(kind), value, tuple(parts)), at


def table(body: bytes) -> TableDescription:
    return bodies.decode(body, b"RDSC", WireDescription, _table)


def _table(body: Body, t: Any) -> TableDescription:
    arena = body.vector(t, 8, 1)
    options = t.Options()
    return TableDescription(
        name=body.text(t, 0),
        table_id=t.TableId(),
        version=t.Version(),
        granularity=known(Granularity, t.Granularity()) or Granularity.MILLIS,
        profile=known(Profile, t.Profile()) or Profile.NONE,
        families=tuple(_family(body, f) for f in body.tables(t.FamiliesLength(), t.Families)),
        options=TableOptions() if options is None else _options(options),
        tablets=tuple(
            TabletDescription(tablet_id, epoch, span_of(arena, *start), span_of(arena, *end), shard)
            for tablet_id, epoch, *rest in body.structs(t, 7, TABLET)
            for start, end, shard in ((tuple(rest[0:2]), tuple(rest[2:4]), rest[4]),)
        ),
        undo_windows=tuple(
            UndoWindow(body.text(w, 0), rule_of(body.structs(w, 1, RULE)), w.ChangedUs(), w.UntilUs())
            for w in body.tables(t.UndoWindowsLength(), t.UndoWindows)
        ),
        indexes=tuple(index_of(body, i) for i in body.tables(t.IndexesLength(), t.Indexes)),
    )


def _family(body: Body, f: Any) -> Family:
    window = None
    if f.WindowGiven():
        window = WriteWindow(f.WindowPastUs(), f.WindowFutureUs(), f.WindowUnit() == WindowUnit.Seconds)
    return Family(
        name=body.text(f, 0),
        rule=rule_of(body.structs(f, 2, RULE)),
        timestamps=known(TimestampMeaning, f.Timestamps()),
        born_dead=known(BornDead, f.BornDead()),
        window=window,
        undo_window=f.UndoWindowUs(),
        born_dead_from_profile=bool(f.BornDeadFromProfile()),
        window_from_profile=bool(f.WindowFromProfile()),
    )


def _options(o: Any) -> TableOptions:
    return TableOptions(
        durability=known(Durability, o.Durability()),
        compression=known(Compression, o.Compression()),
        block_bytes=o.BlockBytes(),
        reclaim_within=o.ReclaimWithinUs(),
        dead_slack=o.DeadSlack(),
        reclaim_share=o.ReclaimShare(),
        compaction=known(Compaction, o.Compaction()),
        bottom_compression=known(BottomCompression, o.BottomCompression()),
    )


def list_tables(body: bytes) -> list[TableSummary]:
    def read(b: Body, reply: Any) -> list[TableSummary]:
        return [
            TableSummary(
                b.text(t, 0), t.TableId(), t.Tablets(), t.Families(), bool(t.Dropped()), t.DroppedUs(),
                t.RestorableUntilUs(), t.Bytes(),
            )
            for t in b.tables(reply.TablesLength(), reply.Tables)
        ]  # fmt: skip

    return bodies.decode(body, b"RLST", ListTablesReply, read)


def rule_history(body: bytes) -> RuleHistory:
    def read(b: Body, reply: Any) -> RuleHistory:
        eras = tuple(
            RuleEra(rule_of(b.structs(e, 0, RULE)), e.SinceUs(), e.UntilUs(), e.UndoUntilUs())
            for e in b.tables(reply.ErasLength(), reply.Eras)
        )
        return RuleHistory(reply.Version(), eras, reply.UndoWindowUs(), reply.NowUs())

    return bodies.decode(body, b"RRUL", RuleHistoryReply, read)


def preview(body: bytes) -> Preview:
    def read(b: Body, p: Any) -> Preview:
        arena = b.vector(p, 4, 1)
        counts = PreviewCounts(p.Cells(), p.Bytes(), p.Rows())
        approximate = bool(p.Approximate())
        return Preview(
            cells=counts.cells,
            bytes=counts.bytes,
            rows=counts.rows,
            samples=tuple(span_of(arena, at, size) for at, size in b.structs(p, 3, SPAN)),
            cells_seen=p.CellsSeen(),
            rows_seen=p.RowsSeen(),
            undo_window_us=p.UndoWindowUs(),
            approximate=approximate,
            least=PreviewCounts(p.LeastCells(), p.LeastBytes(), p.LeastRows()) if approximate else counts,
            most=PreviewCounts(p.MostCells(), p.MostBytes(), p.MostRows()) if approximate else counts,
        )

    return bodies.decode(body, b"RPRV", PreviewRuleReply, read)


def preview_progress(body: bytes) -> PreviewProgress:
    return bodies.decode(
        body,
        b"RPRP",
        WireProgress,
        lambda _, p: PreviewProgress(p.Cells(), p.Bytes(), p.Rows(), p.RowsSeen(), p.RowsAbout()),
    )
