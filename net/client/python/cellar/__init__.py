"""A client of the Cellar storage node: rows, column families, and versions that age.

    from datetime import timedelta
    import cellar

    with cellar.Client("127.0.0.1:7420") as client:
        client.create_table("events", {"click": cellar.max_age(timedelta(days=2))})
        client.mutate_row("events", cellar.Mutation("user7").set("click", "page", "/home"))
        for row in client.read_rows("events", prefix="user"):
            for cell in row:
                print(row.key, cell.family, cell.qualifier, cell.timestamp, cell.value)

`Client` blocks; `AsyncClient` has the same methods as coroutines. Times are microseconds since 1970, or datetimes with
a time zone; durations are microseconds, or timedeltas; timeouts are seconds. Keys, qualifiers and values are bytes; a
str stands for its UTF-8.
"""
from cellar.async_client import AsyncClient
from cellar.cells import Bytes, Cell, DeathCause, Explanation, Row, RowRange, int64
from cellar.client import Client
from cellar.errors import (
    Aborted,
    AlreadyExists,
    Applied,
    Cancelled,
    CellarError,
    Code,
    DataLoss,
    DeadlineExceeded,
    FailedPrecondition,
    Internal,
    InvalidArgument,
    NotFound,
    OutOfRange,
    PartlyFailed,
    PermissionDenied,
    ResourceExhausted,
    Unauthenticated,
    Unavailable,
    Unimplemented,
)
from cellar.filter import Filter
from cellar.indexes import UNCHANGED, Index, IndexDescription, IndexMatch, IndexPart, IndexType, TighterBase
from cellar.mutation import Committed, ModifyRule, Mutation, Token, append, increment
from cellar.node import Hello, Limits, Pong, ServerInfo, ShardStats
from cellar.options import ClientOptions
from cellar.retry import RetryOptions
from cellar.tables import (
    KEEP_EVERYTHING,
    BornDead,
    BottomCompression,
    Compaction,
    Compression,
    Durability,
    Family,
    Granularity,
    Preview,
    PreviewCounts,
    PreviewProgress,
    Profile,
    Rule,
    RuleEra,
    RuleHistory,
    SplitPoint,
    TableDescription,
    TableOptions,
    TableSummary,
    TabletDescription,
    TimestampMeaning,
    UndoWindow,
    WriteWindow,
    all_of,
    any_of,
    max_age,
    max_versions,
)
from cellar.times import NEVER_US, Duration, Timestamp, to_datetime, to_us
from cellar.version import __version__

__all__ = [
    "__version__",
    "Aborted",
    "AlreadyExists",
    "Applied",
    "AsyncClient",
    "BornDead",
    "BottomCompression",
    "Bytes",
    "Cancelled",
    "Cell",
    "CellarError",
    "Client",
    "ClientOptions",
    "Code",
    "Committed",
    "Compaction",
    "Compression",
    "DataLoss",
    "DeadlineExceeded",
    "DeathCause",
    "Durability",
    "Duration",
    "Explanation",
    "FailedPrecondition",
    "Family",
    "Filter",
    "Granularity",
    "Hello",
    "Index",
    "IndexDescription",
    "IndexMatch",
    "IndexPart",
    "IndexType",
    "Internal",
    "InvalidArgument",
    "KEEP_EVERYTHING",
    "Limits",
    "ModifyRule",
    "Mutation",
    "NEVER_US",
    "NotFound",
    "OutOfRange",
    "PartlyFailed",
    "PermissionDenied",
    "Pong",
    "Preview",
    "PreviewCounts",
    "PreviewProgress",
    "Profile",
    "ResourceExhausted",
    "RetryOptions",
    "Row",
    "RowRange",
    "Rule",
    "RuleEra",
    "RuleHistory",
    "ServerInfo",
    "ShardStats",
    "SplitPoint",
    "TableDescription",
    "TableOptions",
    "TableSummary",
    "TabletDescription",
    "TighterBase",
    "Timestamp",
    "TimestampMeaning",
    "Token",
    "UNCHANGED",
    "Unauthenticated",
    "Unavailable",
    "UndoWindow",
    "Unimplemented",
    "WriteWindow",
    "all_of",
    "any_of",
    "append",
    "increment",
    "int64",
    "max_age",
    "max_versions",
    "to_datetime",
    "to_us",
]
