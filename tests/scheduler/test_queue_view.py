"""The order of a queue as it can be read, and who waits: it is the order in which the jobs are dispatched."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace

import pytest
import redis

from config.settings import QueueSettings, Settings
from scheduler.queue_view import MAX_IN_ORDER, wait_reason
from tests.support.simulated_platform import SimulatedPlatform


@pytest.fixture
def platform(client: redis.Redis, settings: Settings) -> SimulatedPlatform:
    """One slot and a long queue."""
    queue = QueueSettings(max_depth=100_000, max_depth_per_tenant=100_000)
    platform = SimulatedPlatform(client, replace(settings, queue=queue))
    platform.register()
    platform.load(slots=1)
    return platform


def dispatched(platform: SimulatedPlatform) -> Iterator[str]:
    """The jobs in the order in which they get the slot; each uses the tokens that were estimated."""
    while (claim := platform.next_claim()) is not None:
        yield claim.id
        platform.release(claim, tokens=int(platform.field(claim.id, "cost")))


def admit_some(platform: SimulatedPlatform, draw: random.Random, count: int) -> None:
    weights = {f"tenant-{number}": draw.choice([1, 2, 4]) for number in range(5)} | {"tenant_a": 1}
    for _ in range(count):
        tenant = draw.choice(list(weights))
        priority = draw.choice(["high", "normal", "normal", "low"])
        platform.admit(
            tenant,
            priority,
            weight=weights[tenant],
            cost=draw.choice([10, 100, 100, 1000]),
            background=draw.choice([False, True]),
        )


@pytest.mark.parametrize("reserve", [0, 2])
@pytest.mark.parametrize("slots", [1, 4])
@pytest.mark.parametrize("seed", range(6))
def test_the_order_is_that_in_which_jobs_are_dispatched(
    client: redis.Redis, settings: Settings, seed: int, slots: int, reserve: int
) -> None:
    draw = random.Random(seed)
    queue = QueueSettings(max_depth=100_000, max_depth_per_tenant=100_000, reserve_one_in=reserve)
    platform = SimulatedPlatform(client, replace(settings, queue=queue))
    platform.register()
    platform.load(slots=slots)
    admit_some(platform, draw, 40)
    served = dispatched(platform)
    for _ in range(draw.choice([1, 5, 15])):
        next(served)
    admit_some(platform, draw, 20)
    next(served)
    order = platform.ledger.queue_order("alpha")
    runs = platform.slots_taken() - 1  # one of the running jobs was taken from `served` already
    assert order.ids == tuple(served)[runs:]
    assert order.depth == len(order.ids)


def test_the_order_of_a_long_queue_ends_and_the_place_behind_it_is_an_estimate(
    platform: SimulatedPlatform,
) -> None:
    ids = [platform.admit(f"tenant{number % 3}") for number in range(MAX_IN_ORDER + 20)]
    order = platform.ledger.queue_order("alpha")
    assert (len(order.ids), order.depth) == (MAX_IN_ORDER, MAX_IN_ORDER + 19)
    last = order.place(ids[-1], rank=order.depth - 1)
    assert (last.position, last.is_estimate) == (order.depth, True)
    first = order.place(order.ids[0], rank=None)
    assert (first.position, first.is_estimate) == (1, False)


def test_the_estimated_wait_is_that_of_the_jobs_before(platform: SimulatedPlatform) -> None:
    assert platform.ledger.queue_order("alpha").run_ms is None
    for _ in range(30):
        platform.admit()
    for _ in range(20):
        platform.advance_time(3)
        platform.serve_next()
    order = platform.ledger.queue_order("alpha")
    assert order.run_ms == pytest.approx(3000, rel=0.05)
    assert order.place(order.ids[4], None).wait_ms == pytest.approx(15_000, rel=0.05)


@pytest.mark.parametrize(
    ("state", "code", "slots", "restarts", "reason"),
    [
        ("loaded", "", 2, False, "waiting for a slot"),
        ("loaded", "", 0, False, "waiting for a replica that accepts requests"),
        ("loading", "", 0, False, "model is loading 41 %"),
        ("failed", "engine_crashed", 0, True, "the engine is restarting"),
        (
            "failed",
            "worker_lost",
            0,
            False,
            "the model's worker was lost; another one loads it when it can",
        ),
        ("unloading", "", 0, False, "model is unloading"),
    ],
)
def test_the_reason_names_what_a_job_waits_for(
    state: str, code: str, slots: int, restarts: bool, reason: str
) -> None:
    assert wait_reason(state, code, slots, progress=0.419, restarts=restarts) == reason


def test_a_job_of_a_crashed_engine_waits_for_its_restart(platform: SimulatedPlatform) -> None:
    id, waiting = platform.admit(), platform.admit()
    platform.crash(platform.field(id, "replica"))
    order = platform.ledger.queue_order("alpha")
    assert order.reason == "the engine is restarting"
    assert order.ids == (id, waiting)
    assert order.place(id, None).wait_ms is None


def test_a_listing_counts_by_tenant(platform: SimulatedPlatform) -> None:
    platform.admit("umbrella")
    oldest = platform.admit("acme", "low")
    platform.advance_time(2)
    platform.admit("acme", "high")
    platform.admit("umbrella")
    listing = platform.ledger.queue_listing("alpha")
    assert (listing.depth, listing.running, listing.slots) == (3, 1, 1)
    acme, umbrella = listing.tenants
    assert (acme.tenant, acme.depths, acme.running) == ("acme", {"high": 1, "low": 1}, 0)
    assert (acme.oldest_id, acme.oldest_at) == (oldest, listing.oldest_at)
    assert (umbrella.tenant, umbrella.depth, umbrella.running) == ("umbrella", 1, 1)


def test_a_listing_of_a_model_without_jobs_is_empty(platform: SimulatedPlatform) -> None:
    listing = platform.ledger.queue_listing("beta")
    assert (listing.depth, listing.oldest_at, listing.slots, listing.running, listing.tenants) == (
        *(0, None, 0, 0),
        (),
    )


def test_the_jobs_of_a_tenant_are_cancelled_and_no_others(platform: SimulatedPlatform) -> None:
    running = platform.admit("acme")
    own = [platform.admit("acme", priority) for priority in ("high", "normal", "low")]
    other = platform.admit("umbrella")
    cancelled = platform.ledger.cancel_tenant("acme", "alpha")
    assert (cancelled.waiting, cancelled.left, cancelled.running) == (3, 0, 0)
    assert {platform.end(id).status for id in own} == {"cancelled"}
    assert platform.waiting() == [other]
    assert platform.field(running, "cancel") == ""


def test_running_jobs_of_a_tenant_are_asked_to_stop_once(platform: SimulatedPlatform) -> None:
    platform.load("beta", slots=2)
    mine, other = platform.admit("acme", model="beta"), platform.admit("umbrella", model="beta")
    assert platform.ledger.cancel_tenant("acme", "beta", running=True).running == 1
    assert platform.ledger.cancel_tenant("acme", "beta", running=True).running == 0
    assert (platform.field(mine, "cancel"), platform.field(other, "cancel")) == ("1", "")


def test_many_jobs_are_cancelled_in_steps_and_later_ones_stay(platform: SimulatedPlatform) -> None:
    platform.admit("umbrella")
    for _ in range(250):
        platform.admit("acme")
    cancelled = platform.ledger.cancel_tenant("acme", "alpha")
    assert (cancelled.waiting, cancelled.left) == (100, 150)
    later = platform.admit("acme")
    platform.advance_time(1)
    assert platform.expire() == 150
    assert platform.waiting() == [later]
    assert platform.client.zcard(f"{platform.prefix}unfinished") == 0


def commands_of(platform: SimulatedPlatform, name: str, **arguments: str | int) -> int:
    platform.ledger.scripts.run(name, **arguments)
    platform.client.config_resetstat()
    platform.ledger.scripts.run(name, **arguments)
    stats = platform.client.info("commandstats")
    return sum(row["calls"] for key, row in stats.items() if key.split("_")[1] not in {"info", "config"})  # type: ignore[union-attr]


@pytest.mark.parametrize("tenants", [1, 600])
def test_a_look_at_a_queue_takes_a_bounded_number_of_commands(
    platform: SimulatedPlatform, tenants: int
) -> None:
    for number in range(700):
        platform.admit(f"tenant{number % tenants}")
    ordering = commands_of(platform, "queue_order", model="alpha", most=MAX_IN_ORDER)
    assert ordering <= 3 * MAX_IN_ORDER + 20
    listing = commands_of(platform, "list_queue", model="alpha", max_tenants=100, max_running=1000)
    assert listing <= 2 * 100 + 20
