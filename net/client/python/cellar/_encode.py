"""Requests on rows as bodies: pure functions. The caller gives tables a handle, so no body here names one."""
from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from typing import Any, Optional

from cellar import _bodies as bodies
from cellar._bodies import Arena
from cellar._schema import (
    Bind,
    CheckAndMutateRowRequest,
    Credit,
    DropRowRangeRequest,
    HelloRequest,
    MutateRowRequest,
    MutateRowsRequest,
    PingRequest,
    ReadModifyWriteRowRequest,
    ReadRowRequest,
    ReadRowsRequest,
    SampleRowKeysRequest,
    Span,
)
from cellar._schema import Token as WireToken
from cellar._schema.ModifyKind import ModifyKind
from cellar._schema.MutationFlag import MutationFlag
from cellar._schema.RangeFlag import RangeFlag
from cellar.cells import RowRange, to_bytes
from cellar.filter import Filter, FilterKind
from cellar.mutation import ModifyRule, Mutation, MutationKind, Operation, Token
from cellar.tables import Durability

MUTATION = struct.Struct("<qqIIIIIIBBHI")
ENTRY = struct.Struct("<IIIIqII")
MODIFY = struct.Struct("<qIIIIIIBBHI")
FILTER = struct.Struct("<qqdIIIIIIIBBH")
RANGE = struct.Struct("<IIIIBBH")
SPAN = struct.Struct("<II")
GET = struct.Struct("<IHH")
COLUMN = struct.Struct("<HBB")
PUT = struct.Struct("<HHBBH")
PUT_CELL = struct.Struct("<qqIHBB")
TABLE_DEFAULT = 255
MAX_U8, MAX_U16, MAX_U32 = 2**8 - 1, 2**16 - 1, 2**32 - 1
SAME_FAMILY, SAME_COLUMN = 0x40, 0x80
MAX_VERSIONS_OF_GET = MAX_U32

Column = tuple[str, bytes]


def hello(client_name: str, client_id: bytes, token: bytes) -> bytes:
    b = bodies.new_builder()
    name = b.CreateString(client_name)
    identity = bodies.byte_vector(b, client_id) if client_id else 0
    proof = bodies.byte_vector(b, token) if token else 0
    HelloRequest.Start(b)
    HelloRequest.AddClientName(b, name)
    if identity:
        HelloRequest.AddClientId(b, identity)
    if proof:
        HelloRequest.AddAuthToken(b, proof)
    return bodies.finish(b, HelloRequest.End(b), b"QHEL")


def bind(table: str) -> bytes:
    b = bodies.new_builder()
    name = b.CreateString(table)
    Bind.Start(b)
    Bind.AddTable(b, name)
    return bodies.finish(b, Bind.End(b), b"QBND")


def credit(chunks: int) -> bytes:
    b = bodies.new_builder(64)
    Credit.Start(b)
    Credit.AddChunks(b, chunks)
    return bodies.finish(b, Credit.End(b), b"QCRD")


def ping(echo: bytes) -> bytes:
    b = bodies.new_builder()
    vector = bodies.byte_vector(b, echo)
    PingRequest.Start(b)
    PingRequest.AddEcho(b, vector)
    return bodies.finish(b, PingRequest.End(b), b"QPNG")


# ---- writes ----


def _records(arena: Arena, operations: Iterable[Operation]) -> bytes:
    packed = bytearray()
    family, family_span = None, (0, 0)
    for op in operations:
        if op.kind is not MutationKind.DELETE_ROW and op.family != family:
            family, family_span = op.family, arena.add(op.family)
        qualifier = arena.add(op.qualifier)
        value = arena.add(op.value)
        at = until = flags = 0
        if op.timestamp_us is not None:
            at, flags = op.timestamp_us, flags | MutationFlag.HasTimestamp
        if op.expire_at_us is not None:
            until, flags = op.expire_at_us, flags | MutationFlag.HasExpireAt
        if op.ttl_us is not None:
            until, flags = op.ttl_us, flags | MutationFlag.HasTtl
        if op.start_us is not None:
            at, flags = op.start_us, flags | MutationFlag.HasStart
        if op.end_us is not None:
            until, flags = op.end_us, flags | MutationFlag.HasEnd
        place = (0, 0) if op.kind is MutationKind.DELETE_ROW else family_span
        column = qualifier if op.kind in (MutationKind.SET, MutationKind.DELETE_COLUMN) else (0, 0)
        content = value if op.kind is MutationKind.SET else (0, 0)
        packed += MUTATION.pack(at, until, *place, *column, *content, op.kind, flags, 0, 0)
    return bytes(packed)


