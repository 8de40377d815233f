"""The operations, without a transport: each function describes one call. `Client` and `AsyncClient` have a method of
the same name, arguments and documentation, which makes the call."""
from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Generic, Optional, TypeVar, Union

from cellar import _decode, _decode_admin, _encode, _encode_admin
from cellar._frames import padded
from cellar._scan import Scan, ranges_of
from cellar._schema import (
    CompactTableRequest,
    DescribeTableRequest,
    DropTableRequest,
    FlushTableRequest,
    RestoreTableRequest,
)
from cellar._schema.Op import Op
from cellar.cells import Bytes, Row, RowRange, prefix_end, to_bytes
from cellar.errors import CellarError
from cellar.filter import Filter
from cellar.mutation import Committed, ModifyRule, Mutation, Operation, Token
from cellar.node import Pong, ServerInfo
from cellar.options import CLIENT_TIMEOUT, Timeout
from cellar.tables import (
    Durability,
    Family,
    Granularity,
    Preview,
    PreviewProgress,
    Profile,
    Rule,
    RuleHistory,
    SplitPoint,
    TableDescription,
    TableOptions,
    TableSummary,
)

T = TypeVar("T")

MAX_GET_ROW_BYTES = 2**16 - 1
MUTATE_ROWS_BYTES = 1 << 20
"""About the size at which `mutate_rows` begins another request."""
MAX_LIMIT = 2**64 - 1

Columns = Iterable[tuple[str, Bytes]]
Families = Iterable[Union[Family, str]]
Request = tuple[int, bytes]  # operation, body
Tokens = Sequence[Optional[Token]]


@dataclass(frozen=True)
class Answer:
    """The bodies of the chunks of an answer, and that of its last frame, which is an `end` or a reply. op: answered."""

    op: int
    chunks: list[bytes]
    last: bytes
    ended: bool

    def parts(self) -> list[bytes]:
        """The bodies that hold rows."""
        return self.chunks if self.ended else [*self.chunks, self.last]


@dataclass(frozen=True)
class Call(Generic[T]):
    """A request, and what its answer means.

    encode: the operation and the body; gets the tokens.
    table: of the request; by_handle: the body does not name it.
    tokens: None where the client may draw one. takes_token: it can carry tokens. drop_tokens: ones of DropRowRange.
    writes: it changes something. same_if_repeated: the second application has the same result if nobody else writes.
    needs: features that the node must have. on_chunk: gets the bodies of chunks, which then are not kept.
    """

    encode: Callable[[Tokens], Request]
    decode: Callable[[Answer], T]
    table: Optional[str] = None
    by_handle: bool = False
    timeout: Timeout = CLIENT_TIMEOUT
    admin: bool = False
    writes: bool = False
    same_if_repeated: bool = False
    takes_token: bool = False
    drop_tokens: bool = False
    tokens: tuple[Optional[Token], ...] = ()
    draw_tokens: Optional[bool] = None
    sole_writer: Optional[bool] = None
    needs: tuple[str, ...] = ()
    on_chunk: Optional[Callable[[bytes], None]] = None


@dataclass(frozen=True)
class Batch:
    """A `mutate_rows`: several calls. parts: indices of mutations that go into one request."""

    table: str
    mutations: list[Mutation]
    durability: Optional[Durability]
    draw_tokens: Optional[bool]
    sole_writer: Optional[bool]
    timeout: Timeout
    parts: list[list[int]] = field(default_factory=list)

    def call(self, indices: Sequence[int], tokens: Sequence[Optional[Token]]) -> Call[dict[int, CellarError]]:
        """The request for some of the mutations; its result has the failures by their place among `indices`."""
        chosen = [self.mutations[i] for i in indices]
        return Call(
            lambda stamped: (Op.MutateRows, _encode.mutate_rows(chosen, self.durability, stamped)),
            lambda answer: _decode.mutate_rows(answer.last, len(chosen)),
            table=self.table,
            by_handle=True,
            writes=True,
            takes_token=True,
            tokens=tuple(tokens),
            draw_tokens=False,
        )


