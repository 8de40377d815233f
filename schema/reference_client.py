#!/usr/bin/env python3
"""A client of the Cellar protocol, version 2, in one file and with the standard library only.

It is meant to be read beside PROTOCOL.md: hello, handles, Get and Put, scans with credits, errors, and which shard has a row.
It sends one request at a time and repeats nothing. The production clients are elsewhere.

    client = Client("127.0.0.1", 7420)
    client.put("events", b"user7", [("click", b"page", b"/home")])
    for cell in client.get("events", b"user7", versions=1): print(cell)
    for key, cells in client.scan("events", start=b"user", limit=10): print(key, cells)
"""
import bisect
import collections
import socket
import ssl
import struct
import time

HEADER = struct.Struct("<IBBHIIII")  # body_bytes, kind, op, flags, request_id, handle, deadline_ms, checksum
REQUEST, REPLY, CHUNK, END, CANCEL, CREDIT, GOAWAY, BIND = range(1, 9)
ERROR = 1  # a flag
OP_HELLO, OP_READ_ROWS, OP_GET, OP_PUT, OP_DESCRIBE_TABLE = 1, 19, 24, 25, 37
SAME_FAMILY, SAME_COLUMN = 0x40, 0x80
HAS_TIMESTAMP, HAS_EXPIRE_AT, HAS_TTL = 1, 2, 4
HAS_START, START_OPEN, HAS_END, END_CLOSED = 1, 2, 4, 8
TABLE_DEFAULT = 255  # durability
APPLIED = ("not applied", "maybe applied", "applied")

Cell = collections.namedtuple("Cell", "family qualifier timestamp_us value")
Put = collections.namedtuple("Put", "commit_stamp_ns timestamp_us")


class Refused(Exception):
    """The node refused a request. `code` is a gRPC status number."""

    def __init__(self, code, applied, retry_after_ms, message):
        super().__init__(f"{message} (status {code}, {APPLIED[applied] if applied < 3 else 'maybe applied'})")
        self.code, self.applied, self.retry_after_ms = code, applied, retry_after_ms


def padded(body):
    return body + bytes(-len(body) % 8)


# ---- FlatBuffers: as much as these bodies need ----


class Table:
    """A table in a body, read by field number. FlatBuffers puts little-endian numbers at known places: a table begins with
    the distance back to its vtable, which has the place of each field in the table, or 0."""

    def __init__(self, body, at=None):
        self.body = body
        self.at = struct.unpack_from("<I", body, 0)[0] if at is None else at
        self.vtable = self.at - struct.unpack_from("<i", body, self.at)[0]
        self.vtable_bytes = struct.unpack_from("<H", body, self.vtable)[0]

    def place(self, field):
        slot = 4 + 2 * field
        if slot >= self.vtable_bytes:
            return 0
        offset = struct.unpack_from("<H", self.body, self.vtable + slot)[0]
        return self.at + offset if offset else 0

    def number(self, field, form, default=0):
        at = self.place(field)
        return struct.unpack_from("<" + form, self.body, at)[0] if at else default

    def vector(self, field):
        """Where the elements of a vector begin, and their number."""
        at = self.place(field)
        if not at:
            return 0, 0
        at += struct.unpack_from("<I", self.body, at)[0]
        return at + 4, struct.unpack_from("<I", self.body, at)[0]

    def data(self, field):  # a string or a vector of bytes
        at, size = self.vector(field)
        return bytes(self.body[at : at + size])

    def structs(self, field, form):
        at, count = self.vector(field)
        size = struct.calcsize("<" + form)
        return [struct.unpack_from("<" + form, self.body, at + i * size) for i in range(count)]


def build(identifier, fields):
    """A body with one root table. `fields`: {number: ("Q", 5)} for a number of that form, {number: bytes} for a string or a
    vector of bytes, {number: (item_bytes, [bytes, ...])} for a vector of structs."""
    scalars = {f: v for f, v in fields.items() if isinstance(v, tuple) and isinstance(v[0], str)}
    vectors = {f: v for f, v in fields.items() if f not in scalars}
    slots = max(fields, default=-1) + 1
    vtable = [0] * slots
    table_at = 8 + (4 + 2 * slots + 7) // 8 * 8  # after root offset, identifier and vtable; a multiple of 8
    size = 4  # of the table so far: the distance to the vtable
    for field in sorted(fields, key=lambda f: -struct.calcsize(scalars[f][0]) if f in scalars else -4):
        width = struct.calcsize(scalars[field][0]) if field in scalars else 4
        size += -size % width
        vtable[field] = size
        size += width
    table = bytearray(size)
    struct.pack_into("<i", table, 0, table_at - 8)
    for field, (form, value) in scalars.items():
        struct.pack_into("<" + form, table, vtable[field], value)
    tail = bytearray()
    tail_at = table_at + size
    for field, value in vectors.items():
        count, raw = (len(value), value) if isinstance(value, bytes) else (len(value[1]), b"".join(value[1]))
        tail += bytes(-(tail_at + len(tail) + 4) % 8)  # the elements begin at a multiple of 8
        struct.pack_into("<I", table, vtable[field], tail_at + len(tail) - table_at - vtable[field])
        tail += struct.pack("<I", count) + raw + b"\0"  # a string ends with a 0 that is not counted
    head = struct.pack("<I4sHH", table_at, identifier, 4 + 2 * slots, size)
    head += b"".join(struct.pack("<H", at) for at in vtable)
    return padded(head + bytes(table_at - len(head)) + bytes(table) + bytes(tail))


