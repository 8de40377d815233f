"""Mutations: changes of one row."""
from __future__ import annotations

import enum
import secrets
from dataclasses import dataclass
from typing import Optional

from cellar.cells import Bytes, to_bytes
from cellar.times import Duration, Timestamp, checked_int64, span_us, to_us

TOKEN_BYTES = 16
"""Length of a drawn token."""
MAX_TOKEN_BYTES = 64


@dataclass(frozen=True, slots=True)
class Token:
    """Makes a repetition of a write harmless: the node applies writes with one token once.

    token: 1 to 64 bytes. It belongs to the principal, the client id, the table and the row.
    issued_us: when the write was first sent, by the node's clock (`Pong.now_us`), in microseconds. 0: the client states
    it at the first attempt.
    """

    token: bytes
    issued_us: int = 0

    def __post_init__(self) -> None:
        if not 1 <= len(self.token) <= MAX_TOKEN_BYTES:
            raise ValueError(f"a token has 1 to {MAX_TOKEN_BYTES} bytes, not {len(self.token)}")

    @staticmethod
    def draw() -> Token:
        """A random one."""
        return Token(secrets.token_bytes(TOKEN_BYTES))


class MutationKind(enum.IntEnum):
    """Kinds of operations, with their numbers on the wire."""

    SET = 1
    DELETE_COLUMN = 2
    DELETE_FAMILY = 3
    DELETE_ROW = 4


@dataclass(frozen=True, slots=True)
class Operation:
    """One operation of a mutation; times in microseconds."""

    kind: MutationKind
    family: bytes = b""
    qualifier: bytes = b""
    value: bytes = b""
    timestamp_us: Optional[int] = None
    ttl_us: Optional[int] = None
    expire_at_us: Optional[int] = None
    start_us: Optional[int] = None
    end_us: Optional[int] = None


class Mutation:
    """Changes of one row, which apply atomically and in the order of the calls.

        Mutation("user7").set("click", "page", "/home", ttl=timedelta(hours=1)).delete_column("click", "draft")

    The node validates it: a mutation with anything invalid in it changes nothing.
    """

    def __init__(self, row: Bytes, *, token: Token | None = None) -> None:
        self.row = to_bytes(row)
        self.token = token
        self.operations: list[Operation] = []

    def set(
        self,
        family: str,
        qualifier: Bytes,
        value: Bytes,
        *,
        timestamp: Timestamp | None = None,
        ttl: Duration | None = None,
        expire_at: Timestamp | None = None,
    ) -> Mutation:
        """Writes a cell. Replaces the cell that has the same timestamp, its expiry included.

        timestamp: None: the server stamps the cell.
        ttl: how long the cell lives, from the commit. expire_at: when it dies. At most one of them; it takes the place
        of every max_age in the rule of the family.
        """
        if ttl is not None and expire_at is not None:
            raise ValueError("a cell has a ttl or an expire_at, not both")
        self.operations.append(
            Operation(
                MutationKind.SET,
                family.encode(),
                to_bytes(qualifier),
                to_bytes(value),
                timestamp_us=None if timestamp is None else to_us(timestamp),
                ttl_us=None if ttl is None else span_us(ttl),
                expire_at_us=None if expire_at is None else to_us(expire_at),
            )
        )
        return self

    def delete_column(
        self, family: str, qualifier: Bytes, *, start: Timestamp | None = None, end: Timestamp | None = None
    ) -> Mutation:
        """Deletes the versions of a column with timestamps in [start, end); None: unbounded."""
        self.operations.append(
            Operation(
                MutationKind.DELETE_COLUMN,
                family.encode(),
                to_bytes(qualifier),
                start_us=None if start is None else to_us(start),
                end_us=None if end is None else to_us(end),
            )
        )
        return self

    def delete_family(self, family: str) -> Mutation:
        """Deletes the cells of a family."""
        self.operations.append(Operation(MutationKind.DELETE_FAMILY, family.encode()))
        return self

    def delete_row(self) -> Mutation:
        """Deletes the row."""
        self.operations.append(Operation(MutationKind.DELETE_ROW))
        return self

    def same_if_repeated(self) -> bool:
        """Whether a second application has the same result if nobody else writes: deletes and cells with given
        timestamps and no ttl."""
        return all(
            op.kind is not MutationKind.SET or (op.timestamp_us is not None and op.ttl_us is None)
            for op in self.operations
        )

    def __repr__(self) -> str:
        return f"Mutation({self.row!r}, {len(self.operations)} operations)"


@dataclass(frozen=True, slots=True)
class ModifyRule:
    """A rule of `read_modify_write`. Built by `increment` and `append`."""

    family: str
    qualifier: bytes
    append: Optional[bytes] = None
    increment_by: int = 0


def increment(family: str, qualifier: Bytes, by: int = 1) -> ModifyRule:
    """Adds to a counter: 8 bytes, big-endian, see `int64`. A missing cell counts as 0."""
    return ModifyRule(family, to_bytes(qualifier), None, checked_int64(by, "an increment"))


def append(family: str, qualifier: Bytes, value: Bytes) -> ModifyRule:
    """Appends to a value. A missing cell counts as empty."""
    return ModifyRule(family, to_bytes(qualifier), to_bytes(value))


@dataclass(frozen=True, slots=True)
class Committed:
    """The answer to a write.

    commit_stamp_ns: nanoseconds; 0: nothing was committed, or it is not known (repeated).
    timestamp_us: of the cells that the server stamped, microseconds.
    matched: of `check_and_mutate`: whether the condition held.
    repeated: the token was known; this is the first answer again. answer_not_kept: only its success is still known.
    """

    commit_stamp_ns: int
    timestamp_us: int
    repeated: bool = False
    answer_not_kept: bool = False
    matched: bool = False
