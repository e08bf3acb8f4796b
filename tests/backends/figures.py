"""What each runtime was seen to do, as one table at the end of a run of the contract.

Figures are for reading, not for passing: no test compares them with anything.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache

import pytest

from config.load import load_settings
from tasks.generation import Generation
from tests.backends.conftest import Launched
from workers.environments.status import environment_statuses

AT_ONCE = (1, 8, 32)
WINDOW_S = 1.0


@dataclass
class Row:
    """One contract class'. `rates` are tokens a second by the number of requests at once."""

    load_s: float | None = None
    rates: dict[int, float] = field(default_factory=dict)
    outcomes: Counter[str] = field(default_factory=Counter)


ROWS: dict[type, Row] = {}
"""By the contract class."""


def tokens_per_s(launched: Launched, request: Generation, count: int) -> float:
    """Tokens a second of `count` requests at once, each asked again until the window is over."""
    rounds = tokens = 0
    begun = time.monotonic()
    while not rounds or time.monotonic() - begun < WINDOW_S:
        running = [launched.begin(request, id=f"figure-{rounds}-{i}") for i in range(count)]
        for answer, thread in running:
            thread.join()
            assert answer.error is None
            assert answer.finish is not None
            tokens += answer.finish.usage.output_tokens
        rounds += 1
    return tokens / (time.monotonic() - begun)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Iterator[None]:
    """Count what became of each contract class' tests."""
    report: pytest.TestReport = yield
    contract = getattr(item, "cls", None)
    if hasattr(contract, "backend") and (report.when == "call" or report.outcome != "passed"):
        row = ROWS.setdefault(contract, Row())
        row.outcomes["broken" if report.when != "call" and report.failed else report.outcome] += 1
    return report


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print the table, if anything was measured."""
    if any(row.rates for row in ROWS.values()):
        terminalreporter.section("runtimes")
        for line in table():
            terminalreporter.write_line(line)


@cache
def versions() -> dict[str, str]:
    """What is installed for each backend that has an environment."""
    return {row.backend: row.version or "" for row in environment_statuses(load_settings().runtimes_dir)}


def table() -> list[str]:
    """Backend, version, seconds of the load, tokens a second at 1, 8 and 32 requests, and the result."""
    head = ["backend", "version", "load s", *(f"tokens/s at {count}" for count in AT_ONCE), "contract"]
    lines = [head]
    for contract, row in ROWS.items():
        name = f"{contract.backend} ({contract.kind})" if contract.kind else contract.backend
        load = "" if row.load_s is None else f"{row.load_s:.1f}"
        rates = [f"{row.rates[count]:,.0f}" if count in row.rates else "" for count in AT_ONCE]
        result = ", ".join(f"{count} {outcome}" for outcome, count in row.outcomes.items())
        lines.append([name, contract.version(), load, *rates, result])
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return ["  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)) for line in lines]
