"""Steps: what a call does, without doing it. A generator yields Ask and Sleep, a client performs them and sends the
answer back or throws the error in. So both clients share every decision about retries, tokens and owners."""
from __future__ import annotations

import time
from collections.abc import Generator
from dataclasses import dataclass, replace
from typing import Any, Optional, TypeVar, Union

from cellar._calls import Answer, Batch, Call, Tokens
from cellar._decode import status
from cellar._frames import Frame, Kind, broken
from cellar._scan import Stream
from cellar._session import Session
from cellar.errors import Applied, CellarError, Code, PartlyFailed, error_of
from cellar.mutation import Token
from cellar.options import CLIENT_TIMEOUT, ClientOptions, Timeout, seconds
from cellar.retry import RetryPolicy, safe, worth_it

T = TypeVar("T")

MAX_TABLE_OWNERS = 1024
"""Tables whose owner, another node, is remembered."""
MAX_ANSWER_BYTES = 1 << 29
"""Of all chunks of one answer: a row of 256 MiB with its names."""
FOREVER_S = 1e9


class Unreachable(Exception):
    """A node could not be reached at all. `error`: what the caller gets."""

    def __init__(self, error: CellarError) -> None:
        super().__init__(str(error))
        self.error = error


@dataclass
class Ask:
    """Send the call to the node at `address` and give its answer. `tokens` get the time of their issue there.
    `deadline`: by time.monotonic(); None: none."""

    address: str
    call: Call[Any]
    tokens: list[Optional[Token]]
    drawn: bool
    deadline: Optional[float]
    first: bool = True


@dataclass(frozen=True)
class Sleep:
    """Wait so many seconds."""

    seconds: float


Steps = Generator[Union[Ask, Sleep], Optional[Answer], T]


