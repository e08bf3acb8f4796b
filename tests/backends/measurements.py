"""Measures each engine, and prints one table at the end of a run of the contract.

The numbers are for information: no test asserts them.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache

import pytest

from config.load import load_settings
from engines.environments.status import environment_statuses
from generation.generation import Generation
from tests.backends.conftest import Launched

AT_ONCE = (1, 8, 32)
WINDOW_S = 1.0


@dataclass
class Row:
    """The results of one contract class.

    `rates` are tokens per second, by the number of requests. `prefix` are milliseconds of a prompt with one
    output token: new, repeated, and repeated in another namespace.
    """

    load_s: float | None = None
    rates: dict[int, float] = field(default_factory=dict)
    prefix: tuple[float, float, float] | None = None
    outcomes: Counter[str] = field(default_factory=Counter)


ROWS: dict[type, Row] = {}
"""The results by contract class."""


def tokens_per_s(launched: Launched, request: Generation, count: int) -> float:
    """Measure tokens per second of `count` concurrent requests, repeated until the window has passed."""
    rounds = tokens = 0
    begun = time.monotonic()
    while not rounds or time.monotonic() - begun < WINDOW_S:
        running = [launched.begin(request, id=f"measured-{rounds}-{i}") for i in range(count)]
        for answer, thread in running:
            thread.join()
            assert answer.error is None
            assert answer.finish is not None
            tokens += answer.finish.usage.output_tokens
        rounds += 1
    return tokens / (time.monotonic() - begun)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Iterator[None]:
    """Count the outcomes of the tests of each `EngineContract`, which has a row in the table."""
    report: pytest.TestReport = yield
    contract = getattr(item, "cls", None)
    if hasattr(contract, "kind") and (report.when == "call" or report.outcome != "passed"):
        row = ROWS.setdefault(contract, Row())
        row.outcomes["broken" if report.when != "call" and report.failed else report.outcome] += 1
    return report


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print the table, if there are measurements."""
    if any(row.rates or row.prefix for row in ROWS.values()):
        terminalreporter.section("runtimes")
        for line in table():
            terminalreporter.write_line(line)


@cache
def versions() -> dict[str, str]:
    """Return the installed version for each backend that has an environment."""
    return {row.backend: row.version or "" for row in environment_statuses(load_settings().runtimes_dir)}


def table() -> list[str]:
    """Return the lines: backend, version, seconds of the load, tokens per second at 1, 8 and 32, the factors
    by which a cached prefix of the own and of another namespace shortens a long prompt, outcomes.
    """
    rates = (f"tokens/s at {count}" for count in AT_ONCE)
    head = ["backend", "version", "load s", *rates, "new prompt ms", "own prefix", "other's", "contract"]
    lines = [head]
    for contract, row in ROWS.items():
        name = f"{contract.backend} ({contract.kind})" if contract.kind else contract.backend
        load = "" if row.load_s is None else f"{row.load_s:.1f}"
        rates = [f"{row.rates[count]:,.0f}" if count in row.rates else "" for count in AT_ONCE]
        result = ", ".join(f"{count} {outcome}" for outcome, count in row.outcomes.items())
        lines.append([name, contract.version(), load, *rates, *_prefix(row), result])
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return ["  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)) for line in lines]


def _prefix(row: Row) -> list[str]:
    if row.prefix is None:
        return ["", "", ""]
    new, again, other = row.prefix
    return [f"{new:.1f}", f"{new / again:.1f}x", f"{new / other:.2f}x"]
