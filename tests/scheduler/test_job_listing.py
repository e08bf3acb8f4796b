"""The listing of the jobs that run and wait, on a real ledger."""

from __future__ import annotations

from dataclasses import replace

import pytest
import redis

from config.settings import QueueSettings, Settings
from scheduler.job import Status
from scheduler.job_listing import MAX_JOBS_READ, JobCursor, JobView
from scheduler.ledger import Ledger
from tests.scheduler.test_queue_view import commands_of
from tests.support.simulated_platform import SimulatedPlatform


@pytest.fixture
def platform(client: redis.Redis, settings: Settings) -> SimulatedPlatform:
    """Two slots on two replicas, and a long queue."""
    queue = QueueSettings(max_depth=100_000, max_depth_per_tenant=100_000)
    platform = SimulatedPlatform(client, replace(settings, queue=queue))
    platform.register("w1")
    platform.register("w2")
    platform.load(slots=1, replicas=2)
    return platform


def pages(
    ledger: Ledger, most: int, *, tenant: str | None = None, status: Status | None = None
) -> list[list[JobView]]:
    """All pages of the jobs of model alpha."""
    found, cursor = [], JobCursor()
    while len(found) < 100:
        page = ledger.list_jobs("alpha", tenant=tenant, status=status, cursor=cursor, most=most)
        found.append(list(page.jobs))
        if page.following is None:
            return found
        cursor = page.following
    raise AssertionError("the pages do not end")


def ids(found: list[list[JobView]]) -> list[str]:
    return [job.id for page in found for job in page]


@pytest.mark.parametrize("most", [1, 2, 3, 100])
def test_the_pages_have_each_job_once_in_its_order(platform: SimulatedPlatform, most: int) -> None:
    admitted = []
    for number in range(8):
        platform.advance_time(1)
        admitted.append(platform.admit(f"tenant{number % 3}", ["high", "low"][number % 2]))
    found = pages(platform.ledger, most)
    assert ids(found) == admitted
    assert all(len(page) <= most for page in found)
    assert [job.status for page in found for job in page] == [Status.RUNNING] * 2 + [Status.QUEUED] * 6


@pytest.mark.parametrize("most", [1, 2, 100])
def test_the_listing_of_a_tenant_or_a_status_has_no_other_jobs(
    platform: SimulatedPlatform, most: int
) -> None:
    wanted = "acme low, umbrella low, umbrella high, acme low, umbrella normal, acme high, acme normal"
    jobs = [(platform.admit(*words.split()), words.split()[0]) for words in wanted.split(", ")]
    own = [id for id, tenant in jobs if tenant == "acme"]
    assert ids(pages(platform.ledger, most, tenant="acme")) == own
    assert ids(pages(platform.ledger, most, tenant="acme", status=Status.QUEUED)) == own[1:]
    assert ids(pages(platform.ledger, most, status=Status.RUNNING)) == [jobs[0][0], jobs[1][0]]
    assert ids(pages(platform.ledger, most, tenant="nobody")) == []


def test_a_running_job_is_shown_with_its_worker_its_times_and_the_length_of_its_log(
    platform: SimulatedPlatform,
) -> None:
    id = platform.admit("acme", "high")
    worker = platform.field(id, "worker")
    claim = platform.run(id, worker)
    platform.append_text(claim, 1, "one", "two")
    platform.advance_time(2)
    page = platform.ledger.list_jobs("alpha")
    (job,) = page.jobs
    assert (job.tenant, job.priority, job.status, job.attempt) == ("acme", "high", Status.RUNNING, 1)
    assert (job.worker, job.replica, job.events, job.stopping) == (worker, claim.replica, 2, False)
    assert job.dispatched_at == job.admitted_at
    assert page.now - job.admitted_at == pytest.approx(2, abs=0.5)
    assert job.deadline is not None
    assert job.deadline - job.admitted_at == pytest.approx(
        platform.settings.limits.request_timeout_s, abs=0.5
    )


def test_a_cancelled_job_is_stopping_while_it_runs(platform: SimulatedPlatform) -> None:
    id = platform.admit("acme")
    platform.ledger.cancel(id, "acme")
    (job,) = platform.ledger.list_jobs("alpha").jobs
    assert job.stopping


def test_a_waiting_job_has_neither_worker_nor_events(platform: SimulatedPlatform) -> None:
    for _ in range(3):
        platform.admit("acme")
    (job,) = platform.ledger.list_jobs("alpha", status=Status.QUEUED).jobs
    assert (job.worker, job.replica, job.events, job.dispatched_at, job.attempt) == (None,) * 4 + (0,)
    assert job.deadline is not None
    assert job.deadline - job.admitted_at == pytest.approx(platform.settings.queue.timeout_ms / 1000, abs=0.5)


def test_a_job_that_is_queued_again_is_listed_by_its_admission(platform: SimulatedPlatform) -> None:
    first, second, third = (platform.admit() for _ in range(3))
    platform.crash(platform.field(first, "replica"), platform.field(first, "worker"))
    assert ids(pages(platform.ledger, 1)) == [second, first, third]


@pytest.mark.parametrize("tenant", ["", "tenant0"])
@pytest.mark.parametrize("waiting", [0, 2000])
def test_a_page_takes_a_bounded_number_of_commands(
    platform: SimulatedPlatform, waiting: int, tenant: str
) -> None:
    for number in range(2 + waiting):
        platform.admit(f"tenant{number % 2}")
    took = commands_of(
        platform,
        "list_jobs",
        model="alpha",
        tenant=tenant,
        status="",
        section="",
        after=0,
        most=MAX_JOBS_READ,
    )
    assert took <= 4 * MAX_JOBS_READ + 10


def test_a_listing_of_a_model_without_jobs_is_empty(platform: SimulatedPlatform) -> None:
    assert pages(platform.ledger, 10) == [[]]
