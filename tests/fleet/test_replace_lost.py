"""A model that lost some of its replicas with their workers gets others, while the rest serve."""

from __future__ import annotations

import pytest
import redis

from config.settings import Settings
from fleet.load_request import LoadOutcome, LoadRequest
from tests.fleet.races import at_once
from tests.support.simulated_platform import House

pytestmark = pytest.mark.rule("beyond/a-replica-lost")

LEASE = 5.0


def goes(house: House, worker: str) -> None:
    house.ledger.deregister(worker, house.incarnations[worker], f"worker {worker} was shut down")


def falls_silent(house: House, worker: str) -> None:
    house.live(LEASE + 1, *({row.name for row in house.fleet.workers()} - {worker}))


def is_restarted(house: House, worker: str) -> None:
    house.register(worker)


@pytest.fixture
def pair(house: House) -> House:
    """Alpha is loaded on w1 and w2, one slot each."""
    house.load(slots=1, replicas=2)
    return house


def lost(house: House) -> int:
    return house.fleet.row("alpha").lost


@pytest.mark.parametrize("fault", [goes, falls_silent, is_restarted], ids=lambda fault: fault.__name__)
def test_a_replica_that_went_with_its_worker_is_replaced(pair: House, fault: object) -> None:
    fault(pair, "w2")  # type: ignore[operator]
    row = pair.fleet.row("alpha")
    assert (row.state, row.loaded_replicas, row.replicas, row.lost) == ("loaded", 1, 2, 1)
    (change,) = pair.rescue.replace_lost()
    assert (change.kind, change.operation, len(change.assignments)) == ("load", None, 1)
    assert (lost(pair), pair.rescue.replace_lost()) == (0, [])
    pair.bring_up(change, slots=1)
    row = pair.fleet.row("alpha")
    assert (row.state, row.loaded_replicas, row.replicas) == ("loaded", 2, 2)


def test_the_others_serve_meanwhile_and_who_waits_gets_the_new_slots(pair: House) -> None:
    goes(pair, "w2")
    ids = [pair.admit() for _ in range(3)]
    assert pair.taken() == 1
    (change,) = pair.rescue.replace_lost()
    item = change.assignments[0]
    pair.starting(item.replica, item.worker)
    assert (pair.taken(), pair.model()) == (1, "loaded")
    assert pair.fleet.replica_progress(item.replica, 0.5, "reading weights")
    pair.up(item.replica, item.worker, 1)
    assert (pair.taken(), pair.waiting()) == (2, ids[2:])


def test_no_operation_is_touched(pair: House) -> None:
    row = pair.fleet.row("alpha")
    before = pair.fleet.operation(row.operation_id or "")
    goes(pair, "w2")
    (change,) = pair.rescue.replace_lost()
    item = change.assignments[0]
    pair.starting(item.replica, item.worker)
    pair.fleet.replica_progress(item.replica, 0.5, "reading weights")
    pair.up(item.replica, item.worker)
    assert pair.fleet.operation(row.operation_id or "") == before
    assert pair.fleet.row("alpha").loaded_at == row.loaded_at


def test_the_new_replica_is_loaded_as_the_others_were(house: House) -> None:
    house.bring_up(house.fleet.begin("alpha", LoadRequest(2, {"gguf_n_ctx": 2048})))
    goes(house, "w2")
    item = house.rescue.replace_lost()[0].assignments[0]
    start = house.fleet.replica_starting(item.replica, item.worker, house.incarnations[item.worker])
    assert start
    assert (start.model, start.override) == ("alpha", {"gguf_n_ctx": 2048})


def test_a_crashed_engine_is_not_replaced(pair: House) -> None:
    pair.crash(next(iter(pair.ledger.heartbeat("w1", pair.incarnations["w1"]).replicas)))
    assert (pair.model(), lost(pair), pair.rescue.replace_lost()) == ("loaded", 0, [])


def test_a_replacement_that_does_not_come_up_is_not_tried_again(pair: House) -> None:
    goes(pair, "w2")
    item = pair.rescue.replace_lost()[0].assignments[0]
    pair.starting(item.replica, item.worker)
    pair.crash(item.replica, item.worker, code="load_failed")
    row = pair.fleet.row("alpha")
    assert (row.state, row.loaded_replicas, row.lost) == ("loaded", 1, 0)
    assert pair.rescue.replace_lost() == []


def test_a_replacement_whose_worker_goes_as_well_is_replaced(pair: House) -> None:
    goes(pair, "w2")
    pair.register("w3")
    item = pair.rescue.replace_lost()[0].assignments[0]
    assert item.worker == "w3"
    pair.register("w3")
    assert lost(pair) == 1
    assert len(pair.rescue.replace_lost()) == 1


def test_a_model_whose_last_replica_goes_while_another_comes_stays_loaded(pair: House) -> None:
    goes(pair, "w2")
    pair.register("w3")
    (change,) = pair.rescue.replace_lost()
    waiting = pair.admit(), pair.admit()
    goes(pair, "w1")
    row = pair.fleet.row("alpha")
    assert (row.state, row.loaded_replicas, row.lost) == ("loaded", 0, 1)
    pair.bring_up(change, slots=2)
    assert [pair.status(id) for id in waiting] == ["dispatched", "dispatched"]


