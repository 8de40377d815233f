"""Tables: families, retention rules, options, and what the node tells of them. Numbers `*_us` are microseconds."""
from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Optional

from cellar.indexes import Index
from cellar.times import Duration, checked_int64, seconds_text, span_us


class RuleKind(enum.IntEnum):
    """Kinds of rule nodes, with their numbers on the wire. KEEP_EVERYTHING has no node."""

    KEEP_EVERYTHING = 0
    MAX_VERSIONS = 1
    MAX_AGE = 2
    UNION = 3
    INTERSECTION = 4


@dataclass(frozen=True)
class Rule:
    """A retention rule: when the cells of a family die. A tree, built by `max_age`, `max_versions`, `any_of`, `all_of`.

        max_age(timedelta(days=2)) | max_versions(3)      dead if either holds (union)
        max_age(timedelta(days=2)) & max_versions(3)      dead if both hold (intersection)

    value: versions, or microseconds.
    """

    kind: RuleKind
    value: int = 0
    parts: tuple[Rule, ...] = ()

    def __or__(self, other: Rule) -> Rule:
        return any_of(self, other)

    def __and__(self, other: Rule) -> Rule:
        return all_of(self, other)

    def __str__(self) -> str:
        """As the command line writes it."""
        if self.kind is RuleKind.KEEP_EVERYTHING:
            return "keep everything"
        if self.kind is RuleKind.MAX_VERSIONS:
            return f"maxversions={self.value}"
        if self.kind is RuleKind.MAX_AGE:
            return f"maxage={seconds_text(self.value)}"
        word = " or " if self.kind is RuleKind.UNION else " and "
        return word.join(f"({part})" if part.parts else str(part) for part in self.parts)


KEEP_EVERYTHING = Rule(RuleKind.KEEP_EVERYTHING)
"""The absence of a rule: no cell dies by age or number."""


def max_age(age: Duration) -> Rule:
    """A cell is dead when it is older than this; at exactly this age it is alive. At least 1 ms."""
    return Rule(RuleKind.MAX_AGE, span_us(age))


def max_versions(count: int) -> Rule:
    """A cell is dead when `count` or more newer versions of its column are alive. At least 1."""
    return Rule(RuleKind.MAX_VERSIONS, checked_int64(count, "a number of versions"))


def any_of(*parts: Rule) -> Rule:
    """Union: dead if any part says so."""
    return Rule(RuleKind.UNION, 0, _flat(RuleKind.UNION, parts))


def all_of(*parts: Rule) -> Rule:
    """Intersection: dead if every part says so."""
    return Rule(RuleKind.INTERSECTION, 0, _flat(RuleKind.INTERSECTION, parts))


def _flat(kind: RuleKind, parts: tuple[Rule, ...]) -> tuple[Rule, ...]:
    """`a | b | c` is one node with three parts."""
    if any(p.kind is RuleKind.KEEP_EVERYTHING for p in parts):
        raise ValueError("KEEP_EVERYTHING is no part of a rule")
    return tuple(inner for p in parts for inner in (p.parts if p.kind is kind else (p,)))


class TimestampMeaning(enum.IntEnum):
    """What a timestamp of a family means: when the value was true, when it dies, or a number of the writer."""

    TIME = 0
    EXPIRY = 1
    SEQUENCE = 2


class BornDead(enum.IntEnum):
    """Whether a write that is dead on arrival is refused."""

    REFUSE = 0
    ACCEPT = 1


class Profile(enum.IntEnum):
    """Defaults of a table that resemble those of another system."""

    NONE = 0
    BIGTABLE = 1
    TABLESTORE = 2


class Granularity(enum.IntEnum):
    """The required multiple of a table's timestamps."""

    MILLIS = 0
    MICROS = 1


class Durability(enum.IntEnum):
    """When a write is answered: when it is on disk; soon to be on disk; in memory alone."""

    SYNC = 0
    PERIODIC = 1
    MEMORY = 2


class Compression(enum.IntEnum):
    """Of the blocks of files."""

    NONE = 0
    LZ4 = 1


class Compaction(enum.IntEnum):
    """How the runs of a tablet to merge are chosen."""

    AUTOMATIC = 0
    LEVELLED = 1
    TIME_WINDOW = 2


class BottomCompression(enum.IntEnum):
    """Of files with no older data below."""

    AUTOMATIC = 0
    SAME = 1
    ZSTD = 2


@dataclass(frozen=True)
class WriteWindow:
    """Which timestamps a family accepts: from `now - past` to before `now + future`. None: unbounded on that side."""

    past: Optional[Duration] = None
    future: Optional[Duration] = None
    whole_seconds: bool = False


