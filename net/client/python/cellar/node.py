"""The node: what it tells of itself. Numbers `*_us` are microseconds."""
from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Pong:
    """The answer to a ping. now_us: the node's trusted clock. echo: the bytes of the ping."""

    now_us: int
    echo: bytes


@dataclass(frozen=True)
class Limits:
    """Bounds that the node states in its hello. 0: not stated.

    frame_bytes: of one request or answer. row_bytes: of one row mutation. chunk_bytes: what a chunk of a read is filled
    to. chunk_credits: chunks that it sends ahead.
    """

    frame_bytes: int = 0
    cell_bytes: int = 0
    row_bytes: int = 0
    row_key_bytes: int = 0
    qualifier_bytes: int = 0
    mutations_per_row: int = 0
    in_flight: int = 0
    chunk_bytes: int = 0
    chunk_credits: int = 0


@dataclass(frozen=True)
class Hello:
    """The answer to the hello of a connection.

    version: of the protocol. shard: the one that serves the connection. now_us: the trusted clock at the hello.
    advertise: address of the node itself; empty: not stated. instance: drawn at the node's start.
    """

    version: int
    server_version: str
    shard: int
    shards: int
    limits: Limits
    now_us: int
    features: frozenset[str]
    advertise: str
    instance: int


@dataclass(frozen=True)
class ShardStats:
    """Figures of a shard. The counters count from the node's start."""

    tablets: int
    tables_on_disk: int
    table_bytes: int
    log_bytes: int
    memtable_bytes: int
    cache_bytes: int
    metadata_bytes: int
    commits: int
    flushes: int
    compactions: int
    torn_tail_bytes: int
    replayed_commits: int
    read_only: bool
    connections: int
    requests: int
    requests_handed_over: int


@dataclass(frozen=True)
class ServerInfo:
    """The state of a node.

    now_us: trusted time; wall_us: wall clock; held_us: how far the wall clock is ahead of trusted time. lag_us: how far
    trusted time lags because no anchor could be written. stands: trusted time does not advance until the next start.
    stats: one per shard.
    """

    version: str
    shards: int
    io_backend: str
    io_reason: str
    uptime_us: int
    now_us: int
    wall_us: int
    held_us: int
    lag_us: int
    stands: bool
    data_dir: str
    stats: tuple[ShardStats, ...]
