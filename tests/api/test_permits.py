"""Concurrency permits: each is released once, by its block or by the owner that it was transferred to."""

from __future__ import annotations

import pytest

from api.errors import ServerBusy
from api.permits import ConcurrencyPermits


@pytest.fixture
def permits() -> ConcurrencyPermits:
    """A single permit."""
    return ConcurrencyPermits(3)


def test_a_permit_is_released_at_the_end_of_its_block(permits: ConcurrencyPermits) -> None:
    with permits.acquire():
        assert permits.try_acquire() is None
        with pytest.raises(ServerBusy):
            permits.acquire()
    assert permits.try_acquire() is not None


def test_a_permit_is_released_when_its_block_fails(permits: ConcurrencyPermits) -> None:
    with pytest.raises(RuntimeError, match="failed"), permits.acquire():
        raise RuntimeError("failed")
    assert permits.try_acquire() is not None


def test_a_transferred_permit_is_released_by_its_new_owner(permits: ConcurrencyPermits) -> None:
    with permits.acquire() as permit:
        release = permit.transfer()
        with pytest.raises(RuntimeError, match="transferred"):
            permit.transfer()
    assert permits.try_acquire() is None
    release()
    assert permits.try_acquire() is not None


@pytest.mark.parametrize(("threads", "count"), [(1, 1), (3, 1), (16, 14), (64, 60)])
def test_a_sixteenth_of_the_threads_stays_free(threads: int, count: int) -> None:
    assert ConcurrencyPermits(threads).count == count
