"""Estimates the progress of a load of vLLM from its log and from the time.

The log is the only source of progress while vLLM loads. Each stage begins with a certain line; within it,
half of the rest passes in each expected duration. So progress never stops, never decreases, and reaches
the end of a stage only with the line that ends it.
"""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from backends.shared.start import EngineStart
from engines.engine_process.process import LOG_NAME

TICK_S = 0.25
READ_BYTES = 1 << 20
SHARD_PROGRESS = re.compile(rb"checkpoint shards: +(\d+)% Completed")


@dataclass(frozen=True)
class Stage:
    """A stage of the load: begins with a line that contains `marker`, at the fraction `begin` of the load."""

    marker: bytes
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
LOADING_STAGE = STAGES[3]


class LogProgress:
    """The progress of one load; `read` continues to read its log."""

    def __init__(self, log: Path) -> None:
        self._log = log
        self._offset = 0
        self._partial_line = b""
        self._stage = 0
        self._since = time.monotonic()
        self._shards = 0.0  # fraction of the weights that is loaded, according to the log

    def read(self) -> tuple[float, str]:
        """Read new lines. Returns the fraction that is done (0 to 1) and the name of the stage."""
        for line in self._lines():
            self._parse(line)
        stage, end = STAGES[self._stage], self._end()
        passed = (time.monotonic() - self._since) / stage.expected_s
        begin = stage.begin + (end - stage.begin) * self._shards
        return begin + (end - begin) * (1 - 0.5**passed), stage.name

    def _end(self) -> float:
        return STAGES[self._stage + 1].begin if self._stage + 1 < len(STAGES) else 1.0

    def _parse(self, line: bytes) -> None:
        for index in range(len(STAGES) - 1, self._stage, -1):
            if STAGES[index].marker in line:
                self._stage, self._since, self._shards = index, time.monotonic(), 0.0
                return
        if STAGES[self._stage] is LOADING_STAGE and (found := SHARD_PROGRESS.search(line)):
            shards = int(found[1]) / 100
            if shards > self._shards:
                self._shards, self._since = shards, time.monotonic()

    def _lines(self) -> list[bytes]:
        try:
            with self._log.open("rb") as file:
                file.seek(self._offset)
                data = file.read(READ_BYTES)
        except OSError:
            return []
        self._offset += len(data)
        *lines, self._partial_line = re.split(rb"[\r\n]", self._partial_line + data)
        return lines


@contextmanager
def reporting_progress(start: EngineStart) -> Iterator[None]:
    """Report the progress of a start from a thread while the block runs."""
    log = start.launch.directory / LOG_NAME
    log.unlink(missing_ok=True)  # the log of an earlier engine
    progress, finished = LogProgress(log), threading.Event()

    def report() -> None:
        while not finished.wait(TICK_S):
            start.progress(*progress.read())

    thread = threading.Thread(target=report, name=f"load-{start.launch.replica}", daemon=True)
    start.progress(*progress.read())
    thread.start()
    try:
        yield
    finally:
        finished.set()
        thread.join()
