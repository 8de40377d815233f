"""Filter: which cells of a row a read returns, or whether a condition holds.

    Filter.chain(Filter.family("install"), Filter.cells_per_column(1))

A tree; the node judges it after deletes, retention and expiry, so no filter makes a dead cell visible. Patterns are RE2
regular expressions over bytes that match the whole input. At most 20 levels and 20 KiB.
"""
from __future__ import annotations

import enum
import re
from dataclasses import dataclass
from typing import Optional

from cellar.cells import Bytes, to_bytes
from cellar.times import Timestamp, checked_int64, to_us


class FilterKind(enum.IntEnum):
    """Kinds of filters, with their numbers on the wire."""

    PASS_ALL = 1
    BLOCK_ALL = 2
    SINK = 3
    CHAIN = 4
    INTERLEAVE = 5
    CONDITION = 6
    ROW_REGEX = 7
    ROW_SAMPLE = 8
    FAMILY_REGEX = 9
    QUALIFIER_REGEX = 10
    COLUMN_RANGE = 11
    TIMESTAMP_RANGE = 12
    VALUE_REGEX = 13
    VALUE_RANGE = 14
    VALUE_BITMASK = 15
    CELLS_PER_ROW_OFFSET = 16
    CELLS_PER_ROW = 17
    CELLS_PER_COLUMN = 18
    STRIP_VALUE = 19
    LABEL = 20


@dataclass(frozen=True)
class Filter:
    """A node of a filter. Built by the functions below."""

    kind: FilterKind
    children: tuple[Filter, ...] = ()
    has_then: bool = False
    has_else: bool = False
    text: bytes = b""
    family_name: str = ""
    start: Optional[bytes] = None
    end: Optional[bytes] = None
    start_open: bool = False
    end_closed: bool = False
    start_us: Optional[int] = None
    end_us: Optional[int] = None
    count: int = 0
    sample: float = 0.0

    @staticmethod
    def pass_all() -> Filter:
        """Every cell."""
        return Filter(FilterKind.PASS_ALL)

    @staticmethod
    def block_all() -> Filter:
        """No cell."""
        return Filter(FilterKind.BLOCK_ALL)

    @staticmethod
    def sink() -> Filter:
        """Sends the cells to the result past the rest of the enclosing chains."""
        return Filter(FilterKind.SINK)

    @staticmethod
    def chain(*parts: Filter) -> Filter:
        """The cells that pass each part in turn."""
        return Filter(FilterKind.CHAIN, parts)

    @staticmethod
    def interleave(*parts: Filter) -> Filter:
        """The cells that pass at least one part; a cell that passes several is returned several times."""
        return Filter(FilterKind.INTERLEAVE, parts)

    @staticmethod
    def condition(predicate: Filter, then: Filter | None = None, otherwise: Filter | None = None) -> Filter:
        """`then` if the predicate lets a cell of the row pass, else `otherwise`. None: no cells."""
        branches = tuple(b for b in (then, otherwise) if b is not None)
        return Filter(FilterKind.CONDITION, (predicate, *branches), then is not None, otherwise is not None)

    @staticmethod
    def row_regex(pattern: Bytes) -> Filter:
        """Rows whose key matches."""
        return Filter(FilterKind.ROW_REGEX, text=to_bytes(pattern))

    @staticmethod
    def row_sample(share: float) -> Filter:
        """A random share of the rows, between 0 and 1."""
        return Filter(FilterKind.ROW_SAMPLE, sample=float(share))

    @staticmethod
    def family_regex(pattern: Bytes) -> Filter:
        """Families whose name matches."""
        return Filter(FilterKind.FAMILY_REGEX, text=to_bytes(pattern))

    @staticmethod
    def family(name: str) -> Filter:
        """The family of this name."""
        return Filter.family_regex(re.escape(name))

    @staticmethod
    def qualifier_regex(pattern: Bytes) -> Filter:
        """Columns whose qualifier matches."""
        return Filter(FilterKind.QUALIFIER_REGEX, text=to_bytes(pattern))

    @staticmethod
    def column(family: str, qualifier: Bytes) -> Filter:
        """One column."""
        return Filter.column_range(family, qualifier, qualifier, end_closed=True)

    @staticmethod
    def column_range(
        family: str,
        start: Bytes | None = None,
        end: Bytes | None = None,
        *,
        start_open: bool = False,
        end_closed: bool = False,
    ) -> Filter:
        """Columns of one family with qualifiers from `start` to `end`; None: unbounded."""
        return Filter(
            FilterKind.COLUMN_RANGE,
            family_name=family,
            start=None if start is None else to_bytes(start),
            end=None if end is None else to_bytes(end),
            start_open=start_open,
            end_closed=end_closed,
        )

    @staticmethod
    def timestamp_range(start: Timestamp | None = None, end: Timestamp | None = None) -> Filter:
        """Cells with timestamps in [start, end), microseconds or datetimes; None: unbounded."""
        return Filter(
            FilterKind.TIMESTAMP_RANGE,
            start_us=None if start is None else to_us(start),
            end_us=None if end is None else to_us(end),
        )

    @staticmethod
    def value_regex(pattern: Bytes) -> Filter:
        """Cells whose value matches."""
        return Filter(FilterKind.VALUE_REGEX, text=to_bytes(pattern))

    @staticmethod
    def value_range(
        start: Bytes | None = None, end: Bytes | None = None, *, start_open: bool = False, end_closed: bool = False
    ) -> Filter:
        """Cells whose value lies between `start` and `end`, as bytes; None: unbounded."""
        return Filter(
            FilterKind.VALUE_RANGE,
            start=None if start is None else to_bytes(start),
            end=None if end is None else to_bytes(end),
            start_open=start_open,
            end_closed=end_closed,
        )

    @staticmethod
    def value_bitmask(mask: Bytes) -> Filter:
        """Cells whose value has the length of the mask, and every bit of the mask set."""
        return Filter(FilterKind.VALUE_BITMASK, text=to_bytes(mask))

    @staticmethod
    def cells_per_row_offset(count: int) -> Filter:
        """Skips the first `count` cells of each row."""
        return Filter(FilterKind.CELLS_PER_ROW_OFFSET, count=checked_int64(count, "a count"))

    @staticmethod
    def cells_per_row(count: int) -> Filter:
        """The first `count` cells of each row."""
        return Filter(FilterKind.CELLS_PER_ROW, count=checked_int64(count, "a count"))

    @staticmethod
    def cells_per_column(count: int) -> Filter:
        """The newest `count` cells of each column."""
        return Filter(FilterKind.CELLS_PER_COLUMN, count=checked_int64(count, "a count"))

    @staticmethod
    def strip_value() -> Filter:
        """The cells with empty values."""
        return Filter(FilterKind.STRIP_VALUE)

    @staticmethod
    def label(name: str) -> Filter:
        """Adds a label to the cells that pass, see `Cell.labels`."""
        return Filter(FilterKind.LABEL, text=to_bytes(name))
