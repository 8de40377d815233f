"""Times: microseconds since 1970 (UTC), or the types of the standard library in their place."""
from __future__ import annotations

import datetime
from typing import Union

Timestamp = Union[int, datetime.datetime]
"""A point in time: microseconds since the Unix epoch (UTC), or a datetime with a time zone."""
Duration = Union[int, datetime.timedelta]
"""A length of time: microseconds, or a timedelta."""

NEVER_US = 2**63 - 1
"""The end of time on the wire: a cell with this expiry does not expire."""
EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)
_MICROSECOND = datetime.timedelta(microseconds=1)


def to_us(when: Timestamp) -> int:
    """Microseconds since the epoch. ValueError: a datetime without a time zone, or outside of 64 bits."""
    if isinstance(when, datetime.datetime):
        if when.tzinfo is None:
            raise ValueError(f"{when!r} has no time zone; use for example datetime.now(timezone.utc)")
        return (when - EPOCH) // _MICROSECOND
    return checked_int64(when, "a time")


def span_us(length: Duration) -> int:
    """Microseconds of a duration."""
    if isinstance(length, datetime.timedelta):
        return length // _MICROSECOND
    return checked_int64(length, "a duration")


def to_datetime(us: int) -> datetime.datetime:
    """The datetime (UTC) of a number of microseconds. OverflowError: beyond the year 9999."""
    return EPOCH + datetime.timedelta(microseconds=us)


def checked_int64(number: int, what: str) -> int:
    if isinstance(number, bool) or not isinstance(number, int):
        raise TypeError(f"{what} is an int of microseconds, not {type(number).__name__}")
    if not -(2**63) <= number < 2**63:
        raise ValueError(f"{what} has 64 bits: {number}")
    return number


def seconds_text(us: int) -> str:
    """A duration with the largest units that express it exactly: "2d", "90min", "1500us"."""
    for unit, size in (
        ("d", 86_400_000_000),
        ("h", 3_600_000_000),
        ("min", 60_000_000),
        ("s", 1_000_000),
        ("ms", 1_000),
    ):
        if us and us % size == 0:
            return f"{us // size}{unit}"
    return f"{us}us"