def test_when_the_replacement_was_the_last_hope_and_fails_who_waits_is_told(pair: House) -> None:
    goes(pair, "w2")
    pair.register("w3")
    item = pair.rescue.replace_lost()[0].assignments[0]
    pair.starting(item.replica, item.worker)
    goes(pair, "w1")
    waiting = pair.admit()
    pair.crash(item.replica, item.worker, code="load_failed")
    assert pair.model() == "failed"
    assert pair.end(waiting).code == "model_failed"


def test_as_many_are_replaced_as_there_is_room_for(client: redis.Redis, settings: Settings) -> None:
    house = House(client, settings)
    for worker in ("w1", "w2", "w3"):
        house.register(worker)
    house.load(replicas=3)
    house.fleet.report_artifacts({"alpha": 60})
    house.tell_memory("w1", 70)
    goes(house, "w2")
    goes(house, "w3")
    assert lost(house) == 2
    (change,) = house.rescue.replace_lost()
    assert ([item.worker for item in change.assignments], lost(house)) == (["w1"], 1)
    assert house.rescue.replace_lost() == [], "what is promised is not free"
    house.bring_up(change)
    house.tell_memory("w1", 10)
    assert house.rescue.replace_lost() == []
    house.register("w2")
    house.tell_memory("w2", 100)
    assert [item.worker for item in house.rescue.replace_lost()[0].assignments] == ["w2"]
    assert lost(house) == 0


def test_each_replacement_serves_as_soon_as_it_is_up(house: House) -> None:
    house.register("w3")
    house.load(slots=1, replicas=3)
    for worker in ("w2", "w3"):
        house.register(worker)
    (change,) = house.rescue.replace_lost()
    first, second = change.assignments
    for _ in range(3):
        house.admit()
    for item in (first, second):
        house.starting(item.replica, item.worker)
    house.up(second.replica, second.worker, 1)
    assert (house.taken(), house.fleet.row("alpha").loaded_replicas) == (2, 2)
    house.up(first.replica, first.worker, 1)
    assert house.taken() == 3


def test_one_model_without_room_keeps_no_other_waiting(client: redis.Redis, settings: Settings) -> None:
    house = House(client, settings)
    for worker in ("w1", "w2"):
        house.register(worker)
    house.load("alpha", replicas=2)
    house.load("beta", replicas=2)
    goes(house, "w2")
    house.fleet.report_artifacts({"alpha": 60, "beta": 10})
    house.tell_memory("w1", 30)
    (change,) = house.rescue.replace_lost()
    assert change.assignments[0].replica.startswith("beta#")


def test_what_was_lost_before_an_unload_is_not_replaced_after_it(pair: House) -> None:
    goes(pair, "w2")
    change = pair.fleet.unload("alpha")
    assert pair.rescue.replace_lost() == []
    late = pair.fleet.scripts.run("replace_lost", "alpha", 5_000_000, "", "alpha#late.0", "w1")
    assert late == [b"over"], "who looked before comes too late"
    pair.bring_down(change)
    pair.load()
    assert (lost(pair), pair.rescue.replace_lost()) == (0, [])


def test_a_replacement_stops_when_the_model_is_unloaded(pair: House) -> None:
    goes(pair, "w2")
    item = pair.rescue.replace_lost()[0].assignments[0]
    pair.starting(item.replica, item.worker)
    change = pair.fleet.unload("alpha")
    assert item in change.assignments
    assert not pair.up(item.replica, item.worker)
    pair.bring_down(change)
    assert pair.model() == "unloaded"


def test_two_that_mend_at_once_replace_it_once(pair: House) -> None:
    goes(pair, "w2")

    def replace_lost() -> LoadOutcome:
        changes = House(pair.client, pair.settings).rescue.replace_lost()
        return changes[0] if changes else LoadOutcome("load", None)

    changes, problems = at_once(replace_lost, replace_lost, replace_lost)
    assert problems == []
    assert sorted(len(change.assignments) for change in changes) == [0, 0, 1]
    assert len(pair.fleet.row("alpha").workers) == 2


def test_a_mend_whose_answer_was_lost_is_said_again_and_does_no_more(house: House) -> None:
    house.register("w3")
    house.load(replicas=3)
    for worker in ("w2", "w3"):
        house.register(worker)
    for _ in range(2):
        answer = house.fleet.scripts.run("replace_lost", "alpha", 5_000_000, "", "alpha#again.0", "w2")
        assert answer == [b"ok"]
    assert (lost(house), len(house.fleet.row("alpha").workers)) == (1, 2)


def test_the_chosen_worker_may_go_before_the_replica_is_given_to_it(
    pair: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    pair.register("w3")
    goes(pair, "w2")
    seen = pair.fleet.workers()
    goes(pair, "w3")
    monkeypatch.setattr(pair.fleet, "workers", lambda _asker: seen)
    assert (pair.rescue.replace_lost(), lost(pair)) == ([], 1)
