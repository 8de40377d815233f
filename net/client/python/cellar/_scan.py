"""Scan: a read of many rows without its transport, which can be resumed behind the last whole row."""
from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from cellar import _decode, _encode
from cellar._frames import broken
from cellar.cells import Row, RowRange, to_bytes
from cellar.filter import Filter

CREDITS = 8
"""Chunks, of about 64 KiB, that the node sends ahead."""


@dataclass
class Scan:
    """What is left of a scan. attempts: in vain since the last whole row. dials: attempts to connect that failed, in a
    row. followed: since the last whole row another node was asked because the first one named it."""

    table: str
    keys: list[bytes]
    ranges: list[RowRange]
    selection: Filter | None
    row_limit: int
    reversed_order: bool
    explain: bool
    include_dead: bool
    with_expiry: bool
    deadline: float | None = None
    attempts: int = 0
    dials: int = 0
    followed: bool = False
    _assembler: _decode.RowAssembler = field(default_factory=_decode.RowAssembler)
    _rows: int = 0  # whole ones of the running request
    _last: bytes = b""  # key of the last of them

    def needs(self) -> tuple[str, ...]:
        """Features that the node must have."""
        wanted = (
            ("explain", self.explain),
            ("include_dead", self.include_dead),
            ("with_expiry", self.with_expiry),
            ("reversed", self.reversed_order),
        )
        return tuple(name for name, asked in wanted if asked)

    def body(self) -> bytes:
        """The request for what is left. REQUIRES: `resume`, if it was sent before."""
        self._assembler = _decode.RowAssembler()
        self._rows = 0
        return _encode.read_rows(
            self.keys, self.ranges, self.selection, self.row_limit, self.reversed_order, self.explain,
            self.include_dead, self.with_expiry, CREDITS,
        )  # fmt: skip

    def feed(self, body: bytes) -> list[Row]:
        """The rows that a chunk completes."""
        rows = self._assembler.feed(body)
        if rows:
            self.followed = False
            self._rows += len(rows)
            self._last = rows[-1].key
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
        """Reduces the scan to the rows behind the last whole one. False: nothing is left."""
        rows, self._rows = self._rows, 0
        if not rows:
            return True
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
    return [
        replace(
            r,
            start=None if r.start is None else to_bytes(r.start),
            end=None if r.end is None else to_bytes(r.end),
        )
        for r in ranges
    ]
