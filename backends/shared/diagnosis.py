"""Replaces the message of a failed load with one sentence that names the cause, found in the engine's log.

Runtimes report most errors only in their logs. Each backend lists the messages of its runtime, each with the
sentence that an operator gets: the cause, and what to do.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from backends.base import LoadError
from config.commands import with_runnable_commands
from engines.engine_process.process import LOG_NAME
from telemetry.text import printable

READ_BYTES = 1 << 20

Diagnoses = Sequence[tuple[str, str]]
"""Pairs of a regular expression and a sentence; {0}, {1} ... in the sentence are the groups that matched."""


def diagnose(log: str, diagnoses: Diagnoses) -> str | None:
    """Return the sentence of the first pattern that occurs in the log; None if there is none."""
    for pattern, sentence in diagnoses:
        if found := re.search(pattern, log):
            groups = (printable(group).strip() for group in found.groups() if group is not None)
            return with_runnable_commands(sentence).format(*groups)
    return None


@contextmanager
def diagnosing(directory: Path, diagnoses: Diagnoses) -> Iterator[None]:
    """Replace the message of a load that fails inside the block with the diagnosis from its log, if any.

    `directory` is the folder of the load, which holds the log.
    """
    try:
        yield
    except LoadError as error:
        sentence = diagnose(_end_of(directory / LOG_NAME), diagnoses) if error.code == "load_failed" else None
        if sentence is None:
            raise
        raise LoadError("load_failed", sentence) from error


def _end_of(log: Path) -> str:
    with suppress(OSError), log.open("rb") as file:
        file.seek(max(0, log.stat().st_size - READ_BYTES))
        return file.read().decode("utf-8", "replace")
    return ""
