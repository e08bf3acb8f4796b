"""Shares the event loop among connections that send much: few of them are read in each iteration.

libuv reads a connection up to 32 times in one iteration while its buffer of 250 KB comes back full, so that a
dozen fast senders of large bodies would hold up all other connections for some 100 ms.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable

LARGE_READ_BYTES = 64 * 1024
"""A connection has to wait for its turn after a read of that many bytes."""

READS_IN_TURN = 2
"""Connections that may be read again in one iteration of the loop."""


class ReadTurns:
    """The connections that wait for their turn. For the event loop's thread only."""

    def __init__(self) -> None:
        self._waiting: deque[Callable[[], None]] = deque()

    def wait(self, loop: asyncio.AbstractEventLoop, resume: Callable[[], None]) -> None:
        """Call `resume` when it is its turn, in a later iteration."""
        self._waiting.append(resume)
        if len(self._waiting) == 1:
            loop.call_soon(self._take_turns, loop)

    def _take_turns(self, loop: asyncio.AbstractEventLoop) -> None:
        turns = [self._waiting.popleft() for _ in range(min(READS_IN_TURN, len(self._waiting)))]
        if self._waiting:
            loop.call_soon(self._take_turns, loop)
        for resume in turns:
            resume()
