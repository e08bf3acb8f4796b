"""Drains of workers by operators: what they stop, what goes on, and what their end starts."""

from __future__ import annotations

import pytest
import redis

from config.settings import Settings
from fleet import drain
from fleet.drain import DrainService
from fleet.errors import NoWorker, TooManyDrains, UnknownWorker
from fleet.load_request import LoadRequest
from governance.authorization import ADMIN_KEY, Authorization
from scheduler.queue_choice import Cause, cause_of
from tests.support.faults import two_workers
from tests.support.simulated_platform import SimulatedPlatform

OPERATOR = Authorization("acme", ADMIN_KEY)


def begin(platform: SimulatedPlatform, worker: str = "w1") -> bool:
    return platform.fleet.drains.begin(worker, OPERATOR)


def end(platform: SimulatedPlatform, worker: str = "w1") -> bool:
    return platform.fleet.drains.end(worker, OPERATOR)


def causes(platform: SimulatedPlatform) -> dict[str, str | None]:
    workers, _ = platform.fleet.worker_page()
    return {one.name: one.drain.cause if one.drain else None for one in workers}


def audit(platform: SimulatedPlatform) -> list[tuple[str, str]]:
    entries = platform.client.xrange(f"{platform.prefix}audit_pending")
    rows = [(fields[b"action"].decode(), fields[b"subject"].decode()) for _, fields in entries]
    return [row for row in rows if row[0] in ("drain", "end_drain")]


@pytest.fixture
def pair(client: redis.Redis, settings: Settings) -> SimulatedPlatform:
    """Two workers, each with a replica of alpha that has two slots."""
    return two_workers(client, settings, slots=2)[0]


def test_a_drained_worker_gets_no_jobs_and_no_replicas(pair: SimulatedPlatform) -> None:
    assert begin(pair)
    ids = [pair.admit() for _ in range(4)]
    assert [pair.status(id) for id in ids] == ["running", "running", "queued", "queued"]
    assert {pair.field(id, "worker") for id in ids[:2]} == {"w2"}
    outcome = pair.fleet.load("beta", LoadRequest(2))
    assert {item.worker for item in outcome.assignments} == {"w2"}


def test_the_jobs_of_a_drained_worker_finish_and_their_slots_stay_free(pair: SimulatedPlatform) -> None:
    ids = [pair.admit() for _ in range(5)]
    mine = [id for id in ids[:4] if pair.field(id, "worker") == "w1"]
    begin(pair)
    assert pair.status(mine[0]) == "running"
    pair.release(pair.run(mine[0], "w1"))
    assert pair.end(mine[0]).status == "completed"
    assert pair.status(ids[4]) == "queued", "the slot of a drained worker is offered to nobody"
    other = next(id for id in ids[:4] if id not in mine)
    pair.release(pair.run(other, "w2"))
    assert pair.field(ids[4], "worker") == "w2", "another replica serves those that wait"


def test_the_end_of_a_drain_dispatches_the_jobs_that_wait(platform: SimulatedPlatform) -> None:
    running = platform.admit()
    begin(platform)
    waiting = [platform.admit() for _ in range(3)]
    assert [platform.status(id) for id in waiting] == ["queued"] * 3
    assert end(platform)
    assert [platform.status(id) for id in waiting] == ["running", "queued", "queued"], "one slot is taken"
    platform.release(platform.run(running))
    assert platform.status(waiting[1]) == "running", "freed slots are offered again"


def test_a_waiting_job_is_explained_without_the_slots_of_drained_workers(pair: SimulatedPlatform) -> None:
    begin(pair)
    pair.admit()
    running, waiting = pair.admit(), pair.admit()
    found = pair.ledger.explain_job(waiting)
    assert found
    assert found.choice
    assert found.choice.next_job
    assert (found.choice.slots, found.choice.running, found.choice.next_job.assumed_ends) == (2, 2, 1)
    assert pair.status(running) == "running"
    begin(pair, "w2")
    found = pair.ledger.explain_job(waiting)
    assert found
    assert found.choice
    assert cause_of(found.job, found.choice) is Cause.NO_SLOTS
    order = pair.ledger.queue_order("alpha")
    assert (order.slots, order.reason) == (0, "waiting for a replica that accepts requests")
    assert order.ids == (waiting,)
    assert pair.ledger.queue_listing("alpha").slots == 0


def test_a_drain_outlives_a_restart_of_its_worker(pair: SimulatedPlatform) -> None:
    begin(pair)
    pair.register("w1")
    assert causes(pair) == {"w1": "operator", "w2": None}
    pair.load("beta", replicas=1)
    assert pair.fleet.row("beta").workers == ("w2",)
    end(pair)
    pair.register("w1")
    assert causes(pair) == {"w1": None, "w2": None}


def test_a_lost_worker_is_listed_with_its_drain_until_that_ends(pair: SimulatedPlatform) -> None:
    begin(pair)
    pair.fleet.registry.deregister("w1", pair.incarnations["w1"], "shut down")
    (away, _), _ = pair.fleet.worker_page()
    assert (away.name, away.state, away.heartbeat_age_s) == ("w1", "away", None)
    assert away.drain
    assert (away.drain.cause, away.drain.actor) == ("operator", "acme")
    assert end(pair)
    assert causes(pair) == {"w2": None}


def test_lost_replicas_are_not_replaced_on_a_drained_worker(pair: SimulatedPlatform) -> None:
    pair.register("w3")
    begin(pair, "w3")
    pair.run_for(7, "w1", "w3")
    assert pair.fleet.row("alpha").lost == 1
    end(pair, "w3")
    begin(pair, "w1")
    assert [item.worker for outcome in pair.recovery.replace_lost() for item in outcome.assignments] == ["w3"]


