"""Batches for a library that has no continuous batching: they are formed from what is waiting.

A batch takes no one on its way, so a short request would wait for a long one. Therefore several batches run
side by side; but each of them costs about as much as one with many rows. So the first that comes waits a
moment for company, and the more batches run already the longer that moment is.
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

MOST = 8
"""Batches side by side."""

MOST_ROWS = 64
FIRST_WAIT_S = 0.003
LONGEST_WAIT_S = 1.0


@dataclass(eq=False)
class Row:
    """One sequence of a batch: whose it is, its prompt, and the most tokens that it may say."""

    number: int
    tokens: list[str]
    limit: int
    since: float = field(default_factory=time.monotonic)
    said: int = 0
    over: bool = False
    """Nobody wants more of it: the library ends it when it speaks next."""


RowT = TypeVar("RowT", bound=Row)

Hear = Callable[[int, Sequence[str], bool], bool]
"""Takes what a row of a batch said (its place, tokens, whether it is over); true: the row is to end."""

Run = Callable[[Sequence[RowT], Hear], None]
"""Runs a batch to its end, in a thread of its own."""

Fits = Callable[[RowT, RowT], bool]
"""Whether a row may share a batch with the one that waited longest."""


def wait_s(running: int) -> float:
    """How long the first of a new batch waits for company while so many run."""
    return min(LONGEST_WAIT_S, FIRST_WAIT_S * 4.0**running)


def choose(
    waiting: Sequence[RowT], running: int, fits: Fits[RowT], now: float
) -> tuple[list[RowT], float | None]:
    """The rows of the batch that is to start now, or none and after how many seconds to look again."""
    if not waiting or running >= MOST:
        return [], None
    oldest = waiting[0]
    left = oldest.since + wait_s(running) - now
    if left > 0:
        return [], left
    return [row for row in waiting if row is oldest or fits(oldest, row)][:MOST_ROWS], None


class Batches(Generic[RowT]):
    """Those that run, and who waits for one. All but what `run` does belongs to the thread of the loop.

    `wake` is readable when somebody said something; `hear` tells what.
    """

    def __init__(self, run: Run[RowT], fits: Fits[RowT]) -> None:
        self.waiting: list[RowT] = []
        self.running = 0
        self._run = run
        self._fits = fits
        self._heard: deque[tuple[RowT, Sequence[str], bool] | list[RowT]] = deque()
        self._told = False
        self.wake, self._waker = os.pipe()

    def add(self, row: RowT) -> None:
        """Put a row in line."""
        self.waiting.append(row)

    def drop(self, row: RowT) -> None:
        """End a row wherever it is."""
        row.over = True
        if row in self.waiting:
            self.waiting.remove(row)

    def start(self) -> float | None:
        """Start what is due; the seconds until something is, None when nothing waits for its time."""
        while True:
            rows, left = choose(self.waiting, self.running, self._fits, time.monotonic())
            if not rows:
                return left
            self.waiting = [row for row in self.waiting if row not in rows]
            self.running += 1
            threading.Thread(target=self._run_batch, args=(rows,), daemon=True).start()

    def hear(self) -> list[tuple[RowT, Sequence[str], bool]]:
        """What was said since: a row, its tokens, and whether that was its end.

        A row whose batch failed ends with no tokens at all.
        """
        os.read(self.wake, 4096)
        self._told = False  # before looking, so that nobody's word is missed
        heard: list[tuple[RowT, Sequence[str], bool]] = []
        while self._heard:
            news = self._heard.popleft()
            if isinstance(news, tuple):
                heard.append(news)
                continue
            self.running -= 1
            heard += [(row, (), True) for row in news if not row.over]
        return heard

    def _run_batch(self, rows: list[RowT]) -> None:
        def hear(place: int, tokens: Sequence[str], last: bool) -> bool:
            row = rows[place]
            if row.over:
                return True
            row.said += len(tokens)
            over = last or row.said >= row.limit
            if over:  # never back: it may have been dropped since it was looked at
                row.over = True
            self._tell((row, tokens, over))
            return row.over

        failed = not self._try(rows, hear)
        if failed and len(rows) > 1:  # one may have been too much for the library: the others try alone
            for place, row in enumerate(rows):
                if not row.over and not row.said:
                    self._try([row], lambda _, *said, place=place: hear(place, *said))
        self._tell(rows)

    def _try(self, rows: list[RowT], hear: Hear) -> bool:
        try:
            self._run(rows, hear)
        except Exception as error:
            traceback.print_exc()
            if "CUDA" in str(error) and "out of memory" not in str(error):
                sys.stderr.flush()
                os._exit(1)  # what is wrong with a device stays wrong for this process
            return False
        return True

    def _tell(self, news: tuple[RowT, Sequence[str], bool] | list[RowT]) -> None:
        self._heard.append(news)
        if not self._told:
            self._told = True
            os.write(self._waker, b".")