def plain(op: int, body: bytes = b"") -> Callable[[Tokens], Request]:
    return lambda _: (op, body)


# ---- the node ----


def ping(echo: bytes = b"", *, timeout: Timeout = CLIENT_TIMEOUT) -> Call[Pong]:
    """Asks the node for its trusted time. echo: at most 1 KiB, returned by the node."""
    return Call(plain(Op.Ping, _encode.ping(echo)), lambda a: _decode.pong(a.last), timeout=timeout)


def server_info(*, timeout: Timeout = CLIENT_TIMEOUT) -> Call[ServerInfo]:
    """The state of the node: version, clocks, figures of its shards."""
    return Call(plain(Op.ServerInfo), lambda a: _decode.server_info(a.last), timeout=timeout)


# ---- reads ----


def _selection(versions: int, columns: Columns, filter: Filter | None) -> Filter | None:
    """The filter of a read that names versions and columns too."""
    parts = []
    names = list(dict.fromkeys((family, to_bytes(qualifier)) for family, qualifier in columns))
    if names:
        each = [Filter.column(family, qualifier) for family, qualifier in names]
        parts.append(each[0] if len(each) == 1 else Filter.interleave(*each))
    if versions:
        parts.append(Filter.cells_per_column(versions))
    if filter is not None:
        parts.append(filter)
    if not parts:
        return None
    return parts[0] if len(parts) == 1 else Filter.chain(*parts)


def _checked_versions(versions: int) -> int:
    if not 0 <= versions <= _encode.MAX_VERSIONS_OF_GET:
        raise ValueError(f"versions is 0 to {_encode.MAX_VERSIONS_OF_GET}, not {versions}")
    return versions


def read_row(
    table: str,
    row: Bytes,
    *,
    versions: int = 0,
    columns: Columns = (),
    filter: Filter | None = None,
    explain: bool = False,
    include_dead: bool = False,
    with_expiry: bool = False,
    timeout: Timeout = CLIENT_TIMEOUT,
) -> Call[Row | None]:
    """Reads a row; None if it has no cell that is alive and passes the filter.

    versions: the newest so many cells of each column; 0: all. columns: (family, qualifier) pairs; empty: all.
    filter: applied after `versions` and `columns`.
    explain: each cell tells when it dies and why (`Cell.explanation`). include_dead: also returns dead cells that are
    still stored, explained. with_expiry: each cell tells its own expiry (`Cell.expire_at_us`).
    """
    key = to_bytes(row)
    wanted = [(family, to_bytes(qualifier)) for family, qualifier in columns]
    _checked_versions(versions)
    annotated = explain or include_dead or with_expiry
    short = len(key) <= MAX_GET_ROW_BYTES and all(
        len(q) <= _encode.MAX_U16 and len(f.encode()) <= _encode.MAX_U8 for f, q in wanted
    )
    if filter is None and not annotated and short and len(wanted) <= _encode.MAX_U16:
        get = padded(_encode.get(key, versions, wanted))
        return Call(plain(Op.Get, get), lambda a: _decode.got(key, a.parts()), table, by_handle=True, timeout=timeout)
    selection = _selection(versions, wanted, filter)
    body = _encode.read_row(key, selection, explain, include_dead, with_expiry)
    asked = (("explain", explain), ("include_dead", include_dead), ("with_expiry", with_expiry))
    return Call(
        plain(Op.ReadRow, body),
        lambda a: _decode.row_of(a.parts()),
        table,
        by_handle=True,
        timeout=timeout,
        needs=tuple(name for name, on in asked if on),
    )


def explain(
    table: str,
    row: Bytes,
    *,
    columns: Columns = (),
    filter: Filter | None = None,
    timeout: Timeout = CLIENT_TIMEOUT,
) -> Call[Row | None]:
    """Reads a row with its dead cells that are still stored. Each cell tells when it dies or died, and why
    (`Cell.explanation`), and its own expiry. None: nothing is stored."""
    return read_row(
        table, row, columns=columns, filter=filter, explain=True, include_dead=True, with_expiry=True, timeout=timeout
    )