class Planner:
    """What the calls of one client share: options, the budget of retries, owners of tables."""

    def __init__(self, options: ClientOptions) -> None:
        self.options = options
        self.retries = RetryPolicy(options.retry)
        self._owners: dict[str, str] = {}

    def address(self, table: str | None) -> str:
        """The node that has the table."""
        return self._owners.get(table, self.options.address) if table is not None else self.options.address

    def deadline(self, timeout: Timeout, admin: bool = False) -> float | None:
        if isinstance(timeout, (int, float)) and timeout == CLIENT_TIMEOUT:
            timeout = self.options.admin_timeout if admin else self.options.timeout
        length = seconds(timeout)
        if length is not None and length < 0:
            raise ValueError(f"a timeout is at least 0 s, not {length}")
        return None if length is None else time.monotonic() + length

    def follow(self, table: str | None, error: CellarError) -> bool:
        """Whether the refusal names another node, which is asked from now on."""
        if error.owner is None or error.code is not Code.ABORTED or table is None:
            return False
        if error.applied is not Applied.NOT_APPLIED or self.address(table) == error.owner:
            return False
        if len(self._owners) >= MAX_TABLE_OWNERS:
            self._owners.clear()
        self._owners[table] = error.owner
        return True

    def forget_owner(self, table: str | None) -> None:
        if table is not None:
            self._owners.pop(table, None)

    def pause_s(self, error: CellarError, repeatable: bool, attempts: int, deadline: float | None) -> float | None:
        left = FOREVER_S if deadline is None else deadline - time.monotonic()
        return self.retries.pause_s(error, repeatable, attempts, left)

    def dial_pause_s(self, failures: int, deadline: float | None) -> float | None:
        """The pause before another attempt to connect, after so many that failed in a row; None: it is not made. With
        `wait_for_connection` the number of attempts has no bound but the deadline."""
        if not self.options.wait_for_connection:
            return None
        pause = self.retries.backoff_s(failures)
        return None if deadline is not None and time.monotonic() + pause >= deadline else pause

    def run(self, call: Call[T]) -> Steps[T]:
        """One call: attempts until it is answered, or its failure is final."""
        deadline = self.deadline(call.timeout, call.admin)
        draw = self.options.draw_tokens if call.draw_tokens is None else call.draw_tokens
        sole = self.options.sole_writer if call.sole_writer is None else call.sole_writer
        drawn = draw and call.takes_token
        tokens = [t or (Token.draw() if drawn else None) for t in call.tokens]
        ask = Ask("", call, tokens, drawn, deadline)
        doubtful = followed = False
        attempts = dials = 0
        while True:
            ask.address = self.address(call.table)
            try:
                answer = yield ask
                assert answer is not None
                self.retries.on_answer()
                return call.decode(answer)
            except Unreachable as unreachable:
                error = unreachable.error
                self.forget_owner(call.table)
                dials += 1
                pause = self.dial_pause_s(dials, deadline)
            except CellarError as raised:
                error, dials = raised, 0
                if not followed and self.follow(call.table, error):
                    followed = True
                    continue
                ask.first = False
                attempts += 1
                if not call.writes:
                    error.applied = Applied.NOT_APPLIED
                doubtful = doubtful or error.applied is Applied.MAYBE_APPLIED
                repeatable = repeats_safely(call, ask.tokens, sole)
                pause = None  # of a refusal whose owner cannot be followed
                if error.owner is None or followed:  # two nodes name each other until they agree
                    pause = self.pause_s(error, repeatable, attempts, deadline)
            if pause is None:
                raise _doubted(error) if doubtful else error  # a failed dial is shared with other calls
            yield Sleep(pause)

    def run_batch(self, batch: Batch) -> Steps[None]:
        """Many mutations: one request after the other, the failed entries again where that is safe."""
        deadline = self.deadline(batch.timeout)
        draw = self.options.draw_tokens if batch.draw_tokens is None else batch.draw_tokens
        failures: dict[int, CellarError] = {}
        for part in batch.parts:
            tokens = [batch.mutations[i].token or (Token.draw() if draw else None) for i in part]
            yield from self._run_part(batch, part, dict(zip(part, tokens)), draw, deadline, failures)
        if failures:
            raise PartlyFailed(failures, len(batch.mutations))

    def _run_part(
        self,
        batch: Batch,
        part: list[int],
        tokens: dict[int, Token | None],
        drawn: bool,
        deadline: float | None,
        failures: dict[int, CellarError],
    ) -> Steps[None]:
        sole = self.options.sole_writer if batch.sole_writer is None else batch.sole_writer
        doubtful: set[int] = set()
        pending, attempts, dials, followed = part, 0, 0, False
        while pending:
            call = batch.call(pending, [tokens[i] for i in pending])
            ask = Ask(self.address(batch.table), call, list(call.tokens), drawn, deadline, attempts == 0)
            whole = wait = True
            try:
                answer = yield ask
                assert answer is not None
                self.retries.on_answer()
                failed = {pending[k]: e for k, e in call.decode(answer).items()}
                whole = False
            except Unreachable as unreachable:
                self.forget_owner(batch.table)
                dials += 1
                pause = self.dial_pause_s(dials, deadline)
                if pause is not None:
                    yield Sleep(pause)
                    continue
                failed, wait = dict.fromkeys(pending, unreachable.error), False
            except CellarError as raised:
                if not followed and self.follow(batch.table, raised):
                    followed = True
                    continue
                failed = dict.fromkeys(pending, raised)
                wait = raised.owner is None or followed
            attempts, dials = attempts + 1, 0
            tokens.update(zip(pending, ask.tokens))
            doubtful |= {i for i, e in failed.items() if e.applied is Applied.MAYBE_APPLIED}
            safely = {i for i in pending if tokens[i] or (sole and batch.mutations[i].same_if_repeated())}
            once = {i for i in pending if tokens[i] or not whole}
            again = _again(batch, pending, failed, safely, once) if wait else set()
            pause = None
            if again:
                longest = max((failed[i] for i in again), key=lambda e: e.retry_after_ms or 0)
                pause = self.pause_s(longest, True, attempts, deadline)
                again = set() if pause is None else again
            for i, error in failed.items():
                if i not in again:
                    failures[i] = _doubted(error) if i in doubtful else error
            pending = [i for i in pending if i in again]
            if pending:
                yield Sleep(pause or 0.0)

    def after(self, scan: Stream, failure: Exception) -> float:
        """The pause before a scan resumes after a failure. Raises the failure if it is final."""
        pause = None
        if isinstance(failure, Unreachable):
            error = failure.error
            self.forget_owner(scan.table)
            scan.dials += 1
            pause = self.dial_pause_s(scan.dials, scan.deadline)
        elif isinstance(failure, CellarError):
            error, scan.dials = failure, 0
            if not scan.followed and self.follow(scan.table, error):
                scan.followed = True
                return 0.0
            error.applied = Applied.NOT_APPLIED
            scan.attempts += 1
            if error.owner is None or scan.followed:
                pause = self.pause_s(error, True, scan.attempts, scan.deadline)
        else:
            raise failure
        if pause is None:
            raise error
        return pause


