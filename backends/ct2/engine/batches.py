"""Forms batches from waiting rows, for a library without continuous batching.

No row can join a batch that runs, so a short request would wait for the end of a long one. Therefore several
batches run side by side; but each of them costs about as much as one batch with many rows. So the first
waiting row is delayed until other rows can share its batch, and the delay grows with the number of running
batches.
"""

from __future__ import annotations

import os
import sys
import threading
import time
import traceback
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

MAX_BATCHES = 8
"""Batches that run side by side."""

MAX_ROWS = 64
FIRST_DELAY_S = 0.003
MAX_DELAY_S = 1.0


@dataclass(eq=False)
class BatchRow:
    """One sequence of a batch: the number of its request, its prompt, and the most tokens to generate."""

    number: int
    tokens: list[str]
    limit: int
    queued_at: float = field(default_factory=time.monotonic)
    generated: int = 0
    finished: bool = False
    """No more tokens are wanted: the library ends the row with its next token."""


RowT = TypeVar("RowT", bound=BatchRow)

OnTokens = Callable[[int, Sequence[str], bool], bool]
"""Takes tokens of one row of a batch: its index, the tokens, whether they are the last. True ends the row."""

RunBatch = Callable[[Sequence[RowT], OnTokens], None]
"""Runs a batch to its end, in a thread of its own."""

CanShare = Callable[[RowT, RowT], bool]
"""Whether the second row may share a batch with the first, which has waited longest."""

RowTokens = tuple[RowT, Sequence[str], bool]
"""A row, tokens of it, and whether they are its last."""


def batch_delay_s(running: int) -> float:
    """How long the first row of a new batch waits for others while `running` batches run."""
    return min(MAX_DELAY_S, FIRST_DELAY_S * 4.0**running)


def next_batch(
    waiting: Sequence[RowT], running: int, can_share: CanShare[RowT], now: float
) -> tuple[list[RowT], float | None]:
    """The rows of the batch to start now; or no rows, and the seconds until a batch may be due (None:
    unknown)."""
    if not waiting or running >= MAX_BATCHES:
        return [], None
    oldest = waiting[0]
    left = oldest.queued_at + batch_delay_s(running) - now
    if left > 0:
        return [], left
    return [row for row in waiting if row is oldest or can_share(oldest, row)][:MAX_ROWS], None


class BatchScheduler(Generic[RowT]):
    """Queues rows and runs them in batches, each in a thread.

    All methods belong to the thread of the engine's loop. `wake_fd` is readable when there are new tokens;
    `read_tokens` returns them.
    """

    def __init__(self, run_batch: RunBatch[RowT], can_share: CanShare[RowT]) -> None:
        self.waiting: list[RowT] = []
        self.running = 0
        self._run_batch = run_batch
        self._can_share = can_share
        # tokens, or the rows of an ended batch
        self._published: deque[RowTokens[RowT] | list[RowT]] = deque()
        self._woken = False
        self.wake_fd, self._wake_writer = os.pipe()

    def add(self, row: RowT) -> None:
        """Queue a row."""
        self.waiting.append(row)

    def remove(self, row: RowT) -> None:
        """End a row, whether it waits or runs."""
        row.finished = True
        if row in self.waiting:
            self.waiting.remove(row)

    def start_due(self) -> float | None:
        """Start the batches that are due; the seconds until the next is due, None when no row is delayed."""
        while True:
            rows, left = next_batch(self.waiting, self.running, self._can_share, time.monotonic())
            if not rows:
                return left
            self.waiting = [row for row in self.waiting if row not in rows]
            self.running += 1
            threading.Thread(target=self._run_thread, args=(rows,), daemon=True).start()

    def read_tokens(self) -> list[RowTokens[RowT]]:
        """The tokens since the last call. A row whose batch failed ends with no tokens."""
        os.read(self.wake_fd, 4096)
        # before the queue is read, so that tokens published meanwhile wake the loop again
        self._woken = False
        tokens: list[RowTokens[RowT]] = []
        while self._published:
            published = self._published.popleft()
            if isinstance(published, tuple):
                tokens.append(published)
                continue
            self.running -= 1
            tokens += [(row, (), True) for row in published if not row.finished]
        return tokens

    def _run_thread(self, rows: list[RowT]) -> None:
        def on_tokens(index: int, tokens: Sequence[str], last: bool) -> bool:
            row = rows[index]
            if row.finished:
                return True
            row.generated += len(tokens)
            finished = last or row.generated >= row.limit
            if finished:  # never reset it: the loop may have removed the row since the check above
                row.finished = True
            self._publish((row, tokens, finished))
            return row.finished

        failed = not self._try_batch(rows, on_tokens)
        if failed and len(rows) > 1:  # one row may have been too much for the library: run the others alone
            for index, row in enumerate(rows):
                if not row.finished and not row.generated:
                    self._try_batch([row], lambda _, *rest, index=index: on_tokens(index, *rest))
        self._publish(rows)

    def _try_batch(self, rows: list[RowT], on_tokens: OnTokens) -> bool:
        """Run a batch; false when it failed."""
        try:
            self._run_batch(rows, on_tokens)
        except Exception as error:
            traceback.print_exc()
            if "CUDA" in str(error) and "out of memory" not in str(error):
                sys.stderr.flush()
                os._exit(1)  # a device error persists for the rest of the process
            return False
        return True

    def _publish(self, item: RowTokens[RowT] | list[RowT]) -> None:
        self._published.append(item)
        if not self._woken:
            self._woken = True
            os.write(self._wake_writer, b".")