def _token(b: Any, token: Token | None) -> int:
    if token is None:
        return 0
    text = bodies.byte_vector(b, token.token)
    WireToken.Start(b)
    WireToken.AddToken(b, text)
    WireToken.AddIssuedUs(b, token.issued_us)
    return int(WireToken.End(b))


def _durability(durability: Durability | None) -> int:
    return TABLE_DEFAULT if durability is None else int(durability)


def fits_put(mutation: Mutation) -> bool:
    """Whether the mutation has cells alone, within the sizes of the fixed layout."""
    operations = mutation.operations
    return (
        0 < len(operations) <= MAX_U16
        and len(mutation.row) <= MAX_U16
        and all(
            op.kind is MutationKind.SET
            and len(op.family) <= MAX_U8
            and len(op.qualifier) <= MAX_U16
            and len(op.value) <= MAX_U32
            for op in operations
        )
    )


def put(mutation: Mutation, durability: Durability | None) -> bytes:
    """The fixed layout of a mutation that `fits_put`."""
    row, operations = mutation.row, mutation.operations
    body = bytearray(PUT.pack(len(row), len(operations), _durability(durability), 0, 0)) + row
    family, qualifier = b"", None  # of the cell before
    for op in operations:
        flags = 0
        if op.timestamp_us is not None:
            flags |= MutationFlag.HasTimestamp
        until = 0
        if op.expire_at_us is not None:
            until, flags = op.expire_at_us, flags | MutationFlag.HasExpireAt
        if op.ttl_us is not None:
            until, flags = op.ttl_us, flags | MutationFlag.HasTtl
        names = op.family + op.qualifier
        sizes = len(op.qualifier), len(op.family)
        if qualifier is not None and op.family == family:
            if op.qualifier == qualifier:
                flags, names, sizes = flags | SAME_COLUMN, b"", (0, 0)
            else:
                flags, names, sizes = flags | SAME_FAMILY, op.qualifier, (len(op.qualifier), 0)
        family, qualifier = op.family, op.qualifier
        body += PUT_CELL.pack(op.timestamp_us or 0, until, len(op.value), *sizes, flags)
        body += names
        body += op.value
    return bytes(body)


def mutate_row(mutation: Mutation, durability: Durability | None, token: Token | None) -> bytes:
    arena = Arena()
    row = arena.add(mutation.row)
    packed = _records(arena, mutation.operations)
    b = bodies.new_builder(len(arena.bytes) + len(packed) + 256)
    mutations = bodies.struct_vector(b, MUTATION.size, packed)
    content = bodies.byte_vector(b, arena.bytes)
    proof = _token(b, token)
    MutateRowRequest.Start(b)
    MutateRowRequest.AddRow(b, Span.CreateSpan(b, *row))
    MutateRowRequest.AddMutations(b, mutations)
    MutateRowRequest.AddArena(b, content)
    MutateRowRequest.AddDurability(b, _durability(durability))
    if proof:
        MutateRowRequest.AddToken(b, proof)
    return bodies.finish(b, MutateRowRequest.End(b), b"QMUR")


def mutate_rows(mutations: Sequence[Mutation], durability: Durability | None, tokens: Sequence[Token | None]) -> bytes:
    arena = Arena()
    entries, packed = bytearray(), bytearray()
    for mutation, token in zip(mutations, tokens):
        row = arena.add(mutation.row)
        packed += _records(arena, mutation.operations)
        proof = arena.add(token.token) if token else (0, 0)
        entries += ENTRY.pack(*row, *proof, token.issued_us if token else 0, len(mutation.operations), 0)
    b = bodies.new_builder(len(arena.bytes) + len(packed) + len(entries) + 256)
    entry_vector = bodies.struct_vector(b, ENTRY.size, bytes(entries))
    mutation_vector = bodies.struct_vector(b, MUTATION.size, bytes(packed))
    content = bodies.byte_vector(b, arena.bytes)
    MutateRowsRequest.Start(b)
    MutateRowsRequest.AddEntries(b, entry_vector)
    MutateRowsRequest.AddMutations(b, mutation_vector)
    MutateRowsRequest.AddArena(b, content)
    MutateRowsRequest.AddDurability(b, _durability(durability))
    return bodies.finish(b, MutateRowsRequest.End(b), b"QMRS")


def request_bytes(mutation: Mutation) -> int:
    """About how many bytes a mutation takes in a request."""
    return (
        len(mutation.row)
        + ENTRY.size
        + sum(MUTATION.size + len(op.family) + len(op.qualifier) + len(op.value) for op in mutation.operations)
    )


