"""Why a job waits: the explained choice is the dispatch that follows, and its reason in words."""

from __future__ import annotations

import random
import re
from dataclasses import replace

import pytest
import redis

from config.limits import Limits, limits_of
from config.settings import QueueSettings, Settings, Tenant
from scheduler import LUA
from scheduler.job import Claim
from scheduler.queue_choice import EXPLANATION_LIMIT, Cause, Choice, JobExplanation, cause_of, reason_in_words
from tests.scheduler.test_queue_view import commands_of
from tests.support.simulated_platform import SimulatedPlatform


def platform_with(
    client: redis.Redis, settings: Settings, slots: int = 1, reserve: int = 0
) -> SimulatedPlatform:
    queue = QueueSettings(max_depth=100_000, max_depth_per_tenant=100_000, reserve_one_in=reserve)
    platform = SimulatedPlatform(client, replace(settings, queue=queue))
    platform.register()
    platform.load(slots=slots)
    return platform


@pytest.fixture
def platform(client: redis.Redis, settings: Settings) -> SimulatedPlatform:
    """One slot and a long queue."""
    return platform_with(client, settings)


def explained(platform: SimulatedPlatform, id: str) -> tuple[JobExplanation, Choice, Cause, str]:
    found = platform.ledger.explain_job(id)
    assert found is not None
    assert found.choice is not None
    return found, found.choice, cause_of(found.job, found.choice), reason_in_words(found.job, found.choice)


def bounded(most: int | None) -> Limits:
    """The limits of a tenant that may run so many jobs at once."""
    return replace(limits_of(Tenant("any"), Settings()), max_waiting=100_000, max_running=most)


def admit_some(platform: SimulatedPlatform, draw: random.Random, count: int) -> list[str]:
    weights = {f"tenant-{number}": draw.choice([1.0, 2.0, 4.0]) for number in range(5)}
    bounds = {tenant: draw.choice([None, None, 1, 2]) for tenant in weights}
    ids = []
    for _ in range(count):
        tenant = draw.choice(list(weights))
        ids.append(
            platform.admit(
                tenant, draw.choice(["high", "normal", "normal", "low"]),
                weight=weights[tenant], cost=draw.choice([10, 100, 1000]), limits=bounded(bounds[tenant]),
                background=draw.choice([False, True]),
            )
        )  # fmt: skip
    return ids


@pytest.mark.parametrize("reserve", [0, 2])
@pytest.mark.parametrize("slots", [1, 4])
@pytest.mark.parametrize("seed", range(8))
def test_the_explained_next_job_is_the_one_that_is_dispatched(
    client: redis.Redis, settings: Settings, seed: int, slots: int, reserve: int
) -> None:
    draw = random.Random(seed)
    platform = platform_with(client, settings, slots, reserve)
    running: list[Claim] = []
    admit_some(platform, draw, 60)
    compared = 0
    for _ in range(40):
        while (claim := platform.next_claim()) is not None:
            running.append(claim)
        if draw.random() < 0.3:
            admit_some(platform, draw, 2)
            continue
        waiting = platform.waiting()
        if not waiting or not running:
            break
        _, choice, _, _ = explained(platform, draw.choice(waiting))
        oldest = running.pop(0)
        platform.release(oldest, tokens=int(platform.field(oldest.id, "cost")))
        dispatched = [claim.id for claim in platform.claims()]
        if choice.next_job is None or choice.next_job.assumed_ends > 1:
            assert dispatched == []
            continue
        compared += 1
        assert dispatched[:1] == [choice.next_job.id]
        assert platform.field(choice.next_job.id, "tenant") == choice.next_job.tenant.tenant
        assert platform.field(choice.next_job.id, "priority") == choice.next_job.priority
    assert compared >= 5


@pytest.mark.parametrize("seed", range(8))
def test_only_the_next_job_is_explained_as_the_next_one(
    client: redis.Redis, settings: Settings, seed: int
) -> None:
    draw = random.Random(seed)
    platform = platform_with(client, settings, slots=2, reserve=draw.choice([0, 2]))
    admit_some(platform, draw, 30)
    for id in platform.waiting():
        _, choice, cause, reason = explained(platform, id)
        assert (cause is Cause.NEXT) == (choice.next_job is not None and choice.next_job.id == id)
        assert reason.endswith(".")


# ---- what decides


