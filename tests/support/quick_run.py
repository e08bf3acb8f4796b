"""`make quick` (`pytest --quick`): the tests that start no process and no services of the API.

Tests that use Redis, those services or the whole platform are not selected. Any other test runs, and is
skipped when it starts a process: no list of tests has to be kept.
"""

from __future__ import annotations

import sys
from collections.abc import Generator

import pytest

SLOW_FIXTURES = frozenset({"shared_server", "own_server", "services"})
PROCESS_EVENTS = frozenset({"subprocess.Popen", "os.fork", "os.forkpty", "os.posix_spawn", "os.system"})
"""The audit events that Python raises before it starts a process."""

REASON = "it starts a process"


class QuickRun:
    """The plugin of a quick run."""

    def __init__(self) -> None:
        self._is_running_a_test = False
        self._has_started_a_process = False
        sys.addaudithook(self._on_event)

    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        """Deselect the tests that use Redis, the services of the API or the platform."""
        slow = [item for item in items if is_slow(item)]
        config.hook.pytest_deselected(items=slow)
        items[:] = [item for item in items if not is_slow(item)]

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self) -> Generator[None, object, object]:
        """Forbid processes while a test runs."""
        self._is_running_a_test, self._has_started_a_process = True, False
        try:
            return (yield)
        finally:
            self._is_running_a_test = False

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Report a test as skipped that fails since it could start no process."""
        report = yield
        if report.failed and self._has_started_a_process:
            path, line, _ = item.location
            report.outcome, report.longrepr = "skipped", (path, line or 0, REASON)
        return report

    def _on_event(self, event: str, _arguments: tuple[object, ...]) -> None:
        if event in PROCESS_EVENTS and self._is_running_a_test:
            self._has_started_a_process = True
            pytest.skip(REASON)


def is_slow(item: pytest.Item) -> bool:
    """Whether the test uses Redis, the services of the API or the whole platform."""
    fixtures = getattr(item, "fixturenames", ())
    return not SLOW_FIXTURES.isdisjoint(fixtures) or item.get_closest_marker("journey") is not None
