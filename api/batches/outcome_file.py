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
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Self

import orjson

from api.batches.lines import Steps
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

SYNC_BYTES = 16 * 1024 * 1024
"""So many bytes are written to a file between two syncs."""

LINE_FIELD = b',"line":'
"""Precedes what the client gets in a line of the file, as the last field."""


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

    def __init__(self, path: Path) -> None:
        """`open` makes the file at the path."""
        self.path = path
        self.seen: set[int] = set()
        """The numbers of the lines with outcomes."""
        self.counts = dict.fromkeys(OUTCOMES, 0)
        self.usage = [0, 0, 0, 0]
        self.latest: deque[int] = deque(maxlen=LATEST)
        """The lines of the latest outcomes that it took over: their jobs may still be there."""
        self._file: BinaryIO

    @classmethod
    def open(cls, folder: Path) -> Steps[OutcomeFile]:
        """The new file of a folder, which takes over what earlier writers have left; a step for each line."""
        for rest in folder.glob(f"*{cls.NEW_SUFFIX}"):  # of a takeover that was killed
            rest.unlink()
        earlier = sorted(folder.glob(f"*{cls.SUFFIX}"))
        made = cls(folder / f"{secrets.token_hex(8)}{cls.SUFFIX}")
        temporary = made.path.with_suffix(cls.NEW_SUFFIX)
        try:
            yield from made._take_over(earlier, temporary)
        except BaseException:
            temporary.unlink(missing_ok=True)  # on a full disk each attempt would leave one
            raise
        temporary.replace(made.path)
        sync_folder(folder)
        for path in earlier:
            path.unlink()
        made._file = made.path.open("ab")
        return made

    def _take_over(self, earlier: Sequence[Path], target: Path) -> Steps[None]:
        with SyncedFile(target) as file:
            for path in earlier:
                for stored in _stored(path):
                    yield True
                    if stored.number not in self.seen:
                        self._count(stored.number, stored.kind, stored.usage)
                        self.latest.append(stored.number)
                        file.write(stored.raw)

    def append(self, outcomes: Sequence[Outcome]) -> None:
        """Add outcomes; they are on disk when this returns."""
        for outcome in outcomes:
            values = {"n": outcome.number, "kind": outcome.kind, "usage": outcome.usage, "line": outcome.line}
            self._file.write(orjson.dumps(values, default=json_form) + b"\n")
        self._file.flush()
        os.fsync(self._file.fileno())
        for outcome in outcomes:
            self._count(outcome.number, outcome.kind, outcome.usage)

    def write_results(self, succeeded: Path, others: Path) -> Steps[None]:
        """Write what clients get: lines with an answer to one file, the others to another or the same.

        A step for each line. They are on disk when this returns.
        """
        with contextlib.ExitStack() as stack:
            files = {path: stack.enter_context(SyncedFile(path)) for path in {succeeded, others}}
            for stored in _stored(self.path):
                yield True
                files[succeeded if stored.kind == "succeeded" else others].write(stored.line)

    def close(self) -> None:
        """Close the file. What `append` could not write is dropped: it was never taken for written."""
        with contextlib.suppress(OSError):  # of a full disk: `close` writes what is in the buffer
            self._file.close()

    def _count(self, number: int, kind: str, usage: Sequence[int]) -> None:
        self.seen.add(number)
        self.counts[kind] += 1
        self.usage = [before + more for before, more in zip(self.usage, usage, strict=True)]


class SyncedFile:
    """A new file, which is on disk when the block ends without an error. No sync takes long."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("wb")
        self._unsynced = 0

    def write(self, data: bytes) -> None:
        """Write bytes."""
        self._file.write(data)
        self._unsynced += len(data)
        if self._unsynced >= SYNC_BYTES:
            self._sync()

    def _sync(self) -> None:
        self._file.flush()
        os.fsync(self._file.fileno())
        self._unsynced = 0

    def __enter__(self) -> Self:
        """Begin the block."""
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """Sync the file, unless the block failed, and close it."""
        with self._file:
            if kind is None:
                self._sync()


@dataclass(frozen=True, slots=True)
class StoredOutcome:
    """An outcome of a file: the stored form `raw`, and `line`, what clients get, with a line feed each."""

    raw: bytes
    line: bytes
    number: int
    kind: str
    usage: Sequence[int]


def _stored(path: Path) -> Iterator[StoredOutcome]:
    """The outcomes of a file, without a last one that was not written as a whole."""
    with path.open("rb") as file:
        for raw in file:
            if raw.endswith(b"\n"):
                head, _, line = raw.partition(LINE_FIELD)  # the line may be large: it is not parsed
                values = orjson.loads(head + b"}")
                yield StoredOutcome(
                    raw, line.removesuffix(b"}\n") + b"\n", values["n"], values["kind"], values["usage"]
                )
