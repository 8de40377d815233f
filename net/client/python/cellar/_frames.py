"""Frames: the bytes around the bodies (schema/PROTOCOL.md, "Preface", "Frames")."""
from __future__ import annotations

import enum
import struct
from dataclasses import dataclass

from cellar.errors import Applied, CellarError, error_of, Code

VERSION = 2
HEADER = struct.Struct("<IBBHIIII")
"""body_bytes, kind, op, flags, request_id, handle, deadline_ms, checksum"""
ALIGNMENT = 8
HINT_BYTES = 8
MAX_HANDLE = 1024
MAX_DEADLINE_MS = 2**32 - 1
ERROR_FLAG = 1
HELLO_BODY_BYTES = 1 << 20
"""Bound of a body that is received before the node has stated its own."""


class Kind(enum.IntEnum):
    """Kinds of frames."""

    REQUEST = 1
    REPLY = 2
    CHUNK = 3
    END = 4
    CANCEL = 5
    CREDIT = 6
    GOAWAY = 7
    BIND = 8


_FROM_NODE = frozenset((Kind.REPLY, Kind.CHUNK, Kind.END, Kind.GOAWAY))
_WITH_ERROR = frozenset((Kind.REPLY, Kind.GOAWAY))


@dataclass(frozen=True, slots=True)
class Frame:
    """A frame of the node."""

    kind: Kind
    op: int
    error: bool
    request_id: int
    body: bytes


def preface(hint: bytes) -> bytes:
    """The first bytes of a connection."""
    return hint + b"CELLAR" + struct.pack("<H", VERSION)


def padded(body: bytes) -> bytes:
    return body + bytes(-len(body) % ALIGNMENT)


def frame(kind: Kind, op: int, body: bytes = b"", request_id: int = 0, handle: int = 0, deadline_ms: int = 0) -> bytes:
    """A frame of the client; the body is padded."""
    body = padded(body)
    return HEADER.pack(len(body), kind, op, 0, request_id, handle, deadline_ms, 0) + body


def broken(what: str) -> CellarError:
    """The node broke the protocol: nothing that follows on the connection can be interpreted."""
    return error_of(Code.INTERNAL, f"the node broke the protocol: {what}", Applied.MAYBE_APPLIED)


class FrameReader:
    """Cuts received bytes into frames."""

    def __init__(self) -> None:
        self._bytes = bytearray()
        self.max_body_bytes = HELLO_BODY_BYTES

    def feed(self, data: bytes) -> None:
        self._bytes += data

    def next(self) -> Frame | None:
        """The next frame; None: it is not complete. INTERNAL: it is invalid."""
        if len(self._bytes) < HEADER.size:
            return None
        size, kind, op, flags, request_id, handle, deadline_ms, checksum = HEADER.unpack_from(self._bytes)
        if kind not in _FROM_NODE:
            raise broken(f"a frame of kind {kind}")
        if flags & ~ERROR_FLAG or (flags and kind not in _WITH_ERROR) or handle or deadline_ms or checksum:
            raise broken("a frame with a field that must be 0")
        if size % ALIGNMENT or size > self.max_body_bytes:
            raise broken(f"a body of {size} bytes, and {self.max_body_bytes} are allowed")
        if len(self._bytes) < HEADER.size + size:
            return None
        body = bytes(self._bytes[HEADER.size : HEADER.size + size])
        del self._bytes[: HEADER.size + size]
        return Frame(Kind(kind), op, bool(flags & ERROR_FLAG), request_id, body)