@dataclass(frozen=True)
class Family:
    """A column family. None: the default at creation, unchanged in an alteration.

    rule: a rule, or KEEP_EVERYTHING.
    undo_window: for how long a tightened rule can be undone; 0: not at all.
    Descriptions have the durations in microseconds; there `born_dead_from_profile` and `window_from_profile` say that
    no request has set the part.
    """

    name: str
    rule: Optional[Rule] = None
    timestamps: Optional[TimestampMeaning] = None
    born_dead: Optional[BornDead] = None
    window: Optional[WriteWindow] = None
    undo_window: Optional[Duration] = None
    born_dead_from_profile: bool = False
    window_from_profile: bool = False


@dataclass(frozen=True)
class TableOptions:
    """Options of a table. None: the default at creation, unchanged in an alteration.

    reclaim_within: within which time dead bytes leave the disk.
    dead_slack: which share of the live bytes may stay dead. reclaim_share: of the disk's write rate.
    """

    durability: Optional[Durability] = None
    compression: Optional[Compression] = None
    block_bytes: Optional[int] = None
    reclaim_within: Optional[Duration] = None
    dead_slack: Optional[float] = None
    reclaim_share: Optional[float] = None
    compaction: Optional[Compaction] = None
    bottom_compression: Optional[BottomCompression] = None


@dataclass(frozen=True)
class TabletDescription:
    """A tablet: the rows from `start` to before `end`; empty: the start or the end of the table."""

    tablet_id: int
    epoch: int
    start: bytes
    end: bytes
    shard: int


@dataclass(frozen=True)
class UndoWindow:
    """A change of a family's rule that can still be undone.

    replaced: the rule before. changed_us: when it was changed. until_us: the trusted time at which undo ends.
    """

    family: str
    replaced: Rule
    changed_us: int
    until_us: int


@dataclass(frozen=True)
class TableDescription:
    """A table. `version` is that of its schema; families and indexes by name, tablets by start, undo windows newest
    first."""

    name: str
    table_id: int
    version: int
    granularity: Granularity
    profile: Profile
    families: tuple[Family, ...]
    options: TableOptions
    tablets: tuple[TabletDescription, ...]
    undo_windows: tuple[UndoWindow, ...]
    indexes: tuple[Index, ...] = ()

    def family(self, name: str) -> Family:
        """The family of this name. KeyError: there is none."""
        for family in self.families:
            if family.name == name:
                return family
        raise KeyError(name)


@dataclass(frozen=True)
class TableSummary:
    """A table in a list.

    Of a dropped one: dropped_us: when; restorable_until_us: up to which trusted time it can be restored; bytes: about
    what it holds.
    """

    name: str
    table_id: int
    tablets: int
    families: int
    dropped: bool = False
    dropped_us: int = 0
    restorable_until_us: int = 0
    bytes: int = 0


@dataclass(frozen=True)
class RuleEra:
    """A rule and the time during which it was in force.

    since_us: 0: as far back as is remembered. until_us: 0: it is in force. undo_until_us: until when the change that
    began it can be undone; 0: it cannot.
    """

    rule: Rule
    since_us: int
    until_us: int
    undo_until_us: int


@dataclass(frozen=True)
class RuleHistory:
    """The rules that a family had, newest first; the first one is in force.

    version: of the table's schema. undo_window_us: of changes to come. now_us: the node's trusted time.
    """

    version: int
    eras: tuple[RuleEra, ...]
    undo_window_us: int
    now_us: int


@dataclass(frozen=True)
class PreviewCounts:
    """Cells, bytes of their keys and values (uncompressed), and rows that lose at least one cell."""

    cells: int
    bytes: int
    rows: int


@dataclass(frozen=True)
class PreviewProgress(PreviewCounts):
    """What a preview has counted so far. rows_about: rows of the table by its files; rows in several count
    repeatedly."""

    rows_seen: int
    rows_about: int


@dataclass(frozen=True)
class Preview(PreviewCounts):
    """What a rule would hide or kill of the cells that can be read now.

    samples: keys of rows that lose a cell. cells_seen, rows_seen: what was looked at.
    undo_window_us: for how long loosening the rule restores all of it; 0: it dies at once.
    approximate: the counts are estimates between `least` and `most`.
    """

    samples: tuple[bytes, ...]
    cells_seen: int
    rows_seen: int
    undo_window_us: int
    approximate: bool
    least: PreviewCounts
    most: PreviewCounts


@dataclass(frozen=True)
class SplitPoint:
    """A boundary in a table: the key (empty: the end of the table) and the bytes before it."""

    key: bytes
    bytes_before: int
