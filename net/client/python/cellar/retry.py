"""Retries: which failed requests are sent again, and when.

A retry is useful if the code is UNAVAILABLE, RESOURCE_EXHAUSTED or ABORTED and the node says that a retry can help (a
lost connection always does). It is safe if the request was not applied; a request that may have been applied is sent
again if it is a read, or a write that is the same if repeated:

    request                                       not applied   maybe applied
    read, listing, preview, ping                  again         again
    write with a token                            again         again
    write without one                             again         final
      of a sole writer, given timestamps, no ttl  again         again
    create, alter, drop, restore of a table       again         final

After a doubtful attempt the outcome stays in doubt whatever later attempts answer.
"""
from __future__ import annotations

import random
from dataclasses import dataclass

from cellar.errors import Applied, CellarError, Code

_PASSING = (Code.UNAVAILABLE, Code.RESOURCE_EXHAUSTED, Code.ABORTED)


@dataclass(frozen=True)
class RetryOptions:
    """Bounds of retries.

    max_attempts: per request, the first included; 1: no retries.
    backoff_min_s, backoff_max_s: the pause before attempt n + 1 is random in [1/2, 1] of backoff_min_s * 2**(n - 1), at
    most backoff_max_s, and never shorter than the node asks for.
    budget_share: retries per answered request. budget_reserve: retries that may be used at once.
    """

    max_attempts: int = 10
    backoff_min_s: float = 0.01
    backoff_max_s: float = 2.0
    budget_share: float = 0.2
    budget_reserve: int = 2000


class RetryPolicy:
    """The retries of one client. A node that refuses everything sees little more than new requests."""

    def __init__(self, options: RetryOptions) -> None:
        self._options = options
        self._budget = float(options.budget_reserve)

    def pause_s(self, error: CellarError, repeatable: bool, attempts: int, left_s: float) -> float | None:
        """The pause before the next attempt, which is charged to the budget; None: the failure is final.

        repeatable: whether a request that may have been applied may be sent again. attempts: made so far. left_s: until
        the deadline.
        """
        if attempts >= self._options.max_attempts or not worth_it(error) or not safe(error, repeatable):
            return None
        pause = max(self.backoff_s(attempts), (error.retry_after_ms or 0) / 1000)
        if pause >= left_s or self._budget < 1:
            return None
        self._budget -= 1
        return pause

    def backoff_s(self, attempts: int) -> float:
        """The pause after so many attempts, without what a node asks for."""
        full = min(self._options.backoff_min_s * 2.0 ** min(attempts - 1, 30), self._options.backoff_max_s)
        return full * random.uniform(0.5, 1.0)

    def on_answer(self) -> None:
        """A request was answered, with success or a final error."""
        self._budget = min(self._budget + self._options.budget_share, float(self._options.budget_reserve))


def worth_it(error: CellarError) -> bool:
    return error.code in _PASSING and error.retry_after_ms is not None


def safe(error: CellarError, repeatable: bool) -> bool:
    return error.applied is Applied.NOT_APPLIED or (error.applied is Applied.MAYBE_APPLIED and repeatable)
