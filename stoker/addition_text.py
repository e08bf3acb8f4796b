"""The plan of an addition and the progress of its download, in words."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Mapping
from typing import Any

from stoker.chat.rendering import printable
from stoker.models import subject_of
from stoker.tables import align

Json = Mapping[str, Any]

FITS, EVICTS, TOO_LARGE = "fits", "fits_with_eviction", "too_large"
MAX_VALUE = 60
"""Characters of a value that are shown."""

MIN_REASON = 20
"""Reasons are not wrapped into a column that has fewer characters."""

SHARE_STEP = 0.1
"""Without a terminal a line is written each time that a download has progressed by this share."""


def plan_lines(plan: Json, width: int | None = None) -> list[str]:
    """Return lines with a plan: its files, its settings with the reasons of the defaults, and its fit.

    `width` is that of the terminal, to which reasons are wrapped; None: they are not.
    """
    files = [("file", "size"), *((str(file["name"]), size(file["bytes"])) for file in plan["files"])]
    lines = [
        f"{plan['model']} from {plan['source']}",
        "",
        *align(files),
        "",
        *_wrapped([("setting", "value", "reason"), *_settings(plan)], width),
        "",
        fit_sentence(plan["fit"]),
    ]
    return [printable(line) for line in lines]  # a hub gave the names of the files


def _settings(plan: Json) -> list[tuple[str, ...]]:
    """The rows of what was given, and of the defaults with their reasons."""
    defaults = {str(default["field"]): default for default in plan["defaults"]}
    known = {"model_path", *defaults}
    given = [(name, value) for name, value in plan["configuration"].items() if name not in known]
    rows = [(name, _short(default["value"]), str(default["reason"])) for name, default in defaults.items()]
    return [*((name, _short(value), "") for name, value in given), *rows]


def _wrapped(rows: list[tuple[str, ...]], width: int | None) -> list[str]:
    """Format rows as lines, with the last cell of each in as many lines as it needs."""
    left = sum(max(len(row[at]) for row in rows) + 2 for at in (0, 1))
    if width is None or width - left < MIN_REASON:
        return align(rows)
    lines: list[tuple[str, ...]] = []
    for name, value, reason in rows:
        first, *others = textwrap.wrap(reason, width - left) or [""]
        lines += [(name, value, first), *(("", "", other) for other in others)]
    return align(lines)


def _short(value: object) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= MAX_VALUE else f"{text[: MAX_VALUE - 3]}..."


def fit_sentence(fit: Json) -> str:
    """Return whether the model fits, and why, which has the numbers."""
    evicts = f"{', '.join(map(str, fit['evicts']))} {'is' if len(fit['evicts']) == 1 else 'are'}"
    words = {
        FITS: "It fits",
        EVICTS: f"It fits if {evicts} unloaded",
        TOO_LARGE: "It is too large",
    }.get(str(fit["verdict"]), "Whether it fits is not known")
    reason = str(fit.get("reason") or "").rstrip(".") or _numbers(fit)
    return f"{words}: {reason}." if reason else f"{words}."


def _numbers(fit: Json) -> str:
    """The memory in words, for a fit without a reason, which has them."""
    need, free, total = fit["need_mib"], fit["free_mib"], fit["total_mib"]
    numbers = [] if need is None else [f"it needs {need} MiB"]
    if free is not None and total is not None:
        numbers.append(f"{free} of {total} MiB are free")
    return ", ".join(numbers)


def size(count: int) -> str:
    """Return a number of bytes for people, in the units of a download's stage."""
    if count >= 1e8:
        return f"{count / 1e9:.2f} GB"
    return f"{count / 1e6:.2f} MB" if count >= 1e4 else f"{count} bytes"


def question(plan: Json) -> tuple[str, bool]:
    """Return the question before an addition, and whether Enter means yes."""
    download = plan["download_bytes"]
    verb = f"Download {size(download)} and add it" if download else "Add it"
    is_harmless = plan["fit"]["verdict"] not in (EVICTS, TOO_LARGE)
    return f"{verb}? [{'Y/n' if is_harmless else 'y/N'}] ", is_harmless


class DownloadProgress:
    """Makes a line of each look at a download: its share, its rate over the last seconds, its remaining time.

    `total` is the number of bytes to download. Without a terminal a line is repeated until the next step.
    """

    WINDOW_S = 5.0

    def __init__(self, total: int, *, is_terminal: bool) -> None:
        self._total, self._is_terminal = total, is_terminal
        self._samples: list[tuple[float, float]] = []  # of (time, share)
        self._line, self._next_share = "", 0.0

    def line(self, operation: Json, now: float) -> str:
        """Return the line to show now. `now` is in seconds, by any clock."""
        share = float(operation.get("progress") or 0.0)
        self._samples.append((now, share))
        while now - self._samples[0][0] > self.WINDOW_S:
            self._samples.pop(0)
        if self._is_terminal or share >= self._next_share or not self._line:
            self._next_share = share + SHARE_STEP
            self._line = self._words(operation, share)
        return self._line

    def _words(self, operation: Json, share: float) -> str:
        stage = str(operation.get("stage") or "").removeprefix("downloading: ")
        parts = [f"{subject_of(operation)}: downloading {100 * share:.0f} %{f' ({stage})' if stage else ''}"]
        (first_at, first), (last_at, last) = self._samples[0], self._samples[-1]
        if last > first and self._total:
            parts.append(f"{size(int((last - first) * self._total / (last_at - first_at)))}/s")
        left = operation.get("eta_s")
        if isinstance(left, (int, float)) and left >= 1:
            parts.append(f"about {_seconds(left)} left")
        return ", ".join(parts)


def _seconds(count: float) -> str:
    return f"{count:.0f} s" if count < 120 else f"{count / 60:.0f} min"
