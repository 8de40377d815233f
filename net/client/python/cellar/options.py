"""Options of a client."""
from __future__ import annotations

import datetime
import re
import ssl
from dataclasses import dataclass, field
from typing import Optional, Union

from cellar._frames import HINT_BYTES
from cellar.retry import RetryOptions
from cellar.version import __version__

Timeout = Union[float, datetime.timedelta, None]
"""Seconds, or a timedelta; None: no bound."""

CLIENT_TIMEOUT = -1.0
"""The timeout of the client's options."""
DEFAULT_ADDRESS = "127.0.0.1:7420"
DEFAULT_PORT = 7420
MAX_CLIENT_ID_BYTES = 64


@dataclass(frozen=True)
class ClientOptions:
    """Options of `Client` and `AsyncClient`, which take them as keyword arguments.

    address: "HOST:PORT" or "[IPV6]:PORT"; without a port: 7420.
    tls: an ssl.SSLContext; True: one that trusts the system's authorities; None: plain text.
    server_name: expected name in the node's certificate; empty: the address's host.
    token: of a principal. token_file: a file whose first line is the token; it is read for every connection, and takes
    precedence. A token is never sent in plain text to another machine.
    client_name: for the node's logs. client_id: namespace of idempotency tokens, at most 64 bytes; empty: random.
    routing_hint: 8 bytes from which a proxy may choose the node; None: random.
    connect_timeout: for connecting, TLS and the hello in total.
    timeout: of data operations, all attempts included. admin_timeout: of operations on tables. Scans have none.
    wait_for_connection: False: if a node cannot be reached, calls fail at once. True: they wait until their timeout,
    and so survive a restart of the node.
    draw_tokens: gives every write a token, so that it can always be retried safely. A node remembers a bounded number.
    sole_writer: the caller's guarantee that no other write touches the rows of a call before it has ended; then cells
    with given timestamps and no ttl, deletes and drop_row_range are retried without a token.
    keepalive: if a call waits and nothing was received for this long, the node is pinged; after the same time again the
    connection is lost.
    max_in_flight: requests of one connection that wait for an answer (AsyncClient); the node may permit fewer.
    """

    address: str = DEFAULT_ADDRESS
    tls: Union[ssl.SSLContext, bool, None] = None
    server_name: str = ""
    token: str = field(default="", repr=False)
    token_file: str = ""
    client_name: str = f"cellar-python/{__version__}"
    client_id: bytes = b""
    routing_hint: Optional[bytes] = None
    connect_timeout: Timeout = 5.0
    timeout: Timeout = 10.0
    admin_timeout: Timeout = 300.0
    wait_for_connection: bool = False
    draw_tokens: bool = False
    sole_writer: bool = False
    keepalive: float = 15.0
    max_in_flight: int = 128
    retry: RetryOptions = RetryOptions()

    def __post_init__(self) -> None:
        address_of(self.address)
        if len(self.client_id) > MAX_CLIENT_ID_BYTES:
            raise ValueError(f"client_id has {len(self.client_id)} bytes, at most {MAX_CLIENT_ID_BYTES} are allowed")
        if self.routing_hint is not None and len(self.routing_hint) != HINT_BYTES:
            raise ValueError(f"routing_hint has {HINT_BYTES} bytes, not {len(self.routing_hint)}")
        if self.max_in_flight < 1:
            raise ValueError("max_in_flight is at least 1")
        if self.keepalive <= 0:
            raise ValueError("keepalive is more than 0 s")


_ADDRESS = re.compile(r"(?:\[(?P<v6>[^\[\]]+)\]|(?P<name>[^:\[\]]+))(?::(?P<port>[0-9]{1,5}))?")


def seconds(timeout: Timeout) -> float | None:
    return timeout.total_seconds() if isinstance(timeout, datetime.timedelta) else timeout


def address_of(text: str) -> tuple[str, int]:
    """Host and port of "HOST:PORT", "[IPV6]:PORT" or "HOST"."""
    match = _ADDRESS.fullmatch(text)
    host, port = (match["v6"] or match["name"], match["port"] or str(DEFAULT_PORT)) if match else ("", "0")
    if not 0 < int(port) < 2**16:
        raise ValueError(f"an address is HOST:PORT, not {text!r}")
    return host, int(port)
