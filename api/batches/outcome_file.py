"""The outcomes of lines: as clients get them, and the file in which the runner collects them.

The file has a line of JSON for each outcome, in their order: `{"n": number of the line, "kind": one of
OUTCOMES, "usage": [...], "line": what the client gets}`. A runner writes to a file of its own. It begins with
what its predecessors have written, whose files it removes: what they write from then on reaches no file.
"""

from __future__ import annotations

import contextlib
import os
import secrets
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from api.batches.lines import YieldToOthers
from api.batches.record import MESSAGES, OUTCOMES
from api.files.disk_objects import sync_folder
from api.http.errors import kind_of
from api.inference.dialects.vectors import json_form
from store.errors import StokerError

ENDS = {
    "expired": ("batch_expired", "the batch expired before this line was processed"),
    "canceled": ("batch_cancelled", "the batch was cancelled before this line was processed"),
}

NO_USAGE = (0, 0, 0, 0)
LATEST = 1000


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a line. `usage`: its tokens, as in `Progress`."""

    number: int
    kind: str
    line: dict[str, Any]
    usage: Sequence[int] = NO_USAGE


@dataclass(frozen=True, slots=True)
class LineId:
    """Which line of which kind of batch; `hex` is the part of its job's id that identifies it."""

    kind: str
    number: int
    custom_id: str
    hex: str

    def openai(self, response: dict[str, Any] | None, error: dict[str, str] | None = None) -> dict[str, Any]:
        """A line of the files of /v1/batches (OpenAI API reference, "The request output object")."""
        if response is not None:
            response = {"request_id": f"req_{self.hex}", **response}
        return {
            "id": f"batch_req_{self.hex}",
            "custom_id": self.custom_id,
            "response": response,
            "error": error,
        }


def succeeded(line: LineId, body: dict[str, Any], usage: Sequence[int]) -> Outcome:
    """The outcome of a line with a whole answer."""
    if line.kind == MESSAGES:
        value = {"custom_id": line.custom_id, "result": {"type": "succeeded", "message": body}}
    else:
        value = line.openai({"status_code": 200, "body": body})
    return Outcome(line.number, "succeeded", value, usage)


def errored(
    line: LineId, error: StokerError, body: dict[str, Any], usage: Sequence[int] = NO_USAGE
) -> Outcome:
    """The outcome of a line that was refused or has failed; `body` is the error in the dialect's form."""
    if line.kind == MESSAGES:
        value = {"custom_id": line.custom_id, "result": {"type": "errored", "error": body}}
    else:
        value = line.openai({"status_code": kind_of(error.code).status, "body": body})
    return Outcome(line.number, "errored", value, usage)


def not_processed(line: LineId, reason: str) -> Outcome:
    """The outcome of a line without an answer; `reason` is `expired` or `canceled`."""
    if line.kind == MESSAGES:
        return Outcome(line.number, reason, {"custom_id": line.custom_id, "result": {"type": reason}})
    code, message = ENDS[reason]
    return Outcome(line.number, reason, line.openai(None, {"code": code, "message": message}))


class OutcomeFile:
    """The outcomes of a batch, in its folder. One writer; its errors are `OSError`."""

    SUFFIX = ".outcomes"
    NEW_SUFFIX = ".new"

    def __init__(self, folder: Path, tick: Callable[[], None] = lambda: None) -> None:
        """Take over what earlier writers have left. `tick` is called now and then by what takes long."""
        self._tick = tick
        for rest in folder.glob(f"*{self.NEW_SUFFIX}"):  # of a takeover that was killed
            rest.unlink()
        earlier = sorted(folder.glob(f"*{self.SUFFIX}"))
        self.path = folder / f"{secrets.token_hex(8)}{self.SUFFIX}"
        self.seen: set[int] = set()
        """The numbers of the lines with outcomes."""
        self.counts = dict.fromkeys(OUTCOMES, 0)
        self.usage = [0, 0, 0, 0]
        self.latest: deque[int] = deque(maxlen=LATEST)
        """The lines of the latest outcomes that it took over: their jobs may still be there."""
        temporary = self.path.with_suffix(self.NEW_SUFFIX)
        try:
            self._take_over(earlier, temporary)
        except BaseException:
            temporary.unlink(missing_ok=True)  # on a full disk each attempt would leave one
            raise
        temporary.replace(self.path)
        sync_folder(folder)
        for path in earlier:
            path.unlink()
        self._file = self.path.open("ab")

    def _take_over(self, earlier: Sequence[Path], target: Path) -> None:
        with target.open("wb") as file:
            for path in earlier:
                for raw, stored in _stored(path, self._tick):
                    if stored["n"] not in self.seen:
                        self._count(stored["n"], stored["kind"], stored["usage"])
                        self.latest.append(stored["n"])
                        file.write(raw)
            file.flush()
            os.fsync(file.fileno())

    def append(self, outcomes: Sequence[Outcome]) -> None:
        """Add outcomes; they are on disk when this returns."""
        for outcome in outcomes:
            values = {"n": outcome.number, "kind": outcome.kind, "usage": outcome.usage, "line": outcome.line}
            self._file.write(orjson.dumps(values, default=json_form) + b"\n")
        self._file.flush()
        os.fsync(self._file.fileno())
        for outcome in outcomes:
            self._count(outcome.number, outcome.kind, outcome.usage)

    def write_results(self, succeeded: Path, others: Path) -> None:
        """Write what clients get: lines with an answer to one file, the others to another or the same.

        They are on disk when this returns.
        """
        paths = {path: path.open("wb") for path in {succeeded, others}}
        try:
            for _, stored in _stored(self.path, self._tick):
                file = paths[succeeded if stored["kind"] == "succeeded" else others]
                file.write(orjson.dumps(stored["line"]) + b"\n")
            for file in paths.values():
                file.flush()
                os.fsync(file.fileno())
        finally:
            for file in paths.values():
                file.close()

    def close(self) -> None:
        """Close the file. What `append` could not write is dropped: it was never taken for written."""
        with contextlib.suppress(OSError):  # of a full disk: `close` writes what is in the buffer
            self._file.close()

    @property
    def size(self) -> int:
        """How many bytes it takes."""
        return self.path.stat().st_size

    def _count(self, number: int, kind: str, usage: Sequence[int]) -> None:
        self.seen.add(number)
        self.counts[kind] += 1
        self.usage = [before + more for before, more in zip(self.usage, usage, strict=True)]


def _stored(path: Path, tick: Callable[[], None]) -> Iterator[tuple[bytes, dict[str, Any]]]:
    """The outcomes of a file, as bytes and as values, without a last one that was not written as a whole."""
    yield_to_others = YieldToOthers(tick)
    with path.open("rb") as file:
        for raw in file:
            yield_to_others()
            if raw.endswith(b"\n"):
                yield raw, orjson.loads(raw)
