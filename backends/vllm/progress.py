"""How far a load of vLLM is: what its log tells, and the clock in between.

The log is the only thing that speaks while vLLM loads. Each stage begins with a line of it; within a stage,
half of what is left passes in each expected time, so progress never stands still, never goes back, and
reaches a stage's end only with the line that says so.
"""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from backends.shared.start import Start
from workers.engine_process.process import LOG_NAME

TICK_S = 0.25
READ_BYTES = 1 << 20
SHARDS = re.compile(rb"checkpoint shards: +(\d+)% Completed")


@dataclass(frozen=True)
class Stage:
    """A stage begins with a line that holds `sign`, at `begin` of the load (0 to 1), and may take a while."""

    sign: bytes
    begin: float
    name: str
    expected_s: float


STAGES = (
    Stage(b"", 0.0, "importing vLLM", 8.0),
    Stage(b"Resolved architecture", 0.2, "reading the model's configuration", 5.0),
    Stage(b"Initializing a V1 LLM engine", 0.35, "starting the engine's core", 8.0),
    Stage(b"Starting to load model", 0.5, "loading the weights", 20.0),
    Stage(b"Loading weights took", 0.8, "making the cache", 10.0),
    Stage(b"KV cache size", 0.85, "warming up", 20.0),
    Stage(b"init engine (profile", 0.94, "getting ready", 3.0),
)
LOADING = STAGES[3]


class Told:
    """What a log has told so far; `tell` reads on in it."""

    def __init__(self, log: Path) -> None:
        self._log = log
        self._read = 0
        self._rest = b""
        self._at = 0
        self._since = time.monotonic()
        self._shards = 0.0  # of the weights, as far as the log says

    def tell(self) -> tuple[float, str]:
        """How much is done (0 to 1), and the stage."""
        for line in self._lines():
            self._take(line)
        stage, end = STAGES[self._at], self._end()
        passed = (time.monotonic() - self._since) / stage.expected_s
        begin = stage.begin + (end - stage.begin) * self._shards
        return begin + (end - begin) * (1 - 0.5**passed), stage.name

    def _end(self) -> float:
        return STAGES[self._at + 1].begin if self._at + 1 < len(STAGES) else 1.0

    def _take(self, line: bytes) -> None:
        for index in range(len(STAGES) - 1, self._at, -1):
            if STAGES[index].sign in line:
                self._at, self._since, self._shards = index, time.monotonic(), 0.0
                return
        if STAGES[self._at] is LOADING and (found := SHARDS.search(line)):
            shards = int(found[1]) / 100
            if shards > self._shards:
                self._shards, self._since = shards, time.monotonic()

    def _lines(self) -> list[bytes]:
        try:
            with self._log.open("rb") as file:
                file.seek(self._read)
                data = file.read(READ_BYTES)
        except OSError:
            return []
        self._read += len(data)
        *lines, self._rest = re.split(rb"[\r\n]", self._rest + data)
        return lines


@contextmanager
def following(start: Start) -> Iterator[None]:
    """Report a start's progress from a thread for as long as the block runs."""
    log = start.launch.directory / LOG_NAME
    log.unlink(missing_ok=True)  # an earlier engine's
    told, over = Told(log), threading.Event()

    def follow() -> None:
        while not over.wait(TICK_S):
            start.progress(*told.tell())

    thread = threading.Thread(target=follow, name=f"load-{start.launch.replica}", daemon=True)
    start.progress(*told.tell())
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
