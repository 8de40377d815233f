"""Reads of many rows without their transport, which can be resumed behind the last whole row."""
from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import ClassVar

from cellar import _decode, _encode, _encode_indexes
from cellar._frames import broken
from cellar._schema.Op import Op
from cellar.cells import Row, RowRange, to_bytes
from cellar.filter import Filter

CREDITS = 8
"""Chunks, of about 64 KiB, that the node sends ahead."""


@dataclass(kw_only=True)
class Stream:
    """What is left of a read of many rows. attempts: in vain since the last whole row. dials: attempts to connect that
    failed, in a row. followed: since the last whole row another node was asked because the first one named it."""

    op: ClassVar[int]

    table: str
    deadline: float | None = None
    attempts: int = 0
    dials: int = 0
    followed: bool = False
    _assembler: _decode.RowAssembler = field(default_factory=_decode.RowAssembler)
    _rows: int = 0  # whole ones of the running request

    def needs(self) -> tuple[str, ...]:
        """Features that the node must have."""
        raise NotImplementedError

    def body(self) -> bytes:
        """The request for what is left. REQUIRES: `resume`, if it was sent before."""
        self._assembler = _decode.RowAssembler()
        self._rows = 0
        return self._request()

    def feed(self, body: bytes) -> list[Row]:
        """The rows that a chunk completes."""
        rows = self._assembler.feed(body)
        if rows:
            self.followed = False
            self._rows += len(rows)
            self._note(rows[-1])
            self.attempts = 0
        return rows

    def end(self, body: bytes) -> None:
        """The stream ended. INTERNAL: amid a row, or after another number of rows than the node sent."""
        if self._assembler.in_row:
            raise broken("a read ended in the middle of a row")
        rows, _ = _decode.read_end(body)
        if rows != self._rows:
            raise broken(f"a read of {rows} rows had {self._rows}")

    def resume(self) -> bool:
        """Reduces the read to what is behind the last whole row. False: nothing is left."""
        rows, self._rows = self._rows, 0
        return not rows or self._reduce(rows)

    def _request(self) -> bytes:
        raise NotImplementedError

    def _note(self, last: Row) -> None:
        """`last` is the last whole row of the running request so far."""
        raise NotImplementedError

    def _reduce(self, rows: int) -> bool:
        """Behind so many whole rows."""
        raise NotImplementedError


@dataclass(kw_only=True)
class Scan(Stream):
    """A read of rows in the order of their keys, which resumes behind a key."""

    op = Op.ReadRows

    keys: list[bytes]
    ranges: list[RowRange]
    selection: Filter | None
    row_limit: int
    reversed_order: bool
    explain: bool
    include_dead: bool
    with_expiry: bool
    _last: bytes = b""  # key of the last whole row

    def needs(self) -> tuple[str, ...]:
        wanted = (
            ("explain", self.explain),
            ("include_dead", self.include_dead),
            ("with_expiry", self.with_expiry),
            ("reversed", self.reversed_order),
        )
        return tuple(name for name, asked in wanted if asked)

    def _request(self) -> bytes:
        return _encode.read_rows(
            self.keys, self.ranges, self.selection, self.row_limit, self.reversed_order, self.explain,
            self.include_dead, self.with_expiry, CREDITS,
        )  # fmt: skip

    def _note(self, last: Row) -> None:
        self._last = last.key

    def _reduce(self, rows: int) -> bool:
        if self.row_limit:
            if rows >= self.row_limit:
                return False
            self.row_limit -= rows
        if not self.keys and not self.ranges:
            self.ranges = [RowRange()]
        last, backwards = self._last, self.reversed_order
        self.keys = [k for k in self.keys if (k < last if backwards else k > last)]
        clipped = (clip(r, last, backwards) for r in self.ranges)
        self.ranges = [r for r in clipped if r is not None]
        return bool(self.keys or self.ranges)


@dataclass(kw_only=True)
class IndexScan(Stream):
    """A read through an index: each hit is a row, also of the same key. It resumes behind the position of a hit."""

    op = Op.ReadIndex

    index: str
    value: bytes | None
    values: RowRange | None
    qualifier: bytes | None
    qualifiers: RowRange | None
    start_us: int | None
    end_us: int | None
    keys: list[bytes]
    ranges: list[RowRange]
    whole_rows: bool
    selection: Filter | None
    limit: int | None
    reversed_order: bool
    explain: bool
    after: bytes = b""
    _position: bytes = b""  # of the last whole hit

    def needs(self) -> tuple[str, ...]:
        return ("indexes",)

    def _request(self) -> bytes:
        return _encode_indexes.read_index(
            self.index, self.value, self.values, self.qualifier, self.qualifiers, self.start_us, self.end_us, self.keys,
            self.ranges, self.whole_rows, self.selection, self.limit, self.reversed_order, self.explain, self.after,
            CREDITS,
        )  # fmt: skip

    def _note(self, last: Row) -> None:
        if not self._assembler.position:
            raise broken(f"hits of index '{self.index}' without their position")
        self._position = self._assembler.position

    def _reduce(self, rows: int) -> bool:
        if self.limit is not None:
            if rows >= self.limit:
                return False
            self.limit -= rows
        self.after = self._position
        return True


def clip(rows: RowRange, last: bytes, backwards: bool) -> RowRange | None:
    """The part of the range behind `last` in the direction of the read; None: nothing is left."""
    start = None if rows.start is None else to_bytes(rows.start)
    end = None if rows.end is None else to_bytes(rows.end)
    if backwards:
        if start is not None and start >= last:
            return None
        return rows if end is not None and end < last else replace(rows, end=last, end_closed=False)
    if end is not None and end <= last:
        return None
    return rows if start is not None and start > last else replace(rows, start=last, start_open=True)


def ranges_of(ranges: Iterable[RowRange]) -> list[RowRange]:
    return [range_of(r) for r in ranges]


def range_of(bounds: RowRange) -> RowRange:
    """The range with its bounds as bytes."""
    return replace(
        bounds,
        start=None if bounds.start is None else to_bytes(bounds.start),
        end=None if bounds.end is None else to_bytes(bounds.end),
    )