def scan(
    table: str,
    *,
    prefix: Bytes | None = None,
    start: Bytes | None = None,
    end: Bytes | None = None,
    keys: Iterable[Bytes] = (),
    ranges: Iterable[RowRange] = (),
    versions: int = 0,
    columns: Columns = (),
    filter: Filter | None = None,
    limit: int = 0,
    reversed: bool = False,
    explain: bool = False,
    include_dead: bool = False,
    with_expiry: bool = False,
) -> Scan:
    """Reads rows in the order of their keys, each as one `Row`, as they arrive.

    The rows: those with a prefix, those of [start, end), the named keys, the ranges; together if several are given.
    None
    of them: every row. limit: so many rows; 0: all. reversed: falling order.
    versions, columns, filter, explain, include_dead, with_expiry: as in `read_row`; rows without cells are left out.

    A row is read as of one instant; the scan is not a snapshot across rows. After a lost connection it resumes behind
    the last whole row. It has no timeout. Leave it early with `close()` (`aclose()`), or by dropping the iterator.
    """
    if not 0 <= limit <= MAX_LIMIT:
        raise ValueError(f"limit is 0 to {MAX_LIMIT}, not {limit}")
    _checked_versions(versions)
    chosen = ranges_of(ranges)
    if start is not None or end is not None:
        chosen.append(RowRange(None if start is None else to_bytes(start), None if end is None else to_bytes(end)))
    if prefix is not None:
        first = to_bytes(prefix)
        chosen.append(RowRange(first, prefix_end(first)))
    return Scan(
        table=table,
        keys=[to_bytes(key) for key in keys],
        ranges=chosen,
        selection=_selection(versions, columns, filter),
        row_limit=limit,
        reversed_order=reversed,
        explain=explain,
        include_dead=include_dead,
        with_expiry=with_expiry,
    )


def sample_row_keys(table: str, *, timeout: Timeout = CLIENT_TIMEOUT) -> Call[list[SplitPoint]]:
    """Keys that divide the table, at least every tablet boundary, with the bytes before each; the last is the end."""
    return Call(
        plain(Op.SampleRowKeys, _encode.sample_row_keys()),
        lambda a: _decode.sample_row_keys(a.last),
        table,
        by_handle=True,
        timeout=timeout,
        needs=("sample_row_keys",),
    )


# ---- writes ----


def mutate_row(
    table: str,
    mutation: Mutation,
    *,
    durability: Durability | None = None,
    token: Token | None = None,
    draw_tokens: bool | None = None,
    sole_writer: bool | None = None,
    timeout: Timeout = CLIENT_TIMEOUT,
) -> Call[Committed]:
    """Applies a mutation to its row, atomically.

    durability: None: the table's. token: makes a repetition harmless; None: that of the mutation. draw_tokens: draws a
    token if there is none. sole_writer: see `ClientOptions`. None: as in the client's options.
    Without a token, a write that may have been applied is not sent again: it fails with `applied` MAYBE_APPLIED.
    """
    given = token or mutation.token
    operations = Mutation(mutation.row)
    operations.operations = list(mutation.operations)  # the caller may go on with its own

    def encode(tokens: Tokens) -> Request:
        if tokens[0] is None and _encode.fits_put(operations):
            return Op.Put, padded(_encode.put(operations, durability))
        return Op.MutateRow, _encode.mutate_row(operations, durability, tokens[0])

    def decode(answer: Answer) -> Committed:
        return _decode.put(answer.last) if answer.op == Op.Put else _decode.mutate_row(answer.last)

    return Call(
        encode,
        decode,
        table,
        by_handle=True,
        timeout=timeout,
        writes=True,
        same_if_repeated=mutation.same_if_repeated(),
        takes_token=True,
        tokens=(given,),
        draw_tokens=draw_tokens,
        sole_writer=sole_writer,
    )


