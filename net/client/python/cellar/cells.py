"""Cells and rows: what reads return."""
from __future__ import annotations

import datetime
import enum
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Optional, Union

from cellar.times import NEVER_US, to_datetime

Bytes = Union[bytes, str]
"""Bytes of a key, a qualifier or a value; a str stands for its UTF-8."""

INT64 = struct.Struct(">q")


def to_bytes(value: Bytes) -> bytes:
    """The bytes of a key, a name or a value. TypeError: neither bytes nor str."""
    if isinstance(value, str):
        return value.encode()
    if isinstance(value, (bytes, bytearray, memoryview)):
        return bytes(value)
    raise TypeError(f"expected bytes or str, not {type(value).__name__}; see cellar.int64 for numbers")


def int64(number: int) -> bytes:
    """The value of a counter: 8 bytes, big-endian, as `read_modify_write` increments it."""
    return INT64.pack(number)


class DeathCause(enum.IntEnum):
    """Why a cell dies or died."""

    NONE = 0
    MAX_AGE = 1
    MAX_VERSIONS = 2
    EXPIRY = 3
    """The cell's own expiry."""
    DELETED = 4
    HIDDEN = 5
    """By a change of the rule that can still be undone."""
    OWN_AGE = 6
    """From an index alone: the cell is older than its own age."""
    NOT_NEWEST = 7
    """From an index alone: the column has a newer version."""
    REPLACED = 8
    """From an index alone: the version has another value now, or is gone."""


@dataclass(frozen=True, slots=True)
class Explanation:
    """When a cell dies if nothing more is written, or died.

    dies_at_us: from this time on it is not read, microseconds; NEVER_US: it lives on.
    cause: what kills it.
    dead: it is dead already, and its bytes are still stored.
    clause: pre-order index of the deciding node of the rule; None: none decides.
    """

    dies_at_us: int
    cause: DeathCause
    dead: bool
    clause: Optional[int]

    @property
    def dies_at(self) -> datetime.datetime | None:
        """The same as a datetime (UTC); None: never."""
        return None if self.dies_at_us >= NEVER_US else to_datetime(self.dies_at_us)


@dataclass(frozen=True, slots=True)
class Cell:
    """One version of a column.

    timestamp_us: microseconds since 1970.
    labels: of filters that label.
    expire_at_us: the cell's own expiry, microseconds; None: it has none, or the read did not ask (`with_expiry`).
    explanation: if the read asked (`explain`, `include_dead`).
    """

    family: str
    qualifier: bytes
    timestamp_us: int
    value: bytes
    labels: tuple[str, ...] = ()
    expire_at_us: Optional[int] = None
    explanation: Optional[Explanation] = None

    @property
    def timestamp(self) -> datetime.datetime:
        """The timestamp as a datetime (UTC). OverflowError: beyond the year 9999."""
        return to_datetime(self.timestamp_us)

    @property
    def text(self) -> str:
        """The value as UTF-8. UnicodeDecodeError: it is none."""
        return self.value.decode()

    @property
    def int64(self) -> int:
        """The value of a counter. ValueError: it has not 8 bytes."""
        if len(self.value) != INT64.size:
            raise ValueError(f"{self.family}:{self.qualifier!r} has {len(self.value)} bytes, a counter has 8")
        return int(INT64.unpack(self.value)[0])


@dataclass(frozen=True, slots=True)
class Row:
    """A row: its cells ordered by family, qualifier, and timestamp, newest first.

    repeated: of a write with a token: the write had been applied before, and this is its first answer.
    answer_not_kept: of `repeated`: only the success is still known, so `cells` is empty.
    runs, runs_opened: of an explained read of one row: the runs of its tablet on disk, and those that the same read
    without explanation opens, unless the row cache has its answer. Zeros: not known.
    commit_stamp_ns: of `read_modify_write`: nanoseconds; 0: not known (repeated).
    """

    key: bytes
    cells: tuple[Cell, ...]
    repeated: bool = False
    answer_not_kept: bool = False
    runs: int = 0
    runs_opened: int = 0
    commit_stamp_ns: int = 0

    def __iter__(self) -> Iterator[Cell]:
        return iter(self.cells)

    def __len__(self) -> int:
        return len(self.cells)

    def find(self, family: str, qualifier: Bytes) -> Cell | None:
        """The newest cell of a column; None: there is none."""
        return next(iter(self.versions(family, qualifier)), None)

    def versions(self, family: str, qualifier: Bytes) -> tuple[Cell, ...]:
        """The cells of a column, newest first."""
        name = to_bytes(qualifier)
        return tuple(c for c in self.cells if c.family == family and c.qualifier == name)


@dataclass(frozen=True, slots=True)
class RowRange:
    """Rows from `start` to `end`; None: unbounded. By default the start is included and the end is not."""

    start: Optional[Bytes] = None
    end: Optional[Bytes] = None
    start_open: bool = False
    end_closed: bool = False


def prefix_end(prefix: bytes) -> bytes | None:
    """The first key behind all keys with this prefix; None: there is none."""
    shortened = prefix.rstrip(b"\xff")
    return shortened[:-1] + bytes([shortened[-1] + 1]) if shortened else None
