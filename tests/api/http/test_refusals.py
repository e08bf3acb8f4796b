"""Which answers count for a tenant."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from api.http import refusals
from api.http.errors import InvalidRequest, TooManyStreams
from api.http.refusals import REFUSALS, TENANT_REFUSALS, TenantRefusalCounts, count_refusal
from store.errors import FailedInQueue, ServerBusy
from telemetry.request_ids import RequestIds, current_ids


@pytest.fixture
def ids() -> Iterator[RequestIds]:
    """The ids of a request of a caller that is not identified yet."""
    REFUSALS.take(), TENANT_REFUSALS.take()
    ids = RequestIds()
    before = current_ids.set(ids)
    yield ids
    current_ids.reset(before)
    REFUSALS.take(), TENANT_REFUSALS.take()


def test_answers_with_429_and_503_count_for_the_tenant_and_others_do_not(ids: RequestIds) -> None:
    ids.tenant = "acme"
    for error in (ServerBusy("busy"), ServerBusy("busy"), TooManyStreams("many"), InvalidRequest("no")):
        count_refusal(error)
    assert TENANT_REFUSALS.take() == {("acme", "server_busy"): 2, ("acme", "too_many_streams"): 1}
    assert REFUSALS.take() == {"server_busy": 2, "too_many_streams": 1, "invalid_request": 1}


def test_a_wait_in_vain_counts_for_the_tenant(ids: RequestIds) -> None:
    ids.tenant = "acme"
    count_refusal(FailedInQueue("too late", code="queue_timeout"))
    assert TENANT_REFUSALS.take() == {("acme", "queue_timeout"): 1}
    assert not REFUSALS.take()


@pytest.mark.usefixtures("ids")
def test_a_caller_that_is_not_identified_counts_for_no_tenant() -> None:
    count_refusal(ServerBusy("busy"))
    assert not TENANT_REFUSALS.take()
    assert REFUSALS.take() == {"server_busy": 1}


def test_counts_are_bounded_between_two_reports(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(refusals, "MOST_PAIRS", 2)
    counts = TenantRefusalCounts()
    for tenant in ("a", "b", "c", "a"):
        counts.add(tenant, "server_busy")
    assert counts.take() == {("a", "server_busy"): 2, ("b", "server_busy"): 1}
    assert not counts.take()
