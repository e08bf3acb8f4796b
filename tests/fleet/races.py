"""Concurrent calls."""

from __future__ import annotations

import threading
from collections.abc import Callable

from fleet.load_request import LoadOutcome
from store.errors import StokerError
from tests.support.waiting import scaled


def run_concurrently(*calls: Callable[[], LoadOutcome]) -> tuple[list[LoadOutcome], list[StokerError]]:
    """Run the calls in threads that start together. Returns their outcomes and the errors raised."""
    start = threading.Barrier(len(calls))
    outcomes: list[LoadOutcome] = []
    problems: list[StokerError] = []

    def run(call: Callable[[], LoadOutcome]) -> None:
        start.wait(scaled(10))
        try:
            outcomes.append(call())
        except StokerError as problem:
            problems.append(problem)

    threads = [threading.Thread(target=run, args=(call,)) for call in calls]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(scaled(10))
        assert not thread.is_alive()
    return outcomes, problems
