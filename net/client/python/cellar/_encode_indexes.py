"""Requests on indexes as bodies: pure functions."""
from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any

from cellar import _bodies as bodies
from cellar._bodies import Arena
from cellar._encode import FILTER, RANGE, SPAN, filter_nodes, packed_range
from cellar._schema import (
    AlterIndexRequest,
    CreateIndexRequest,
    DropIndexRequest,
    IndexSpec,
    RangeRec,
    ReadIndexRequest,
    Span,
    TimeRangeRec,
)
from cellar._schema.RangeFlag import RangeFlag
from cellar.cells import RowRange, to_bytes
from cellar.filter import Filter
from cellar.indexes import UNCHANGED, AgeChange, Index, IndexPart, TighterBase
from cellar.times import span_us

COLUMN = struct.Struct("<IIII")


def _spec(b: Any, index: Index) -> int:
    order = index.order
    if order is None:
        order = (IndexPart.TIME if index.qualifier is None else IndexPart.VALUE,)
    arena = Arena()
    columns = b"".join(
        COLUMN.pack(*arena.add(family.encode()), *arena.add(to_bytes(qualifier))) for family, qualifier in index.covered
    )
    name, family = b.CreateString(index.name), b.CreateString(index.family)
    qualifier = None if index.qualifier is None else bodies.byte_vector(b, to_bytes(index.qualifier))
    parts = bodies.byte_vector(b, bytes(order))
    covered = bodies.struct_vector(b, COLUMN.size, columns) if columns else 0
    content = bodies.byte_vector(b, arena.bytes)
    q = IndexSpec
    q.Start(b)
    q.AddName(b, name)
    q.AddFamily(b, family)
    if qualifier is not None:
        q.AddQualifier(b, qualifier)
    q.AddParts(b, parts)
    if index.type is not None:
        q.AddType(b, int(index.type))
    q.AddMatch(b, int(index.match))
    if covered:
        q.AddCovered(b, covered)
        q.AddArena(b, content)
    if index.max_age is not None:
        q.AddMaxAgeUs(b, span_us(index.max_age))
    if index.tighter_base is not None:
        q.AddTighterBase(b, int(index.tighter_base))
    return int(q.End(b))


def create_index(table: str, index: Index) -> bytes:
    b = bodies.new_builder()
    name = b.CreateString(table)
    spec = _spec(b, index)
    CreateIndexRequest.Start(b)
    CreateIndexRequest.AddTable(b, name)
    CreateIndexRequest.AddIndex(b, spec)
    return bodies.finish(b, CreateIndexRequest.End(b), b"QCIX")


def alter_index(table: str, name: str, max_age: AgeChange, tighter_base: TighterBase | None) -> bytes:
    b = bodies.new_builder()
    names = b.CreateString(table), b.CreateString(name)
    q = AlterIndexRequest
    q.Start(b)
    q.AddTable(b, names[0])
    q.AddName(b, names[1])
    if max_age is not UNCHANGED:
        q.AddMaxAgeGiven(b, True)
        if max_age is not None:
            q.AddMaxAgeUs(b, span_us(max_age))
    if tighter_base is not None:
        q.AddTighterBase(b, int(tighter_base))
    return bodies.finish(b, q.End(b), b"QAIX")


def drop_index(table: str, name: str) -> bytes:
    b = bodies.new_builder()
    names = b.CreateString(table), b.CreateString(name)
    DropIndexRequest.Start(b)
    DropIndexRequest.AddTable(b, names[0])
    DropIndexRequest.AddName(b, names[1])
    return bodies.finish(b, DropIndexRequest.End(b), b"QXIX")


def read_index(
    index: str,
    value: bytes | None,
    values: RowRange | None,
    qualifier: bytes | None,
    qualifiers: RowRange | None,
    start_us: int | None,
    end_us: int | None,
    keys: Sequence[bytes],
    ranges: Sequence[RowRange],
    whole_rows: bool,
    selection: Filter | None,
    limit: int | None,
    reversed_order: bool,
    explain: bool,
    after: bytes,
    credits: int,
) -> bytes:
    arena = Arena()
    parts = [None if part is None else arena.add(part) for part in (value, qualifier)]
    bounds = [None if part is None else RANGE.unpack(packed_range(arena, part)) for part in (values, qualifiers)]
    key_spans = b"".join(SPAN.pack(*arena.add(key)) for key in keys)
    row_ranges = b"".join(packed_range(arena, part) for part in ranges)
    nodes = filter_nodes(arena, selection) if selection is not None else b""
    b = bodies.new_builder(len(arena.bytes) + len(nodes) + len(key_spans) + len(row_ranges) + 256)
    name = b.CreateString(index)
    key_vector = bodies.struct_vector(b, SPAN.size, key_spans) if keys else 0
    range_vector = bodies.struct_vector(b, RANGE.size, row_ranges) if ranges else 0
    filter_vector = bodies.struct_vector(b, FILTER.size, nodes) if nodes else 0
    content = bodies.byte_vector(b, arena.bytes)
    place = bodies.byte_vector(b, after) if after else 0
    q = ReadIndexRequest
    q.Start(b)
    q.AddIndex(b, name)
    for span, add in zip(parts, (q.AddValue, q.AddQualifier)):
        if span is not None:
            add(b, Span.CreateSpan(b, *span))
    for bound, add in zip(bounds, (q.AddValues, q.AddQualifiers)):
        if bound is not None:
            add(b, RangeRec.CreateRangeRec(b, *bound))
    if start_us is not None or end_us is not None:
        flags = (RangeFlag.HasStart if start_us is not None else 0) | (RangeFlag.HasEnd if end_us is not None else 0)
        q.AddTime(b, TimeRangeRec.CreateTimeRangeRec(b, start_us or 0, end_us or 0, flags, 0, 0, 0))
    if key_vector:
        q.AddKeys(b, key_vector)
    if range_vector:
        q.AddRanges(b, range_vector)
    q.AddArena(b, content)
    q.AddWholeRows(b, whole_rows)
    if filter_vector:
        q.AddFilter(b, filter_vector)
    if limit is not None:
        q.AddLimit(b, limit)
    q.AddReversed(b, reversed_order)
    q.AddCredits(b, credits)
    if place:
        q.AddAfter(b, place)
    q.AddExplain(b, explain)
    return bodies.finish(b, q.End(b), b"QRIX")