def check_and_mutate(
    row: bytes,
    condition: Filter | None,
    then: Iterable[Operation],
    otherwise: Iterable[Operation],
    durability: Durability | None,
    token: Token | None,
) -> bytes:
    arena = Arena()
    key = arena.add(row)
    nodes = filter_nodes(arena, condition) if condition is not None else b""
    then_records, else_records = _records(arena, then), _records(arena, otherwise)
    b = bodies.new_builder(len(arena.bytes) + 1024)
    filter_vector = bodies.struct_vector(b, FILTER.size, nodes) if condition is not None else 0
    then_vector = bodies.struct_vector(b, MUTATION.size, then_records)
    else_vector = bodies.struct_vector(b, MUTATION.size, else_records)
    content = bodies.byte_vector(b, arena.bytes)
    proof = _token(b, token)
    q = CheckAndMutateRowRequest
    q.Start(b)
    q.AddRow(b, Span.CreateSpan(b, *key))
    if filter_vector:
        q.AddFilter(b, filter_vector)
    q.AddThenMutations(b, then_vector)
    q.AddElseMutations(b, else_vector)
    q.AddArena(b, content)
    q.AddDurability(b, _durability(durability))
    if proof:
        q.AddToken(b, proof)
    return bodies.finish(b, q.End(b), b"QCAM")


def read_modify_write(
    row: bytes, rules: Sequence[ModifyRule], durability: Durability | None, token: Token | None
) -> bytes:
    arena = Arena()
    key = arena.add(row)
    packed = bytearray()
    for rule in rules:
        family, qualifier = arena.add(rule.family.encode()), arena.add(rule.qualifier)
        if rule.append is not None:
            packed += MODIFY.pack(0, *family, *qualifier, *arena.add(rule.append), ModifyKind.Append, 0, 0, 0)
        else:
            packed += MODIFY.pack(rule.increment_by, *family, *qualifier, 0, 0, ModifyKind.Increment, 0, 0, 0)
    b = bodies.new_builder(len(arena.bytes) + len(packed) + 256)
    rule_vector = bodies.struct_vector(b, MODIFY.size, bytes(packed))
    content = bodies.byte_vector(b, arena.bytes)
    proof = _token(b, token)
    q = ReadModifyWriteRowRequest
    q.Start(b)
    q.AddRow(b, Span.CreateSpan(b, *key))
    q.AddRules(b, rule_vector)
    q.AddArena(b, content)
    q.AddDurability(b, _durability(durability))
    if proof:
        q.AddToken(b, proof)
    return bodies.finish(b, q.End(b), b"QRMW")


def drop_row_range(prefix: bytes | None, start: bytes | None, end: bytes | None, token: Token | None) -> bytes:
    b = bodies.new_builder()
    vectors = [None if part is None else bodies.byte_vector(b, part) for part in (prefix, start, end)]
    proof = _token(b, token)
    q = DropRowRangeRequest
    q.Start(b)
    for vector, add in zip(vectors, (q.AddPrefix, q.AddStart, q.AddEnd)):
        if vector is not None:
            add(b, vector)
    if proof:
        q.AddToken(b, proof)
    return bodies.finish(b, q.End(b), b"QDRR")


# ---- reads ----


def filter_nodes(arena: Arena, tree: Filter) -> bytes:
    """The tree in pre-order."""
    packed = bytearray()
    pending = [tree]
    while pending:
        f = pending.pop()
        flags = 0
        a = b = c = (0, 0)
        start, end = f.start_us or 0, f.end_us or 0
        if f.text or f.kind in _WORDED:
            a = arena.add(f.text)
        if f.kind is FilterKind.COLUMN_RANGE:
            c = arena.add(f.family_name.encode())
        if f.start is not None:
            a, flags = arena.add(f.start), flags | RangeFlag.HasStart | (RangeFlag.StartOpen if f.start_open else 0)
        if f.end is not None:
            b, flags = arena.add(f.end), flags | RangeFlag.HasEnd | (RangeFlag.EndClosed if f.end_closed else 0)
        if f.start_us is not None:
            flags |= RangeFlag.HasStart
        if f.end_us is not None:
            flags |= RangeFlag.HasEnd
        if f.kind in _COUNTED:
            start = f.count
        flags |= (RangeFlag.HasThen if f.has_then else 0) | (RangeFlag.HasElse if f.has_else else 0)
        packed += FILTER.pack(start, end, f.sample, *a, *b, *c, len(f.children), f.kind, flags, 0)
        pending.extend(reversed(f.children))
    return bytes(packed)


