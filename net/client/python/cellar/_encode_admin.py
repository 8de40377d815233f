"""Requests on tables as bodies: pure functions."""
from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from typing import Any

from cellar import _bodies as bodies
from cellar._bodies import Arena
from cellar._encode import SPAN
from cellar._schema import (
    AlterTableRequest,
    CreateTableRequest,
    FamilySpec,
    ListTablesRequest,
    PreviewRuleRequest,
    RuleHistoryRequest,
    UndoRuleRequest,
)
from cellar._schema import TableOptions as WireOptions
from cellar.tables import Family, Granularity, Profile, Rule, RuleKind, TableOptions
from cellar.times import span_us

RULE = struct.Struct("<qIBBH")


def rule_nodes(rule: Rule) -> bytes:
    """A rule in pre-order; KEEP_EVERYTHING has no node."""
    if rule.kind is RuleKind.KEEP_EVERYTHING:
        return b""
    head = RULE.pack(rule.value, len(rule.parts), rule.kind, 0, 0)
    return head + b"".join(rule_nodes(part) for part in rule.parts)


def _family(b: Any, family: Family) -> int:
    name = b.CreateString(family.name)
    rule = 0 if family.rule is None else bodies.struct_vector(b, RULE.size, rule_nodes(family.rule))
    q = FamilySpec
    q.Start(b)
    q.AddName(b, name)
    if rule:
        q.AddRuleGiven(b, True)
        q.AddRule(b, rule)
    if family.timestamps is not None:
        q.AddTimestamps(b, int(family.timestamps))
    if family.born_dead is not None:
        q.AddBornDead(b, int(family.born_dead))
    if family.window is not None:
        q.AddWindowGiven(b, True)
        if family.window.past is not None:
            q.AddWindowPastUs(b, span_us(family.window.past))
        if family.window.future is not None:
            q.AddWindowFutureUs(b, span_us(family.window.future))
        q.AddWindowUnit(b, int(family.window.whole_seconds))
    if family.undo_window is not None:
        q.AddUndoWindowUs(b, span_us(family.undo_window))
    return int(q.End(b))


def _options(b: Any, options: TableOptions) -> int:
    q = WireOptions
    q.Start(b)
    if options.durability is not None:
        q.AddDurability(b, int(options.durability))
    if options.compression is not None:
        q.AddCompression(b, int(options.compression))
    if options.block_bytes is not None:
        q.AddBlockBytes(b, options.block_bytes)
    if options.reclaim_within is not None:
        q.AddReclaimWithinUs(b, span_us(options.reclaim_within))
    if options.dead_slack is not None:
        q.AddDeadSlack(b, options.dead_slack)
    if options.reclaim_share is not None:
        q.AddReclaimShare(b, options.reclaim_share)
    if options.compaction is not None:
        q.AddCompaction(b, int(options.compaction))
    if options.bottom_compression is not None:
        q.AddBottomCompression(b, int(options.bottom_compression))
    return int(q.End(b))


def _families(b: Any, families: Iterable[Family]) -> int:
    tables = [_family(b, family) for family in families]
    return bodies.table_vector(b, tables) if tables else 0


def create_table(
    name: str,
    families: Iterable[Family],
    granularity: Granularity | None,
    profile: Profile,
    options: TableOptions,
    splits: Sequence[bytes],
) -> bytes:
    b = bodies.new_builder()
    arena = Arena()
    split_spans = b"".join(SPAN.pack(*arena.add(row)) for row in splits)
    title = b.CreateString(name)
    family_vector = _families(b, families)
    option_table = _options(b, options)
    split_vector = bodies.struct_vector(b, SPAN.size, split_spans)
    content = bodies.byte_vector(b, arena.bytes)
    q = CreateTableRequest
    q.Start(b)
    q.AddName(b, title)
    if granularity is not None:
        q.AddGranularity(b, int(granularity))
    q.AddProfile(b, int(profile))
    if family_vector:
        q.AddFamilies(b, family_vector)
    q.AddOptions(b, option_table)
    if splits:
        q.AddSplits(b, split_vector)
        q.AddArena(b, content)
    return bodies.finish(b, q.End(b), b"QCRT")


def alter_table(
    name: str,
    add: Iterable[Family],
    alter: Iterable[Family],
    drop: Iterable[str],
    options: TableOptions | None,
    close_oldest_undo_window: bool,
) -> bytes:
    b = bodies.new_builder()
    title = b.CreateString(name)
    added, altered = _families(b, add), _families(b, alter)
    names = [int(b.CreateString(family)) for family in drop]
    dropped = bodies.table_vector(b, names) if names else 0
    option_table = _options(b, options) if options is not None else 0
    q = AlterTableRequest
    q.Start(b)
    q.AddName(b, title)
    if added:
        q.AddAdd(b, added)
    if altered:
        q.AddAlter(b, altered)
    if dropped:
        q.AddDrop(b, dropped)
    if option_table:
        q.AddOptions(b, option_table)
    q.AddCloseOldestUndoWindow(b, close_oldest_undo_window)
    return bodies.finish(b, q.End(b), b"QALT")


def named(request: Any, identifier: bytes, name: str) -> bytes:
    """A request whose only field is the table's name: `request` is its generated module."""
    b = bodies.new_builder()
    title = b.CreateString(name)
    request.Start(b)
    (request.AddTable if hasattr(request, "AddTable") else request.AddName)(b, title)
    return bodies.finish(b, request.End(b), identifier)


def list_tables(prefix: str, include_dropped: bool) -> bytes:
    b = bodies.new_builder()
    start = b.CreateString(prefix)
    q = ListTablesRequest
    q.Start(b)
    q.AddPrefix(b, start)
    q.AddIncludeDropped(b, include_dropped)
    return bodies.finish(b, q.End(b), b"QLST")


def rule_history(table: str, family: str) -> bytes:
    b = bodies.new_builder()
    names = b.CreateString(table), b.CreateString(family)
    RuleHistoryRequest.Start(b)
    RuleHistoryRequest.AddTable(b, names[0])
    RuleHistoryRequest.AddFamily(b, names[1])
    return bodies.finish(b, RuleHistoryRequest.End(b), b"QRUL")


def undo_rule(table: str, family: str, expected_version: int) -> bytes:
    b = bodies.new_builder()
    names = b.CreateString(table), b.CreateString(family)
    UndoRuleRequest.Start(b)
    UndoRuleRequest.AddTable(b, names[0])
    UndoRuleRequest.AddFamily(b, names[1])
    UndoRuleRequest.AddExpectedVersion(b, expected_version)
    return bodies.finish(b, UndoRuleRequest.End(b), b"QUND")


def preview_rule(
    table: str,
    family: str,
    rule: Rule,
    samples: int,
    approximate: bool,
    progress: bool,
    close_oldest_undo_window: bool,
) -> bytes:
    b = bodies.new_builder()
    names = b.CreateString(table), b.CreateString(family)
    nodes = bodies.struct_vector(b, RULE.size, rule_nodes(rule))
    q = PreviewRuleRequest
    q.Start(b)
    q.AddTable(b, names[0])
    q.AddFamily(b, names[1])
    q.AddRule(b, nodes)
    q.AddSamples(b, samples)
    q.AddApproximate(b, approximate)
    q.AddProgress(b, progress)
    q.AddCloseOldestUndoWindow(b, close_oldest_undo_window)
    return bodies.finish(b, q.End(b), b"QPRV")