def batch(
    table: str,
    mutations: Iterable[Mutation],
    *,
    durability: Durability | None = None,
    draw_tokens: bool | None = None,
    sole_writer: bool | None = None,
    timeout: Timeout = CLIENT_TIMEOUT,
) -> Batch:
    """Applies mutations of many rows. Each is atomic by itself; those of one row apply in their order.

    The arguments are those of `mutate_row`; tokens are those of the mutations. Entries that failed in passing are sent
    again where that is safe. PartlyFailed: has the error of every entry that failed.
    """
    rows = list(mutations)
    parts: list[list[int]] = []
    size = 0
    for i, mutation in enumerate(rows):
        more = _encode.request_bytes(mutation)
        if not parts or size + more > MUTATE_ROWS_BYTES:
            parts.append([])
            size = 0
        parts[-1].append(i)
        size += more
    return Batch(table, rows, durability, draw_tokens, sole_writer, timeout, parts)


def check_and_mutate(
    table: str,
    row: Bytes,
    *,
    condition: Filter | None = None,
    then: Mutation | None = None,
    otherwise: Mutation | None = None,
    durability: Durability | None = None,
    token: Token | None = None,
    draw_tokens: bool | None = None,
    timeout: Timeout = CLIENT_TIMEOUT,
) -> Call[Committed]:
    """Atomically asks whether a cell of the row passes the condition, and applies `then` or `otherwise`.

    condition: None: does the row exist? `Committed.matched` tells the answer. then, otherwise: mutations of this row.
    """
    key = to_bytes(row)
    branches: list[list[Operation]] = []
    for mutation in (then, otherwise):
        if mutation is not None and mutation.row != key:
            raise ValueError(f"the mutation is of row {mutation.row!r}, the condition of row {key!r}")
        branches.append([] if mutation is None else list(mutation.operations))
    return Call(
        lambda tokens: (
            Op.CheckAndMutateRow,
            _encode.check_and_mutate(key, condition, branches[0], branches[1], durability, tokens[0]),
        ),
        lambda a: _decode.check_and_mutate(a.last),
        table,
        by_handle=True,
        timeout=timeout,
        writes=True,
        takes_token=True,
        tokens=(token,),
        draw_tokens=draw_tokens,
    )


def _modified(key: bytes, answer: Answer) -> Row:
    """The new cells. A repetition whose answer was not kept has none."""
    row = _decode.row_of(answer.parts())
    if row is not None:
        return row
    return Row(key, (), *_decode.repetition(answer.last))


def read_modify_write(
    table: str,
    row: Bytes,
    rules: Iterable[ModifyRule],
    *,
    durability: Durability | None = None,
    token: Token | None = None,
    draw_tokens: bool | None = None,
    timeout: Timeout = CLIENT_TIMEOUT,
) -> Call[Row]:
    """Atomically increments counters and appends to values, in the order of the rules (see `increment`, `append`).
    Returns the new cells."""
    key, wanted = to_bytes(row), list(rules)
    return Call(
        lambda tokens: (Op.ReadModifyWriteRow, _encode.read_modify_write(key, wanted, durability, tokens[0])),
        lambda a: _modified(key, a),
        table,
        by_handle=True,
        timeout=timeout,
        writes=True,
        takes_token=True,
        tokens=(token,),
        draw_tokens=draw_tokens,
    )