def test_a_job_behind_one_of_its_own_tenant_waits_for_that(platform: SimulatedPlatform) -> None:
    ids = [platform.admit("acme") for _ in range(4)]
    _, choice, cause, reason = explained(platform, ids[3])
    assert (cause, choice.jobs_before) == (Cause.EARLIER_JOB, 2)
    assert reason == (
        "Its tenant goes next, with an earlier job: 2 jobs of the same tenant and priority stand before it."
    )
    assert explained(platform, ids[1])[2] is Cause.NEXT


def test_a_lower_priority_waits_for_a_higher_one_until_it_was_skipped_often(
    platform: SimulatedPlatform,
) -> None:
    platform.admit("acme")
    low, high = platform.admit("acme", "low"), [platform.admit("acme", "high") for _ in range(20)]
    _, choice, cause, reason = explained(platform, low)
    assert (cause, choice.skips) == (Cause.PRIORITY, {"high": 0, "low": 0})
    assert reason == "Priority high goes before low, which was skipped 0 times, and goes next after 16."
    for _ in range(16):
        platform.serve_next()
    _, choice, cause, reason = explained(platform, low)
    assert (cause, choice.skips["low"]) == (Cause.NEXT, 16)
    assert "Its priority was skipped 16 times, and goes next after 16." in reason
    _, _, cause, reason = explained(platform, high[-1])
    assert cause is Cause.PRIORITY
    assert reason == "Priority low goes next, since it was skipped 16 times; after 16 it goes before high."


def test_the_tenant_that_was_served_less_goes_next(platform: SimulatedPlatform) -> None:
    platform.admit("acme", cost=500)
    mine, other = platform.admit("acme", cost=100), platform.admit("umbrella", cost=100)
    _, choice, cause, reason = explained(platform, mine)
    assert choice.next_job is not None
    assert (cause, choice.next_job.id, choice.next_job.assumed_ends) == (Cause.SERVED, other, 1)
    assert (choice.own.served, choice.next_job.tenant.served) == (500, 0)
    assert reason == (
        "umbrella goes next, since it was served less: 0 tokens for each unit of weight, against 500."
    )


def test_a_tenant_with_its_share_of_the_slots_is_passed_over(client: redis.Redis, settings: Settings) -> None:
    platform = platform_with(client, settings, slots=4)
    platform.admit("umbrella", cost=1000)
    for _ in range(3):
        platform.admit("acme", cost=1)
    mine, other = platform.admit("acme", cost=1), platform.admit("umbrella", cost=1)
    _, choice, cause, reason = explained(platform, mine)
    assert choice.next_job is not None
    assert (cause, choice.next_job.id, choice.next_job.share) == (Cause.SHARE, other, 1)
    assert (choice.own.running, choice.own.served) == (3, 3)
    assert reason == (
        "The tenant runs its share of the slots already: 3 jobs for weight 1 are 3.00 for each unit of"
        " weight, and from 1.00 on another waiting tenant goes first. umbrella goes next."
    )


def test_a_tenant_at_its_bound_waits_for_its_own_jobs(client: redis.Redis, settings: Settings) -> None:
    platform = platform_with(client, settings, slots=2)
    platform.admit("acme", limits=bounded(1))
    mine = platform.admit("acme", limits=bounded(1))
    platform.admit("umbrella")
    other = platform.admit("umbrella")
    _, choice, cause, reason = explained(platform, mine)
    # the tenant's own job is the oldest one, and is assumed to end
    assert cause is Cause.NEXT
    platform.serve_next()
    mine = platform.admit("acme", limits=bounded(1))
    _, choice, cause, reason = explained(platform, mine)
    assert choice.next_job is not None
    assert (cause, choice.next_job.id) == (Cause.MAX_RUNNING, other)
    assert reason == (
        "The tenant runs 1 job on all models, and may run 1 at once: its jobs wait until one of them ends."
    )


def test_a_tenant_that_runs_jobs_leaves_the_reserve_to_another(
    client: redis.Redis, settings: Settings
) -> None:
    platform = platform_with(client, settings, slots=4, reserve=4)
    for _ in range(3):
        platform.admit("acme")
    mine = platform.admit("acme")
    platform.admit("umbrella")
    other = platform.admit("initech")
    platform.admit("initech")
    _, choice, cause, reason = explained(platform, mine)
    assert choice.next_job is not None
    assert (cause, choice.next_job.id, choice.next_job.only_reserve_is_free) == (Cause.RESERVE, other, True)
    assert reason == (
        "Only the reserve is free: one slot in 4 is kept for tenants that run nothing on the model, and this"
        " tenant runs 2 jobs there."
    )


