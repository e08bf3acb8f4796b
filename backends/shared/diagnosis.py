"""Replaces the message of a failed load with one sentence that names the cause, found in the engine's log.

Runtimes report most errors only in their logs. Each backend lists the messages of its runtime, each with the
sentence that an operator gets: the cause, and what to do.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from backends.base import LoadError
from config.commands import with_runnable_commands
from engines.engine_process.process import LOG_NAME
from telemetry.text import printable

READ_BYTES = 1 << 20
MAX_QUOTED = 240  # characters of a runtime's message

Diagnoses = Sequence[tuple[str, str]]
"""Pairs of a regular expression and a sentence; {0}, {1} ... in the sentence are the groups that matched."""


def diagnose(log: str, diagnoses: Diagnoses, quote: Quote | None = None) -> str | None:
    """Return the sentence of the first pattern that occurs in the log; None if there is none.

    With `quote`, the runtime's own message follows in parentheses.
    """
    for pattern, sentence in diagnoses:
        if found := re.search(pattern, log):
            groups = [printable(group).strip() for group in found.groups() if group is not None]
            text = with_runnable_commands(sentence).format(*groups)
            return text if quote is None else f"{text} ({quote.runtime}: {quote.of(log, found)})"
    return None


@dataclass(frozen=True, slots=True)
class Quote:
    """How a runtime's message is quoted.

    `runtime` is its name; `line` takes a message out of a line of its log.
    """

    runtime: str
    line: Callable[[str], str]

    def of(self, log: str, found: re.Match[str]) -> str:
        """The message of the line in which the first group, or else the whole match, begins."""
        begin = next((found.start(at) for at in range(1, found.re.groups + 1) if found[at]), found.start())
        text = printable(self.line(log[log.rfind("\n", 0, begin) + 1 :].partition("\n")[0])).strip()
        return text if len(text) <= MAX_QUOTED else f"{text[:MAX_QUOTED]}..."


@contextmanager
def diagnosing(directory: Path, diagnoses: Diagnoses, quote: Quote | None = None) -> Iterator[None]:
    """Replace the message of a load that fails inside the block with the diagnosis from its log, if any.

    `directory` is the folder of the load, which holds the log.
    """
    try:
        yield
    except LoadError as error:
        log = _end_of(directory / LOG_NAME) if error.code == "load_failed" else ""
        if (sentence := diagnose(log, diagnoses, quote)) is None:
            raise
        raise LoadError("load_failed", sentence) from error


def _end_of(log: Path) -> str:
    with suppress(OSError), log.open("rb") as file:
        file.seek(max(0, log.stat().st_size - READ_BYTES))
        return file.read().decode("utf-8", "replace")
    return ""