def drop_row_range(
    table: str,
    *,
    prefix: Bytes | None = None,
    start: Bytes | None = None,
    end: Bytes | None = None,
    token: Token | None = None,
    draw_tokens: bool | None = None,
    sole_writer: bool | None = None,
    timeout: Timeout = CLIENT_TIMEOUT,
) -> Call[int]:
    """Deletes the rows with a prefix, or those of [start, end), without reading them.

    Returns the number of tablets in which the delete was committed. ValueError: no bound at all, or both a prefix and
    bounds.
    """
    bounds = [None if part is None else to_bytes(part) for part in (prefix, start, end)]
    if (prefix is None) == (start is None and end is None):
        raise ValueError("drop_row_range takes a prefix, or start and end")
    return Call(
        lambda tokens: (Op.DropRowRange, _encode.drop_row_range(bounds[0], bounds[1], bounds[2], tokens[0])),
        lambda a: _decode.drop_row_range(a.last),
        table,
        by_handle=True,
        timeout=timeout,
        writes=True,
        same_if_repeated=True,
        takes_token=True,
        drop_tokens=True,
        tokens=(token,),
        draw_tokens=draw_tokens,
        sole_writer=sole_writer,
        needs=("drop_row_range",),
    )


# ---- tables ----


def described(
    op: int, body: bytes, table: str, timeout: Timeout, writes: bool = True, needs: tuple[str, ...] = ()
) -> Call[TableDescription]:
    return Call(
        plain(op, body),
        lambda a: _decode_admin.table(a.last),
        table,
        timeout=timeout,
        admin=True,
        writes=writes,
        needs=needs,
    )


def _as_families(families: Families | Mapping[str, Rule | None]) -> list[Family]:
    if isinstance(families, Mapping):
        return [Family(name, rule) for name, rule in families.items()]
    return [Family(f) if isinstance(f, str) else f for f in families]


def create_table(
    name: str,
    families: Families | Mapping[str, Rule | None] = (),
    *,
    granularity: Granularity | None = None,
    profile: Profile = Profile.NONE,
    options: TableOptions = TableOptions(),
    splits: Iterable[Bytes] = (),
    timeout: Timeout = CLIENT_TIMEOUT,
) -> Call[TableDescription]:
    """Creates a table.

    families: `Family` objects or names, or a mapping of names to rules. granularity: None: the profile's, usually
    milliseconds. splits: rows at which tablets begin.
    """
    body = _encode_admin.create_table(
        name, _as_families(families), granularity, profile, options, [to_bytes(row) for row in splits]
    )
    return described(Op.CreateTable, body, name, timeout)


def alter_table(
    name: str,
    *,
    add: Families | Mapping[str, Rule | None] = (),
    alter: Iterable[Family] = (),
    drop: Iterable[str] = (),
    options: TableOptions | None = None,
    close_oldest_undo_window: bool = False,
    timeout: Timeout = CLIENT_TIMEOUT,
) -> Call[TableDescription]:
    """Alters a table: adds, alters and drops families, and sets options, all or nothing. What is None stays.

    close_oldest_undo_window: at most 8 undo windows of a family are open at a time; True closes the oldest if there is
    no room, False refuses the change. A dropped family cannot be restored.
    """
    body = _encode_admin.alter_table(
        name, _as_families(add), list(alter), list(drop), options, close_oldest_undo_window
    )
    return described(Op.AlterTable, body, name, timeout, needs=("alter_table",))


def set_rule(
    table: str,
    family: str,
    rule: Rule,
    *,
    close_oldest_undo_window: bool = False,
    timeout: Timeout = CLIENT_TIMEOUT,
) -> Call[TableDescription]:
    """Sets the retention rule of a family (KEEP_EVERYTHING: none). It is in force at once; `preview_rule` tells before
    what it would hide or kill, `undo_rule` takes it back within the undo window."""
    return alter_table(
        table,
        alter=[Family(family, rule)],
        close_oldest_undo_window=close_oldest_undo_window,
        timeout=timeout,
    )


def drop_table(name: str, *, timeout: Timeout = CLIENT_TIMEOUT) -> Call[None]:
    """Drops a table. It can be restored for the longest undo window of its families."""
    body = _encode_admin.named(DropTableRequest, b"QDRT", name)
    return Call(plain(Op.DropTable, body), lambda _: None, name, timeout=timeout, admin=True, writes=True)


