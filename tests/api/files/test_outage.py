"""Calls of a bucket that hangs: few threads wait for it, and only until the first call has failed."""

from __future__ import annotations

import pytest

from api.files import outage
from api.files.outage import RETRY_S, SLOW_S, Outages
from store.errors import StorageUnavailable
from tests.api.files.conftest import Clock


def fail(outages: Outages, clock: Clock, after_s: float, error: type[Exception] = TimeoutError) -> None:
    def hang() -> None:
        with outages.call():
            clock.now += after_s
            raise error

    with pytest.raises(error):
        hang()


def call(outages: Outages) -> None:
    with outages.call():
        pass


def test_calls_are_refused_after_one_that_hung_and_one_at_a_time_looks_again(clock: Clock) -> None:
    outages = Outages(4, clock)
    fail(outages, clock, SLOW_S)
    with pytest.raises(StorageUnavailable):
        call(outages)
    clock.now += RETRY_S
    with outages.call(), pytest.raises(StorageUnavailable):
        call(outages)
    call(outages)  # it has answered
    call(outages)


def test_an_outage_goes_on_when_the_next_call_hangs_too(clock: Clock) -> None:
    outages = Outages(4, clock)
    for _ in range(2):
        fail(outages, clock, SLOW_S)
        clock.now += RETRY_S - 1
        with pytest.raises(StorageUnavailable):
            call(outages)
        clock.now += 1


@pytest.mark.parametrize(("after_s", "error"), [(SLOW_S / 2, OSError), (SLOW_S, FileNotFoundError)])
def test_an_answer_begins_no_outage(clock: Clock, after_s: float, error: type[Exception]) -> None:
    outages = Outages(4, clock)
    fail(outages, clock, after_s, error)
    call(outages)


def test_a_call_is_refused_when_as_many_as_may_be_are_under_way(
    clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outage, "WAIT_S", 0.01)
    outages = Outages(2, clock)
    with outages.call(), outages.call(), pytest.raises(StorageUnavailable):
        call(outages)
    call(outages)