def _again(
    batch: Batch, pending: list[int], failed: dict[int, CellarError], safely: set[int], once: set[int]
) -> set[int]:
    """The failed entries that may be sent again. An entry is not if a later one of its row was or may have been
    applied, because they apply in their order. once: entries that may stay as they were applied although they are sent
    again: with a token a repetition applies nothing, so an earlier entry that is applied now would come after them."""
    again = set()
    passed_rows: set[bytes] = set()  # of entries that are final and may be applied
    for i in reversed(pending):
        row, error = batch.mutations[i].row, failed.get(i)
        if error is None:
            passed_rows.add(row)
            continue
        if worth_it(error) and safe(error, i in safely) and row not in passed_rows:
            again.add(i)
            if i in once and error.applied is not Applied.NOT_APPLIED:
                passed_rows.add(row)
        elif error.applied is not Applied.NOT_APPLIED:
            passed_rows.add(row)
    return again


def _doubted(error: CellarError) -> CellarError:
    if error.applied is not Applied.NOT_APPLIED:
        return error
    return error_of(error.code, error.message, Applied.MAYBE_APPLIED, error.retry_after_ms, error.owner)


class Reception:
    """Collects the frames of an answer."""

    def __init__(self, ask: Ask, op: int) -> None:
        self._on_chunk = ask.call.on_chunk
        self._op = op
        self._chunks: list[bytes] = []
        self._bytes = 0

    def take(self, frame: Frame) -> Answer | None:
        """The answer, with its last frame; before that None. Raises the error that the frame states."""
        if frame.error:
            raise status(frame.body)
        if frame.kind is not Kind.CHUNK:
            return Answer(self._op, self._chunks, frame.body, frame.kind is Kind.END)
        if self._on_chunk is not None:
            self._on_chunk(frame.body)
            return None
        self._bytes += len(frame.body)
        if self._bytes > MAX_ANSWER_BYTES:
            raise broken(f"an answer of more than {MAX_ANSWER_BYTES} bytes")
        self._chunks.append(frame.body)
        return None


def repeats_safely(call: Call[Any], tokens: Tokens, sole_writer: bool) -> bool:
    """Whether the call may be sent again though it may have been applied."""
    if not call.writes:
        return True
    if call.takes_token and all(tokens):
        return True
    return sole_writer and call.same_if_repeated


def prepare(ask: Ask, session: Session) -> tuple[int, bytes]:
    """The operation and the body for this node. Stamps the tokens. Raises what the node would refuse or misread."""
    call, features = ask.call, session.facts.features
    if ask.deadline is not None and time.monotonic() >= ask.deadline:
        raise overdue(False)
    _demand(call.needs, session)
    wanted = "drop_row_range_tokens" if call.drop_tokens else "tokens"
    if any(ask.tokens) and wanted not in features:
        if not (call.drop_tokens and ask.drawn and ask.first):
            raise error_of(Code.UNIMPLEMENTED, f"{ask.address} lacks the feature {wanted}")
        ask.tokens[:] = [None] * len(ask.tokens)
    now_us = session.now_us()
    ask.tokens[:] = [replace(t, issued_us=now_us) if t and not t.issued_us else t for t in ask.tokens]
    op, body = call.encode(ask.tokens)
    return op, checked_size(body, session, ask.address)


def prepare_scan(scan: Stream, session: Session, address: str) -> bytes:
    """The body of the scan for this node."""
    _demand(scan.needs(), session)
    return checked_size(scan.body(), session, address)


def _demand(needs: tuple[str, ...], session: Session) -> None:
    missing = [name for name in needs if name not in session.facts.features]
    if missing:
        raise error_of(Code.UNIMPLEMENTED, f"the node lacks the feature {', '.join(missing)}")


def checked_size(body: bytes, session: Session, address: str) -> bytes:
    if len(body) > session.max_body_bytes:
        raise error_of(
            Code.INVALID_ARGUMENT,
            f"the request has {len(body)} bytes, and {address} takes at most {session.max_body_bytes} in one",
        )
    return body


def unstamped(tokens: Tokens) -> bool:
    """Whether `prepare` will state the node's time in one of them."""
    return any(t is not None and not t.issued_us for t in tokens)


def left_s(deadline: float | None) -> float | None:
    """The seconds until a deadline; None: there is none."""
    return None if deadline is None else max(deadline - time.monotonic(), 0.0)


def overdue(writes: bool) -> CellarError:
    """The timeout passed while the node had the request."""
    return error_of(
        Code.DEADLINE_EXCEEDED,
        "the timeout passed before the node answered",
        Applied.MAYBE_APPLIED if writes else Applied.NOT_APPLIED,
    )
