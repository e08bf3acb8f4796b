"""A request's own time limit bounds its wait and its run together; what is too late reaches no engine."""

from __future__ import annotations

import pytest

from tests.support.simulated_platform import SimulatedPlatform

QUEUE_TIMEOUT = 120.0
TOTAL = 600.0
STOP = 5.0


@pytest.fixture
def busy(empty_platform: SimulatedPlatform) -> SimulatedPlatform:
    """A platform whose only slot is taken."""
    empty_platform.register()
    empty_platform.load(slots=1)
    empty_platform.run(empty_platform.admit())
    return empty_platform


def test_a_waiting_job_ends_at_its_own_limit(busy: SimulatedPlatform) -> None:
    id = busy.admit(time_limit_ms=5000)
    busy.run_for(4, "w1")
    assert busy.status(id) == "queued"
    busy.run_for(2, "w1")
    assert busy.end(id).code == "deadline_exceeded"
    assert busy.waiting() == []


def test_a_run_ends_at_its_own_limit(platform: SimulatedPlatform) -> None:
    id = platform.admit(time_limit_ms=5000)
    platform.run(id)
    platform.run_for(4, "w1")
    assert platform.status(id) == "running"
    platform.run_for(2 + STOP, "w1")
    assert platform.end(id).code == "deadline_exceeded"


def test_the_limit_covers_the_wait_and_the_run(busy: SimulatedPlatform) -> None:
    id = busy.admit(time_limit_ms=10_000)
    busy.claimed()
    busy.advance_time(6)
    busy.ledger.heartbeat("w1", busy.incarnations["w1"])
    (first,) = busy.ledger.take_claims("w1", busy.incarnations["w1"], ())
    busy.receive("w1", [first])
    busy.release(first)
    busy.run(id)
    busy.run_for(3, "w1")
    assert busy.status(id) == "running"
    busy.run_for(2 + STOP, "w1")
    assert busy.end(id).code == "deadline_exceeded"


def test_a_job_that_is_too_late_is_not_dispatched(empty_platform: SimulatedPlatform) -> None:
    platform = empty_platform
    platform.register()
    platform.load(slots=1)
    first = platform.run(platform.admit())
    late, other = platform.admit(time_limit_ms=2000), platform.admit()
    platform.advance_time(3)  # the reaper has not run yet
    platform.release(first)
    assert platform.claimed() == [other]
    end = platform.end(late)
    assert (end.status, end.code, end.run_ms) == ("failed", "deadline_exceeded", 0)
    assert platform.field(late, "attempts") == "0"


def test_a_long_limit_extends_neither_the_wait_nor_the_run(busy: SimulatedPlatform) -> None:
    id = busy.admit(time_limit_ms=3_600_000)
    busy.run_for(QUEUE_TIMEOUT + 1, "w1")
    assert busy.end(id).code == "queue_timeout"


def test_a_long_limit_does_not_extend_a_run_that_waited(empty_platform: SimulatedPlatform) -> None:
    platform = empty_platform
    platform.register()
    platform.load(slots=1)
    first = platform.run(platform.admit())
    id = platform.admit(time_limit_ms=3_600_000)
    platform.release(first)
    platform.run(id)
    platform.run_for(TOTAL + STOP + 1, "w1")
    assert platform.end(id).code == "deadline_exceeded"
