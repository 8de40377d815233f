"""The operations on indexes, as `_calls` describes the others."""
from __future__ import annotations

from collections.abc import Iterable

from cellar import _decode_admin, _decode_indexes, _encode_admin, _encode_indexes
from cellar._calls import Call, described, plain
from cellar._scan import IndexScan, range_of, ranges_of
from cellar._schema import DescribeIndexesRequest
from cellar._schema.Op import Op
from cellar.cells import Bytes, RowRange, prefix_end, to_bytes
from cellar.filter import Filter
from cellar.indexes import UNCHANGED, AgeChange, Index, IndexDescription, TighterBase
from cellar.options import CLIENT_TIMEOUT, Timeout
from cellar.tables import TableDescription
from cellar.times import Timestamp, to_us

FEATURE = "indexes"


def create_index(table: str, index: Index, *, timeout: Timeout = CLIENT_TIMEOUT) -> Call[TableDescription]:
    """Makes an index of a table. Writes are in it from then on. What is in the table already is entered in the
    background; reads through it are refused (FAILED_PRECONDITION) until `describe_indexes` says that it is ready."""
    return described(Op.CreateIndex, _encode_indexes.create_index(table, index), table, timeout, needs=(FEATURE,))


def alter_index(
    table: str,
    name: str,
    *,
    max_age: AgeChange = UNCHANGED,
    tighter_base: TighterBase | None = None,
    timeout: Timeout = CLIENT_TIMEOUT,
) -> Call[TableDescription]:
    """Changes the own age of an index (None: it has none from then on), or its answer to a tighter rule. What is not
    named stays. Where a longer age needs entries that have left the disk, the index is built again."""
    body = _encode_indexes.alter_index(table, name, max_age, tighter_base)
    return described(Op.AlterIndex, body, table, timeout, needs=(FEATURE,))


def drop_index(table: str, name: str, *, timeout: Timeout = CLIENT_TIMEOUT) -> Call[TableDescription]:
    """Removes an index; the table's cells stay."""
    return described(Op.DropIndex, _encode_indexes.drop_index(table, name), table, timeout, needs=(FEATURE,))


def describe_indexes(table: str, *, timeout: Timeout = CLIENT_TIMEOUT) -> Call[list[IndexDescription]]:
    """The indexes of a table, by name, and how far they are built."""
    body = _encode_admin.named(DescribeIndexesRequest, b"QDIX", table)
    return Call(
        plain(Op.DescribeIndexes, body),
        lambda a: _decode_indexes.describe_indexes(a.last),
        table,
        timeout=timeout,
        admin=True,
        needs=(FEATURE,),
    )


def read_index(
    table: str,
    index: str,
    *,
    value: Bytes | None = None,
    values: RowRange | None = None,
    qualifier: Bytes | None = None,
    qualifiers: RowRange | None = None,
    since: Timestamp | None = None,
    until: Timestamp | None = None,
    prefix: Bytes | None = None,
    keys: Iterable[Bytes] = (),
    ranges: Iterable[RowRange] = (),
    whole_rows: bool = False,
    filter: Filter | None = None,
    limit: int | None = None,
    reversed: bool = False,
    explain: bool = False,
) -> IndexScan:
    """Reads what an index finds, in its order. Each hit is one `Row`: the indexed cell, then its covered ones; so a key
    may come several times. All conditions hold together.

    value, values: the value is equal, or in the range; `int64(5)` for an INT64 index. qualifier, qualifiers: the same
    of the column. since, until: the timestamp is in [since, until).
    prefix, keys, ranges: only these rows, together if several are given.
    whole_rows: the whole row instead, each once, where its first hit stands. filter: of whole rows.
    limit: so many hits, or whole rows; None: all. reversed: the other way round.
    explain: also returns what is in the index and hidden from it; each cell tells what hides it (`Cell.explanation`).

    It includes every write that was acknowledged before it began. After a lost connection it resumes behind the last
    hit. It has no timeout. Leave it early with `close()` (`aclose()`), or by dropping the iterator.
    """
    chosen = ranges_of(ranges)
    if prefix is not None:
        first = to_bytes(prefix)
        chosen.append(RowRange(first, prefix_end(first)))
    return IndexScan(
        table=table,
        index=index,
        value=None if value is None else to_bytes(value),
        values=None if values is None else range_of(values),
        qualifier=None if qualifier is None else to_bytes(qualifier),
        qualifiers=None if qualifiers is None else range_of(qualifiers),
        start_us=None if since is None else to_us(since),
        end_us=None if until is None else to_us(until),
        keys=[to_bytes(key) for key in keys],
        ranges=chosen,
        whole_rows=whole_rows,
        selection=filter,
        limit=limit,
        reversed_order=reversed,
        explain=explain,
    )