class Client:
    """One connection. `token`: of a principal; `tls`: an ssl.SSLContext; `shard`: that shall serve the connection, None: any."""

    def __init__(self, host, port, token=None, tls=None, timeout=30, shard=None):
        self.stream = socket.create_connection((host, port), timeout)
        self.stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if tls is not None:
            self.stream = tls.wrap_socket(self.stream, server_hostname=host)
        self.last_id = 0
        self.handles = {}  # by table name
        self.stream.sendall(bytes(8) + b"CELLAR" + struct.pack("<H", 2))
        wishes = {**({4: token} if token else {}), **({7: ("I", shard)} if shard is not None else {})}
        body = build(b"QHEL", {2: b"reference_client", **wishes})
        hello = Table(self.ask(OP_HELLO, body)[1])
        self.shard, self.shards = hello.number(2, "I"), hello.number(3, "I")
        self.now_us, self.instance = hello.number(6, "q"), hello.number(9, "Q")

    def close(self):
        self.stream.close()

    # ---- frames ----

    def send(self, kind, op=0, body=b"", request_id=0, handle=0):
        self.stream.sendall(HEADER.pack(len(body), kind, op, 0, request_id, handle, 0, 0) + body)

    def receive_bytes(self, count):
        parts = bytearray()
        while len(parts) < count:
            part = self.stream.recv(count - len(parts))
            if not part:
                raise ConnectionError("the node closed the connection")
            parts += part
        return bytes(parts)

    def receive(self, request_id):
        """The next frame of the answer: its kind and its body."""
        while True:
            size, kind, _, flags, answered, _, _, _ = HEADER.unpack(self.receive_bytes(HEADER.size))
            body = self.receive_bytes(size)
            if flags & ERROR:
                status = Table(body)
                raise Refused(status.number(0, "B"), status.number(1, "B"), status.number(2, "I", 2**32 - 1), status.data(3).decode())
            if kind != GOAWAY and answered == request_id:  # a goaway: the node stops, but answers what it has
                return kind, body

    def request(self, op, body, handle=0):
        self.last_id += 1
        self.send(REQUEST, op, body, self.last_id, handle)
        return self.last_id

    def ask(self, op, body, handle=0):
        """The bodies of the chunks of the answer, and that of its last frame."""
        request_id = self.request(op, body, handle)
        chunks = []
        while True:
            kind, answer = self.receive(request_id)
            if kind != CHUNK:
                return chunks, answer
            chunks.append(answer)

    def handle_of(self, table):
        """A handle costs no round trip: the bind frame precedes its first use."""
        if table not in self.handles:
            self.handles[table] = len(self.handles) + 1
            self.send(BIND, body=build(b"QBND", {0: table.encode()}), handle=self.handles[table])
        return self.handles[table]

    # ---- operations ----

    def tablets(self, table):
        """The first row of each tablet, in order, and the shard that serves it."""
        _, body = self.ask(OP_DESCRIBE_TABLE, build(b"QDSC", {0: table.encode()}))
        description = Table(body)
        arena = description.data(8)
        return [(arena[at : at + size], shard) for _, _, at, size, _, _, shard, _ in description.structs(7, "QQIIIIII")]

    def put(self, table, row, cells, durability=TABLE_DEFAULT):
        """`cells`: (family, qualifier, value) or (family, qualifier, value, options), with the options timestamp_us, and
        expire_at_us or ttl_us. Returns the commit stamp, and the timestamp of the cells that were given none."""
        body = struct.pack("<HHBBH", len(row), len(cells), durability, 0, 0) + row
        for family, qualifier, value, *rest in cells:
            options = rest[0] if rest else {}
            flags, until = 0, 0
            if "timestamp_us" in options:
                flags |= HAS_TIMESTAMP
            if "expire_at_us" in options:
                flags, until = flags | HAS_EXPIRE_AT, options["expire_at_us"]
            if "ttl_us" in options:
                flags, until = flags | HAS_TTL, options["ttl_us"]
            name = family.encode()
            body += struct.pack("<qqIHBB", options.get("timestamp_us", 0), until, len(value), len(qualifier), len(name), flags)
            body += name + qualifier + value
        return Put(*struct.unpack("<Qq", self.ask(OP_PUT, padded(body), self.handle_of(table))[1]))

    def get(self, table, row, versions=0, columns=()):
        """The cells of a row: the newest `versions` (0: all) of each column, newest first."""
        body = struct.pack("<IHH", versions, len(row), len(columns))
        body += b"".join(struct.pack("<HBB", len(q), len(f.encode()), 0) for f, q in columns)
        body += row + b"".join(f.encode() + q for f, q in columns)
        chunks, last = self.ask(OP_GET, padded(body), self.handle_of(table))
        return [cell for part in [*chunks, last] for cell in self.cells_of(part)]

    @staticmethod
    def cells_of(body):
        count, _ = struct.unpack_from("<II", body, 0)
        at = 8
        family = qualifier = b""
        for _ in range(count):
            timestamp, value_size, qualifier_size, family_size, flags = struct.unpack_from("<qIHBB", body, at)
            at += 16
            if not flags & (SAME_FAMILY | SAME_COLUMN):
                family, at = body[at : at + family_size], at + family_size
            if not flags & SAME_COLUMN:
                qualifier, at = body[at : at + qualifier_size], at + qualifier_size
            yield Cell(family.decode(), qualifier, timestamp, body[at : at + value_size])
            at += value_size

    def scan(self, table, start=None, end=None, limit=0, reversed_order=False):
        """Yields (row key, cells) of the rows [start, end)."""
        flags = (HAS_START if start is not None else 0) | (HAS_END if end is not None else 0)
        first, last = start or b"", end or b""
        span = struct.pack("<IIIIBBH", 0, len(first), len(first), len(last), flags, 0, 0)
        fields = {2: (20, [span]), 4: first + last, 5: ("Q", limit), 6: ("B", int(reversed_order)), 9: ("I", 4)}
        request_id = self.request(OP_READ_ROWS, build(b"QRRS", fields), self.handle_of(table))
        cells = []  # of the row that is not complete
        while True:
            kind, body = self.receive(request_id)
            if kind == END:
                return
            chunk = Table(body)
            arena = chunk.data(2)
            records = iter(chunk.structs(1, "qIIIIHBBHH"))
            for key_at, key_size, count, row_flags, _ in chunk.structs(0, "IIIHH"):
                for _ in range(count):
                    timestamp, family_at, qualifier_at, value_at, value_size, qualifier_size, family_size, *_ = next(records)
                    cells.append(Cell(arena[family_at : family_at + family_size].decode(), arena[qualifier_at : qualifier_at + qualifier_size],
                                      timestamp, arena[value_at : value_at + value_size]))
                if row_flags & 2:  # complete; until then the cells of a row are provisional
                    yield arena[key_at : key_at + key_size], cells
                    cells = []
            self.send(CREDIT, OP_READ_ROWS, build(b"QCRD", {0: ("I", 1)}), request_id)