def restore_table(name: str, *, timeout: Timeout = CLIENT_TIMEOUT) -> Call[TableDescription]:
    """Restores the table of this name that was dropped last. NOT_FOUND: there is none, or its window has ended."""
    body = _encode_admin.named(RestoreTableRequest, b"QRST", name)
    return described(Op.RestoreTable, body, name, timeout, needs=("restore_table",))


def list_tables(
    prefix: str = "", *, include_dropped: bool = False, timeout: Timeout = CLIENT_TIMEOUT
) -> Call[list[TableSummary]]:
    """The tables whose names have the prefix, by name. include_dropped: then those that can still be restored."""
    body = _encode_admin.list_tables(prefix, include_dropped)
    return Call(plain(Op.ListTables, body), lambda a: _decode_admin.list_tables(a.last), timeout=timeout, admin=True)


def describe_table(name: str, *, timeout: Timeout = CLIENT_TIMEOUT) -> Call[TableDescription]:
    """Families, options, tablets and open undo windows of a table."""
    body = _encode_admin.named(DescribeTableRequest, b"QDSC", name)
    return described(Op.DescribeTable, body, name, timeout, writes=False)


def flush_table(name: str, *, timeout: Timeout = CLIENT_TIMEOUT) -> Call[None]:
    """Writes the table's memory to disk. Changes no answer."""
    body = _encode_admin.named(FlushTableRequest, b"QFLU", name)
    return Call(plain(Op.FlushTable, body), lambda _: None, name, timeout=timeout, admin=True)


def compact_table(name: str, *, timeout: Timeout = CLIENT_TIMEOUT) -> Call[None]:
    """Merges the table's files, which removes dead bytes. Changes no answer."""
    body = _encode_admin.named(CompactTableRequest, b"QCMP", name)
    return Call(plain(Op.CompactTable, body), lambda _: None, name, timeout=timeout, admin=True)


def preview_rule(
    table: str,
    family: str,
    rule: Rule,
    *,
    samples: int = 10,
    approximate: bool = False,
    close_oldest_undo_window: bool = False,
    progress: Callable[[PreviewProgress], None] | None = None,
    timeout: Timeout = CLIENT_TIMEOUT,
) -> Call[Preview]:
    """What a rule of a family would hide or kill of the cells that can be read now. Changes nothing.

    samples: at most so many keys of rows that lose a cell, up to 1000. approximate: an estimate from figures of files,
    without reading rows. progress: called several times a second while the node counts; counts restart with a retry.
    Refused as `set_rule` would be.
    """
    if samples < 0:
        raise ValueError(f"samples is at least 0, not {samples}")
    body = _encode_admin.preview_rule(
        table, family, rule, samples, approximate, progress is not None, close_oldest_undo_window
    )
    on_chunk = None
    if progress is not None:
        tell = progress

        def on_chunk(chunk: bytes) -> None:
            tell(_decode_admin.preview_progress(chunk))

    return Call(
        plain(Op.PreviewRule, body),
        lambda a: _decode_admin.preview(a.last),
        table,
        timeout=timeout,
        admin=True,
        needs=("preview",),
        on_chunk=on_chunk,
    )


def undo_rule(
    table: str, family: str, *, expected_version: int = 0, timeout: Timeout = CLIENT_TIMEOUT
) -> Call[TableDescription]:
    """Takes back the newest change of a family's rule that can still be undone: the cells that it hid are visible
    again.

    expected_version: of the schema, as it was seen; 0: any. FAILED_PRECONDITION: another version, or no open window.
    """
    body = _encode_admin.undo_rule(table, family, expected_version)
    return described(Op.UndoRule, body, table, timeout, needs=("rule_history",))


def rule_history(table: str, family: str, *, timeout: Timeout = CLIENT_TIMEOUT) -> Call[RuleHistory]:
    """The rules that a family had, newest first, and until when each change can be undone."""
    body = _encode_admin.rule_history(table, family)
    return Call(
        plain(Op.RuleHistory, body),
        lambda a: _decode_admin.rule_history(a.last),
        table,
        timeout=timeout,
        admin=True,
        needs=("rule_history",),
    )