def test_the_end_of_a_drain_lets_the_next_worker_look_for_lost_replicas(pair: SimulatedPlatform) -> None:
    begin(pair)
    assert pair.recovery.is_due(2.0)
    assert not pair.recovery.is_due(2.0)
    end(pair)
    assert pair.recovery.is_due(2.0)


def test_a_replica_that_comes_up_on_a_drained_worker_accepts_jobs_when_the_drain_ends(
    client: redis.Redis, settings: Settings
) -> None:
    platform = SimulatedPlatform(client, settings)
    platform.register()
    (item,) = platform.fleet.load("alpha", LoadRequest(1)).assignments
    begin(platform)
    platform.starting(item.replica)
    platform.up(item.replica)
    assert platform.model() == "loaded"
    waiting = platform.admit()
    assert platform.status(waiting) == "queued"
    end(platform)
    assert platform.status(waiting) == "running"


def test_the_replicas_of_a_model_that_unloads_stay_closed_when_a_drain_ends(
    platform: SimulatedPlatform,
) -> None:
    platform.run(platform.admit())
    begin(platform)
    platform.fleet.unload("alpha")
    end(platform)
    assert platform.client.exists(f"{platform.prefix}ready:alpha") == 0


def test_a_worker_that_shuts_down_goes_on_draining_when_the_operators_drain_ends(
    platform: SimulatedPlatform,
) -> None:
    begin(platform)
    platform.fleet.registry.begin_shutdown("w1", platform.incarnations["w1"])
    assert causes(platform) == {"w1": "shutdown"}
    end(platform)
    assert causes(platform) == {"w1": "shutdown"}
    assert platform.status(platform.admit()) == "queued"


def test_a_drain_while_a_worker_shuts_down_holds_for_its_next_start(platform: SimulatedPlatform) -> None:
    platform.fleet.registry.begin_shutdown("w1", platform.incarnations["w1"])
    assert begin(platform)
    assert causes(platform) == {"w1": "shutdown"}
    platform.register()
    assert causes(platform) == {"w1": "operator"}


def test_a_repeated_drain_or_end_changes_and_records_nothing(platform: SimulatedPlatform) -> None:
    assert begin(platform)
    assert not begin(platform)
    assert end(platform)
    assert not end(platform)
    assert audit(platform) == [("drain", "w1"), ("end_drain", "w1")]


def test_an_unknown_worker_can_not_be_drained(platform: SimulatedPlatform) -> None:
    with pytest.raises(UnknownWorker) as caught:
        begin(platform, "w9")
    assert caught.value.code == "not_found"
    assert audit(platform) == []


def test_the_end_of_a_drain_of_a_worker_that_has_gone_may_be_repeated(pair: SimulatedPlatform) -> None:
    begin(pair)
    pair.fleet.registry.deregister("w1", pair.incarnations["w1"], "shut down")
    assert end(pair)
    assert not end(pair), "the caller may have lost the first reply"
    assert audit(pair) == [("drain", "w1"), ("end_drain", "w1")]


def test_a_further_drain_is_refused_when_as_many_workers_are_drained_as_may_be(
    pair: SimulatedPlatform, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(drain, "MAX_DRAINS", 1)
    begin(pair)
    with pytest.raises(TooManyDrains):
        begin(pair, "w2")
    assert causes(pair) == {"w1": "operator", "w2": None}


def test_a_drain_outlives_a_restart_of_the_whole_platform(platform: SimulatedPlatform) -> None:
    begin(platform)
    platform.fleet.reset_to_configuration()
    assert DrainService(platform.fleet.scripts).is_drained("w1")
    platform.register()
    with pytest.raises(NoWorker, match=r"all workers are draining \(w1\)"):
        platform.fleet.load("beta")


def test_the_list_of_workers_has_replicas_heartbeats_and_memory(pair: SimulatedPlatform) -> None:
    pair.report_memory("w1", free_mib=60)
    running = pair.admit()
    name = pair.field(running, "worker")
    pair.advance_time(3)
    (first, second), more = pair.fleet.worker_page()
    assert (first.name, second.name, more) == ("w1", "w2", False)
    assert first.heartbeat_age_s == pytest.approx(3, abs=1)
    assert first.memory
    assert first.memory.free_mib == 60
    (replica,) = first.replicas
    assert (replica.model, replica.state, replica.slots, replica.ready) == ("alpha", "up", 2, True)
    used = {one.name: one.replicas[0].slots_used for one in (first, second)}
    assert used == {"w1": 0, "w2": 0} | {name: 1}


def test_the_list_of_workers_is_read_in_pages_by_name(pair: SimulatedPlatform) -> None:
    pair.register("a1")
    (first,), more = pair.fleet.worker_page("", 1)
    assert (first.name, more) == ("a1", True)
    rest, more = pair.fleet.worker_page("a1", 2)
    assert ([one.name for one in rest], more) == (["w1", "w2"], False)
    assert pair.fleet.worker("w3") is None


def test_a_silent_worker_is_listed_as_lost_until_it_returns_or_a_day_has_passed(
    pair: SimulatedPlatform,
) -> None:
    pair.run_for(7, "w2")
    lost = pair.fleet.worker("w1")
    assert lost
    assert (lost.state, lost.registered_at, lost.memory, lost.replicas) == ("lost", None, None, ())
    assert lost.lost_at
    pair.advance_time(86_400)
    assert pair.fleet.worker("w1") is None
    pair.advance_time(-80_000)
    pair.register("w1")
    returned = pair.fleet.worker("w1")
    assert returned
    assert returned.state == "live"