def test_a_background_job_leaves_the_background_reserve_to_others(
    client: redis.Redis, settings: Settings
) -> None:
    platform = platform_with(client, settings, slots=3)
    ids = [platform.admit("acme", background=True) for _ in range(4)]
    _, choice, cause, _ = explained(platform, ids[3])
    assert (choice.running, choice.background_reserve, choice.skips) == (2, 1, {"normal_background": 0})
    assert (cause, explained(platform, ids[2])[2]) == (Cause.EARLIER_JOB, Cause.NEXT)
    other = platform.admit("umbrella", background=True)
    assert platform.status(other) == "running"


def test_the_background_reserve_is_a_reason(client: redis.Redis, settings: Settings) -> None:
    platform = platform_with(client, settings, slots=4)
    for _ in range(2):
        platform.admit("acme", background=True)
    others = [platform.admit(name) for name in ("umbrella", "initech")]
    mine, next_one = platform.admit("acme", background=True), platform.admit("wayne", "low")
    assert platform.status(others[1]) == "running"
    _, choice, cause, reason = explained(platform, mine)
    assert choice.next_job is not None
    assert (cause, choice.next_job.id) == (Cause.BACKGROUND_RESERVE, next_one)
    assert reason == (
        "A tenant that runs jobs on the model leaves the last free slot to others than its background jobs,"
        " and this tenant runs 1 job there."
    )


def test_a_model_without_slots_is_the_reason(platform: SimulatedPlatform) -> None:
    id = platform.admit()
    waiting = platform.admit()
    platform.crash(platform.field(id, "replica"))
    _, choice, cause, reason = explained(platform, waiting)
    assert (cause, choice.slots) == (Cause.NO_SLOTS, 0)
    assert reason == "No replica of the model accepts requests at the moment."


# ---- jobs that do not wait


def test_a_running_job_has_no_choice_and_an_ended_one_its_end(platform: SimulatedPlatform) -> None:
    id = platform.admit()
    running = platform.ledger.explain_job(id)
    assert running is not None
    assert (running.job.status, running.choice, running.end) == ("running", None, b"")
    platform.serve_next(usage=b'{"input_tokens":3,"output_tokens":4}')
    ended = platform.ledger.explain_job(id)
    assert ended is not None
    assert (ended.job.status, ended.choice, ended.job.deadline) == ("completed", None, None)
    assert b'"output_tokens":4' in ended.end
    assert ended.job.ended_at is not None


def test_an_unknown_job_is_none(platform: SimulatedPlatform) -> None:
    assert platform.ledger.explain_job("resp_unknown") is None


@pytest.mark.parametrize("tenants", [1, 600])
def test_an_explanation_takes_a_bounded_number_of_commands(platform: SimulatedPlatform, tenants: int) -> None:
    ids = [platform.admit(f"tenant{number % tenants}") for number in range(700)]
    assert commands_of(platform, "explain_job", id=ids[-1], limit=EXPLANATION_LIMIT) <= EXPLANATION_LIMIT + 30


def test_a_tenant_behind_those_that_are_compared_is_explained_by_its_own_numbers(
    platform: SimulatedPlatform,
) -> None:
    ids = [platform.admit(f"tenant{number:04}", cost=10) for number in range(400)]
    for _ in range(3):
        platform.serve_next()
    late = platform.admit("tenant0000", weight=2.0)
    _, choice, cause, _ = explained(platform, late)
    assert (choice.own.tenant, choice.own.weight, choice.own.served) == ("tenant0000", 2.0, 10)
    assert cause is Cause.SERVED
    assert choice.next_job is not None
    assert choice.next_job.id in ids


def test_the_skips_after_which_a_priority_goes_next_are_those_of_the_scripts(
    platform: SimulatedPlatform,
) -> None:
    _, choice, _, _ = explained(platform, [platform.admit("acme") for _ in range(2)][1])
    (table,) = re.findall(r"MAX_SKIPS = \{ (.*) \}", (LUA / "include" / "fair_choice.lua").read_text())
    assert table == ", ".join(f"{priority} = {count}" for priority, count in choice.max_skips.items())
