"""Which answers count for a tenant."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from api.http import rejection_counts
from api.http.errors import InvalidRequest, TooManyStreams
from api.http.rejection_counts import (
    REJECTIONS,
    TENANT_ERRORS,
    TENANT_REJECTIONS,
    TenantRejectionCounts,
    count_rejection,
)
from store.errors import FailedInQueue, ServerBusy
from telemetry.request_ids import RequestIds, current_ids


def forget_all() -> None:
    for counts in (REJECTIONS, TENANT_REJECTIONS, TENANT_ERRORS):
        counts.take()


@pytest.fixture
def ids() -> Iterator[RequestIds]:
    """The ids of a request of a caller that is not identified yet."""
    forget_all()
    ids = RequestIds()
    before = current_ids.set(ids)
    yield ids
    current_ids.reset(before)
    forget_all()


def test_answers_with_429_and_503_count_for_the_tenant_beside_all_its_errors(ids: RequestIds) -> None:
    ids.tenant = "acme"
    for error in (ServerBusy("busy"), ServerBusy("busy"), TooManyStreams("many"), InvalidRequest("no")):
        count_rejection(error)
    assert TENANT_REJECTIONS.take() == {("acme", "server_busy"): 2, ("acme", "too_many_streams"): 1}
    errors = {"server_busy": 2, "too_many_streams": 1, "invalid_request": 1}
    assert REJECTIONS.take() == errors
    assert TENANT_ERRORS.take() == {("acme", code): count for code, count in errors.items()}


def test_a_wait_in_vain_counts_for_the_tenant(ids: RequestIds) -> None:
    ids.tenant = "acme"
    count_rejection(FailedInQueue("too late", code="queue_timeout"))
    assert TENANT_REJECTIONS.take() == {("acme", "queue_timeout"): 1}
    assert not REJECTIONS.take()
    assert not TENANT_ERRORS.take(), "the ledger counts the end of the job"


@pytest.mark.usefixtures("ids")
def test_a_caller_that_is_not_identified_counts_for_no_tenant() -> None:
    count_rejection(ServerBusy("busy"))
    assert not TENANT_REJECTIONS.take()
    assert not TENANT_ERRORS.take()
    assert REJECTIONS.take() == {"server_busy": 1}


def test_counts_are_bounded_between_two_reports(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rejection_counts, "MAX_PAIRS", 2)
    counts = TenantRejectionCounts()
    for tenant in ("a", "b", "c", "a"):
        counts.add(tenant, "server_busy")
    assert counts.take() == {("a", "server_busy"): 2, ("b", "server_busy"): 1}
    assert not counts.take()
