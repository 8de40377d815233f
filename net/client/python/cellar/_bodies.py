"""FlatBuffers bodies: building them, and reading what a node sent without trusting it."""
from __future__ import annotations

import enum
import struct
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import flatbuffers

from cellar._frames import broken
from cellar.errors import CellarError

T = TypeVar("T")
E = TypeVar("E", bound=enum.IntEnum)

IDENTIFIER_AT = 4
VECTOR_ALIGNMENT = 8
BYTES_PER_TABLE = 8
SPARE_TABLES = 16
"""A body has at most body bytes / BYTES_PER_TABLE + SPARE_TABLES tables, as in requests."""


class Arena:
    """Bytes of a request that its records name by offset and size."""

    def __init__(self) -> None:
        self.bytes = bytearray()

    def add(self, part: bytes) -> tuple[int, int]:
        """A span: offset, size."""
        at = len(self.bytes)
        self.bytes += part
        return at, len(part)


def byte_vector(builder: Any, value: bytes) -> int:
    return int(builder.CreateByteVector(bytes(value)))


def struct_vector(builder: Any, item_bytes: int, packed: bytes) -> int:
    """A vector of structs, which lie in `packed` one after the other."""
    builder.StartVector(item_bytes, len(packed) // item_bytes, VECTOR_ALIGNMENT)
    builder.head = builder.Head() - len(packed)
    builder.Bytes[builder.Head() : builder.Head() + len(packed)] = packed
    return int(builder.EndVector())


def table_vector(builder: Any, tables: list[int]) -> int:
    builder.StartVector(4, len(tables), 4)
    for table in reversed(tables):
        builder.PrependUOffsetTRelative(table)
    return int(builder.EndVector())


def finish(builder: Any, root: int, identifier: bytes) -> bytes:
    builder.Finish(root, file_identifier=identifier)
    return bytes(builder.Output())


def new_builder(size: int = 1024) -> Any:
    return flatbuffers.Builder(size)


class Body:
    """A body that the node sent. Offsets and sizes are checked against its end."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self._tables_left = len(data) // BYTES_PER_TABLE + SPARE_TABLES

    def vector(self, table: Any, field: int, item_bytes: int) -> memoryview:
        """The elements of a vector; empty if it is absent. `field`: its id in the schema."""
        tab = table._tab
        offset = tab.Offset(4 + 2 * field)
        if not offset:
            return memoryview(b"")
        at = tab.Vector(offset)
        size = tab.VectorLen(offset) * item_bytes
        if at + size > len(self.data):
            raise broken("a vector exceeds its body")
        return memoryview(self.data)[at : at + size]

    def structs(self, table: Any, field: int, layout: struct.Struct) -> list[tuple[Any, ...]]:
        return list(layout.iter_unpack(self.vector(table, field, layout.size)))

    def text(self, table: Any, field: int) -> str:
        """A string; empty if it is absent. Invalid UTF-8 is replaced."""
        return bytes(self.vector(table, field, 1)).decode(errors="replace")

    def tables(self, length: int, at: Callable[[int], Any]) -> Iterator[Any]:
        """The tables of a vector: at(0) ... at(length - 1)."""
        self._tables_left -= length
        if self._tables_left < 0:
            raise broken("a body has more tables than it can hold")
        return (at(i) for i in range(length))


def span_of(arena: memoryview, at: int, size: int) -> bytes:
    if at + size > len(arena):
        raise broken("a span exceeds its arena")
    return bytes(arena[at : at + size])


def known(kind: type[E], number: int | None) -> E | None:
    """None for an absent number; an unknown one is what a newer node knows: None too."""
    return kind(number) if number is not None and number in kind.__members__.values() else None


def decode(data: bytes, identifier: bytes, root: Any, read: Callable[[Body, Any], T]) -> T:
    """Reads a body of the node. An empty body stands for a root table with every field at its default. INTERNAL: the
    body is invalid."""
    if not data:
        data = _EMPTY
    elif len(data) < IDENTIFIER_AT + 4 or data[IDENTIFIER_AT : IDENTIFIER_AT + 4] != identifier:
        raise broken(f"a body is not {identifier.decode()}")
    try:
        return read(Body(data), root.GetRootAs(data, 0))
    except CellarError:
        raise
    except Exception as error:  # whatever an invalid offset leads to
        raise broken(f"an invalid {identifier.decode()} ({type(error).__name__}: {error})") from error


def _empty() -> bytes:
    builder = new_builder(64)
    builder.StartObject(0)
    return finish(builder, builder.EndObject(), b"NONE")


_EMPTY = _empty()