class ShardedClient:
    """A connection to each shard of a node; get and put go to the shard that has the row. The arguments are those of Client."""

    MAP_S = 10  # for which a table's tablets are remembered: a request that goes to another shard is handed over by that one

    def __init__(self, host, port, **options):
        first = Client(host, port, **options)
        self.clients = {first.shard: first}
        for shard in set(range(first.shards)) - {first.shard}:
            client = Client(host, port, shard=shard, **options)
            # A proxy may have led to another node, or the shard has all its connections: the first client serves those rows.
            if client.instance == first.instance and client.shard not in self.clients:
                self.clients[client.shard] = client
            else:
                client.close()
        self.first = first
        self.maps = {}  # by table: when it was asked for, starts, shards

    def close(self):
        for client in self.clients.values():
            client.close()

    def of_row(self, table, row):
        asked_at, starts, shards = self.maps.get(table, (0, [], []))
        if not starts or time.monotonic() - asked_at > self.MAP_S:
            starts, shards = zip(*self.first.tablets(table))
            self.maps[table] = time.monotonic(), starts, shards
        return self.clients.get(shards[bisect.bisect_right(starts, row) - 1], self.first)

    def put(self, table, row, cells, **options):
        return self.of_row(table, row).put(table, row, cells, **options)

    def get(self, table, row, **options):
        return self.of_row(table, row).get(table, row, **options)
