"""Secondary indexes: definitions, and what the node tells of them. Numbers `*_us` are microseconds."""
from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Optional

from cellar.cells import Bytes
from cellar.times import Duration


class IndexPart(enum.IntEnum):
    """A part of the key of an index, which is the order of its answers."""

    VALUE = 1
    TIME = 2
    """The timestamp, newest first."""
    QUALIFIER = 3


class IndexType(enum.IntEnum):
    """The order of values: as bytes, or as signed 64-bit big-endian integers (`int64`); a value that is not 8 bytes is
    not in such an index."""

    BYTES = 0
    INT64 = 1


class IndexMatch(enum.IntEnum):
    """Which living versions of a column are found: the newest, or any."""

    NEWEST = 0
    ANY = 1


class TighterBase(enum.IntEnum):
    """What happens to a rule that kills by age before the index's own age: it is accepted, or refused."""

    FOLLOW = 0
    REFUSE = 1


@dataclass(frozen=True)
class Index:
    """The definition of an index.

        Index("by_user", "f", "user", (IndexPart.VALUE, IndexPart.TIME), max_age=timedelta(days=1))

    family, qualifier: the column whose cells are found; qualifier None: every column of the family.
    order: VALUE, or VALUE and TIME, of a column; TIME; QUALIFIER and TIME of a family. None: VALUE of a column, TIME of
    a family. type: of values; None: bytes.
    covered: (family, qualifier) pairs, whose newest living cell comes with each hit.
    max_age: older cells are not found; None: no such bound. Descriptions have it in microseconds.
    tighter_base: None: the default of the table's profile.
    """

    name: str
    family: str
    qualifier: Optional[Bytes] = None
    order: Optional[tuple[IndexPart, ...]] = None
    type: Optional[IndexType] = None
    match: IndexMatch = IndexMatch.NEWEST
    covered: tuple[tuple[str, Bytes], ...] = ()
    max_age: Optional[Duration] = None
    tighter_base: Optional[TighterBase] = None


class _Unchanged(enum.Enum):
    UNCHANGED = 0


UNCHANGED = _Unchanged.UNCHANGED
"""As `max_age` of `alter_index`: it stays. None would take the own age away."""
AgeChange = Optional[Duration] | _Unchanged


@dataclass(frozen=True)
class IndexDescription:
    """An index and its state.

    ready: reads through it are answered. done_bytes, total_bytes: of the table, those whose cells are entered, and all.
    entries: on disk, those of dead and replaced cells included. bytes: what they take. skipped: of an INT64 index,
    cells on disk whose value is not 8 bytes.
    """

    index: Index
    ready: bool
    done_bytes: int
    total_bytes: int
    entries: int
    bytes: int
    skipped: int
