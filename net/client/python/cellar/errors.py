"""Errors: what a call raises, and what is known about its effect.

Every error of an operation is a `CellarError` of the subclass of its code. Wrong arguments that the client itself
notices (a negative limit, a naive datetime) are `ValueError` and `TypeError`, before anything is sent.
"""
from __future__ import annotations

import enum


class Code(enum.IntEnum):
    """Canonical gRPC status numbers."""

    OK = 0
    CANCELLED = 1
    UNKNOWN = 2
    INVALID_ARGUMENT = 3
    DEADLINE_EXCEEDED = 4
    NOT_FOUND = 5
    ALREADY_EXISTS = 6
    PERMISSION_DENIED = 7
    RESOURCE_EXHAUSTED = 8
    FAILED_PRECONDITION = 9
    ABORTED = 10
    OUT_OF_RANGE = 11
    UNIMPLEMENTED = 12
    INTERNAL = 13
    UNAVAILABLE = 14
    DATA_LOSS = 15
    UNAUTHENTICATED = 16


class Applied(enum.IntEnum):
    """What became of a request that failed."""

    NOT_APPLIED = 0
    MAYBE_APPLIED = 1
    APPLIED = 2


class CellarError(Exception):
    """A call failed.

    code: the canonical status.
    applied: NOT_APPLIED only if it is certain that the request had no effect.
    message: names the offending thing and the bound that it broke.
    retry_after_ms: after how long a retry can help, in milliseconds; None: a retry cannot help.
    owner: "HOST:PORT" of the node that has the table, if another one has it; otherwise None.
    """

    def __init__(
        self,
        code: Code,
        message: str,
        applied: Applied = Applied.NOT_APPLIED,
        retry_after_ms: int | None = None,
        owner: str | None = None,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.applied = applied
        self.message = message
        self.retry_after_ms = retry_after_ms
        self.owner = owner

    def __str__(self) -> str:
        return f"{self.code.name}: {self.message} ({self.applied.name.lower().replace('_', ' ')})"


class Cancelled(CellarError):
    """The request was cancelled."""


class InvalidArgument(CellarError):
    """The request is malformed or contradicts the table."""


class DeadlineExceeded(CellarError):
    """The timeout of the call passed."""


class NotFound(CellarError):
    """There is no such table, family or tablet."""


class AlreadyExists(CellarError):
    """A table of this name exists."""


class PermissionDenied(CellarError):
    """The principal lacks a role for this."""


class ResourceExhausted(CellarError):
    """A bound of the node or of the client is reached."""


class FailedPrecondition(CellarError):
    """The state of the table or the node does not allow it."""


class Aborted(CellarError):
    """A concurrent change came first, or another node has the table."""


class OutOfRange(CellarError):
    """A timestamp is outside the write window, or the cell would be born dead."""


class Unimplemented(CellarError):
    """The node does not support it."""


class Internal(CellarError):
    """An invariant is broken; also an answer of the node that breaks the protocol."""


class Unavailable(CellarError):
    """The node cannot be reached, or does not serve now."""


class DataLoss(CellarError):
    """Stored data is damaged."""


class Unauthenticated(CellarError):
    """The node requires a valid token or certificate."""


class PartlyFailed(CellarError):
    """Some entries of a `mutate_rows` failed; all others were applied.

    failures: the error of each failed entry, by its index in the request. `code` and `message` are those of the first.
    """

    def __init__(self, failures: dict[int, CellarError], entries: int) -> None:
        first = failures[min(failures)]
        untouched = len(failures) == entries and all(e.applied is Applied.NOT_APPLIED for e in failures.values())
        super().__init__(
            first.code,
            f"{len(failures)} of {entries} rows failed; row {min(failures)}: {first.message}",
            Applied.NOT_APPLIED if untouched else Applied.MAYBE_APPLIED,
        )
        self.failures = failures


_CLASSES: dict[Code, type[CellarError]] = {
    Code.CANCELLED: Cancelled,
    Code.INVALID_ARGUMENT: InvalidArgument,
    Code.DEADLINE_EXCEEDED: DeadlineExceeded,
    Code.NOT_FOUND: NotFound,
    Code.ALREADY_EXISTS: AlreadyExists,
    Code.PERMISSION_DENIED: PermissionDenied,
    Code.RESOURCE_EXHAUSTED: ResourceExhausted,
    Code.FAILED_PRECONDITION: FailedPrecondition,
    Code.ABORTED: Aborted,
    Code.OUT_OF_RANGE: OutOfRange,
    Code.UNIMPLEMENTED: Unimplemented,
    Code.INTERNAL: Internal,
    Code.UNAVAILABLE: Unavailable,
    Code.DATA_LOSS: DataLoss,
    Code.UNAUTHENTICATED: Unauthenticated,
}


def error_of(
    code: int,
    message: str,
    applied: int = Applied.NOT_APPLIED,
    retry_after_ms: int | None = None,
    owner: str | None = None,
) -> CellarError:
    """The error of the class that belongs to the code. An unknown code is UNKNOWN, an unknown outcome *maybe
    applied*."""
    known = Code(code) if code in Code.__members__.values() else Code.UNKNOWN
    outcome = Applied(applied) if applied in Applied.__members__.values() else Applied.MAYBE_APPLIED
    return _CLASSES.get(known, CellarError)(known, message, outcome, retry_after_ms, owner)