_WORDED = frozenset(
    (FilterKind.ROW_REGEX, FilterKind.FAMILY_REGEX, FilterKind.QUALIFIER_REGEX, FilterKind.VALUE_REGEX,
     FilterKind.VALUE_BITMASK, FilterKind.LABEL)
)  # fmt: skip
_COUNTED = frozenset((FilterKind.CELLS_PER_ROW_OFFSET, FilterKind.CELLS_PER_ROW, FilterKind.CELLS_PER_COLUMN))


def get(row: bytes, versions: int, columns: Sequence[Column]) -> bytes:
    """The fixed layout of a read of one row."""
    names = [(family.encode(), qualifier) for family, qualifier in columns]
    return b"".join(
        [
            GET.pack(versions, len(row), len(names)),
            *(COLUMN.pack(len(qualifier), len(family), 0) for family, qualifier in names),
            row,
            *(family + qualifier for family, qualifier in names),
        ]
    )


def read_row(row: bytes, selection: Filter | None, explain: bool, include_dead: bool, with_expiry: bool) -> bytes:
    arena = Arena()
    key = arena.add(row)
    nodes = filter_nodes(arena, selection) if selection is not None else b""
    b = bodies.new_builder(len(arena.bytes) + len(nodes) + 256)
    filter_vector = bodies.struct_vector(b, FILTER.size, nodes) if selection is not None else 0
    content = bodies.byte_vector(b, arena.bytes)
    q = ReadRowRequest
    q.Start(b)
    q.AddRow(b, Span.CreateSpan(b, *key))
    if filter_vector:
        q.AddFilter(b, filter_vector)
    q.AddArena(b, content)
    q.AddExplain(b, explain)
    q.AddIncludeDead(b, include_dead)
    q.AddWithExpiry(b, with_expiry)
    return bodies.finish(b, q.End(b), b"QRDR")


def read_rows(
    keys: Sequence[bytes],
    ranges: Sequence[RowRange],
    selection: Filter | None,
    row_limit: int,
    reversed_order: bool,
    explain: bool,
    include_dead: bool,
    with_expiry: bool,
    credits: int,
) -> bytes:
    arena = Arena()
    key_spans = b"".join(SPAN.pack(*arena.add(key)) for key in keys)
    packed = b"".join(packed_range(arena, r) for r in ranges)
    nodes = filter_nodes(arena, selection) if selection is not None else b""
    b = bodies.new_builder(len(arena.bytes) + len(packed) + len(nodes) + len(key_spans) + 256)
    key_vector = bodies.struct_vector(b, SPAN.size, key_spans) if keys else 0
    range_vector = bodies.struct_vector(b, RANGE.size, packed) if ranges else 0
    filter_vector = bodies.struct_vector(b, FILTER.size, nodes) if nodes else 0
    content = bodies.byte_vector(b, arena.bytes)
    q = ReadRowsRequest
    q.Start(b)
    if key_vector:
        q.AddKeys(b, key_vector)
    if range_vector:
        q.AddRanges(b, range_vector)
    if filter_vector:
        q.AddFilter(b, filter_vector)
    q.AddArena(b, content)
    q.AddRowLimit(b, row_limit)
    q.AddReversed(b, reversed_order)
    q.AddExplain(b, explain)
    q.AddIncludeDead(b, include_dead)
    q.AddCredits(b, credits)
    q.AddWithExpiry(b, with_expiry)
    return bodies.finish(b, q.End(b), b"QRRS")


def sample_row_keys() -> bytes:
    b = bodies.new_builder(64)
    SampleRowKeysRequest.Start(b)
    return bodies.finish(b, SampleRowKeysRequest.End(b), b"QSRK")


def packed_range(arena: Arena, bounds: RowRange) -> bytes:
    start = _bound(arena, bounds.start)
    end = _bound(arena, bounds.end)
    flags = 0
    if bounds.start is not None:
        flags |= RangeFlag.HasStart | (RangeFlag.StartOpen if bounds.start_open else 0)
    if bounds.end is not None:
        flags |= RangeFlag.HasEnd | (RangeFlag.EndClosed if bounds.end_closed else 0)
    return RANGE.pack(*start, *end, flags, 0, 0)


def _bound(arena: Arena, bound: Optional[bytes | str]) -> tuple[int, int]:
    return (0, 0) if bound is None else arena.add(to_bytes(bound))
