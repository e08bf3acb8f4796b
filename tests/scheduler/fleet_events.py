"""Events of the state machine: workers start and stop, models are loaded and unloaded."""

from __future__ import annotations

import contextlib
import itertools

from fleet.errors import StateConflict
from fleet.load_request import LoadRequest
from fleet.memory import DeviceMemory
from governance.authorization import PLATFORM
from tests.scheduler.ledger_machine import (
    MODELS,
    OTHER,
    REFUSALS,
    SIZES_MIB,
    TENANTS,
    THOUSAND,
    WORKERS,
    Draw,
    LedgerMachine,
    event,
)
from tests.support.ledger_invariants import SCALE_MAX

# ---- workers start and stop


@event(2)
def a_worker_starts_or_is_restarted(machine: LedgerMachine, draw: Draw) -> None:
    machine.start_worker(draw(WORKERS))


@event(3, lambda machine: machine.alive())
def a_worker_heartbeats(machine: LedgerMachine, draw: Draw) -> None:
    worker = draw(machine.alive())
    reply = machine.ledger.heartbeat(worker, machine.platform.incarnations[worker])
    mine = machine.jobs_on(worker)
    assert reply.running == mine
    assert set(reply.cancelled) == {id for id in mine if machine.now.jobs[id].get("cancel") == "1"}
    replicas = machine.now.all("replica").items()
    assert reply.replicas == {name: row["state"] for name, row in replicas if row["worker"] == worker}


@event(1, lambda machine: machine.alive())
def a_worker_drains(machine: LedgerMachine, draw: Draw) -> None:
    worker = draw(machine.alive())
    machine.fleet.registry.begin_shutdown(worker, machine.platform.incarnations[worker])
    machine.history.draining.add(worker)


@event(2, lambda machine: machine.alive())
def an_operator_drains_a_worker(machine: LedgerMachine, draw: Draw) -> None:
    worker = draw(machine.alive())
    machine.fleet.drains.begin(worker, PLATFORM)
    machine.history.operator_drains.add(worker)


@event(3, lambda machine: machine.history.operator_drains)
def an_operator_ends_a_drain(machine: LedgerMachine, draw: Draw) -> None:
    worker = draw(sorted(machine.history.operator_drains))
    assert machine.fleet.drains.end(worker, PLATFORM)
    machine.history.operator_drains.discard(worker)


@event(1, lambda machine: machine.alive())
def a_worker_leaves(machine: LedgerMachine, draw: Draw) -> None:
    worker = draw(machine.alive())
    machine.fleet.registry.deregister(worker, machine.platform.incarnations[worker], "shut down")
    machine.history.draining.discard(worker)


# ---- models are loaded and unloaded


@event(2)
def a_model_is_loaded_at_once(machine: LedgerMachine, draw: Draw) -> None:
    with contextlib.suppress(*REFUSALS):
        machine.platform.load(draw(MODELS), slots=draw([1, 2]), replicas=draw([1, 2]))


@event(5, lambda machine: "alpha" not in machine.now.all("ready"))
def the_platform_is_repaired(machine: LedgerMachine, draw: Draw) -> None:
    for replica in machine.replicas("stopping"):
        machine.fleet.replica_down(replica, *machine.worker_of(replica), code="unloaded", message="unloaded")
    for worker in WORKERS[:2]:
        if worker not in machine.alive():
            machine.start_worker(worker)
    with contextlib.suppress(*REFUSALS):
        machine.platform.load("alpha", slots=draw([1, 2]), replicas=draw([1, 2]))


@event(1)
def a_load_begins(machine: LedgerMachine, draw: Draw) -> None:
    with contextlib.suppress(*REFUSALS):
        machine.fleet.load(draw(MODELS), LoadRequest(draw([1, 2]), draw([{}, {"gguf_n_ctx": 8192}])))


@event(8, lambda machine: machine.now.one("demand"))
def the_loads_that_requests_wait_for_begin(machine: LedgerMachine, _: Draw) -> None:
    for outcome in machine.on_demand.look() or ():
        assert outcome.begun


@event(2)
def a_model_makes_room_by_outdated_data(machine: LedgerMachine, draw: Draw) -> None:
    model, idle_s = draw(MODELS), draw([None, 0.0, 10.0 * THOUSAND])
    busy = bool(machine.jobs_of(model))
    outcome = machine.fleet.make_room(
        model, OTHER[model], {draw(TENANTS): 100.0}, idle_s=idle_s, pays_return=draw([True, False])
    )
    was = machine.now.all("model").get(model, {}).get("state", "unloaded")
    assert not outcome.begun or (was == "loaded" and (idle_s is None or not busy))


@event(1)
def a_model_is_unloaded_as_an_idle_one_by_outdated_data(machine: LedgerMachine, draw: Draw) -> None:
    model = draw(MODELS)
    busy = bool(machine.jobs_of(model))
    assert not (machine.fleet.unload_idle(model, draw([0.0, 10.0 * THOUSAND])).begun and busy)


@event(3)
def a_load_evicts_the_other_model(machine: LedgerMachine, draw: Draw) -> None:
    model = draw(MODELS)
    with contextlib.suppress(*REFUSALS):
        machine.fleet.load(model, LoadRequest(draw([1, 2]), evict=OTHER[model]))


@event(2)
def a_load_waits_for_the_other_model_and_its_caller_dies(machine: LedgerMachine, draw: Draw) -> None:
    model, number = draw(MODELS), next(machine.numbers)
    machine.begin_load(model, f"load_{number}", draw([1, 2]), evict=OTHER[model])


@event(2)
def a_load_begins_on_a_worker_that_may_be_gone(machine: LedgerMachine, draw: Draw) -> None:
    model, number = draw(MODELS), next(machine.numbers)
    assignment = (f"{model}#{number}.0", draw(WORKERS))
    machine.begin_load(model, f"load_{number}", 1, *assignment)


@event(9, lambda machine: machine.now.one("evicting"))
def waiting_loads_are_resumed(machine: LedgerMachine, _: Draw) -> None:
    machine.platform.recovery.resume_pending()


@event(2, lambda machine: machine.now.all("operation"))
def a_load_is_resumed_with_outdated_data(machine: LedgerMachine, draw: Draw) -> None:
    model, number = draw(MODELS), next(machine.numbers)
    operation = draw(machine.latest_operations())
    wanted = int(machine.now.all("model")[model].get("wanted", 1)) or 1
    places = [(f"{model}#{number}.{index}", draw(WORKERS)) for index in range(wanted)]
    machine.fleet.scripts.run(
        "resume_pending",
        model=model,
        operation=operation,
        lease_us=5_000_000 * THOUSAND,
        need_mib=SIZES_MIB[model],
        places=[*itertools.chain(*places)],
    )


@event(1, lambda machine: machine.now.all("operation"))
def a_waiting_load_is_aborted(machine: LedgerMachine, draw: Draw) -> None:
    model, operation = draw(MODELS), draw(machine.latest_operations())
    machine.fleet.scripts.run(
        "abort_load", model=model, operation=operation, code="insufficient_memory", message="no room"
    )


@event(6, lambda machine: any("restart_us" in row for row in machine.now.all("model").values()))
def a_restart_comes_due(machine: LedgerMachine, draw: Draw) -> None:
    machine.run_for(draw([0.5, 4.0]), *machine.alive())
    for outcome in machine.platform.recovery.replace_lost():
        assert outcome.assignments
    for model in machine.platform.recovery.missing():
        with contextlib.suppress(*REFUSALS):
            machine.platform.recovery.reload(model)


@event(2)
def a_model_is_reloaded_with_outdated_data(machine: LedgerMachine, draw: Draw) -> None:
    model = draw(MODELS)
    row = machine.now.all("model").get(model, {})
    with contextlib.suppress(*REFUSALS):
        outcome = machine.fleet.loads.begin(model, LoadRequest(1), takeover=True)
        assert not outcome.begun or row.get("wanted") != "0", "an operator unloaded it"


@event(4, lambda machine: any(int(row.get("lost", 0)) for row in machine.now.all("model").values()))
def lost_replicas_are_replaced(machine: LedgerMachine, _: Draw) -> None:
    machine.platform.recovery.replace_lost()


@event(2, lambda machine: machine.now.all("model").get("alpha", {}).get("state") == "loaded")
def a_replica_is_replaced_with_outdated_data(machine: LedgerMachine, draw: Draw) -> None:
    assignment = (f"alpha#{next(machine.numbers)}.0", draw(WORKERS))
    machine.fleet.scripts.run(
        "replace_lost",
        model="alpha",
        lease_us=5_000_000 * THOUSAND,
        need_mib=SIZES_MIB["alpha"],
        places=assignment,
    )


@event(6, lambda machine: machine.incomplete())
def a_load_restores_missing_replicas(machine: LedgerMachine, draw: Draw) -> None:
    with contextlib.suppress(*REFUSALS):
        machine.fleet.load(draw(machine.incomplete()))


@event(1)
def a_load_restores_replicas_with_outdated_data(machine: LedgerMachine, draw: Draw) -> None:
    model, number = draw(MODELS), next(machine.numbers)
    assignment = (f"{model}#{number}.0", draw(WORKERS))
    machine.fleet.scripts.run(
        "restore_replicas",
        model=model,
        operation=f"load_{number}",
        lease_us=5_000_000 * THOUSAND,
        need_mib=SIZES_MIB[model],
        authorization=PLATFORM.argument(),
        grows_from="",
        reason="",
        places=assignment,
    )


# ---- replicas follow the load


@event(4, lambda machine: machine.now.all("ready"))
def a_replica_is_added_with_data_that_may_be_outdated(machine: LedgerMachine, draw: Draw) -> None:
    model, number = draw(sorted(machine.now.all("ready"))), next(machine.numbers)
    wanted = int(machine.now.all("model")[model]["wanted"])
    assignment = (f"{model}#{number}.0", draw(WORKERS))
    machine.fleet.scripts.run(
        "restore_replicas",
        model=model,
        operation=f"load_{number}",
        lease_us=5_000_000 * THOUSAND,
        need_mib=SIZES_MIB[model],
        authorization=PLATFORM.argument(),
        grows_from=draw([wanted, wanted, 1]) if wanted < SCALE_MAX else 0,
        reason="3 requests wait, about 12 s",
        places=assignment,
    )


@event(6, lambda machine: machine.surplus())
def a_replica_is_released_with_data_that_may_be_outdated(machine: LedgerMachine, draw: Draw) -> None:
    model = draw(machine.surplus())
    wanted = int(machine.now.all("model")[model]["wanted"])
    machine.fleet.scripts.run(
        "release_replica",
        model=model,
        wanted=draw([wanted, wanted, wanted - 1]),
        replica=draw(["", *machine.replicas("up", "stopping")]),
        reason="one replica less was enough for 120 s",
    )


@event(3, lambda machine: machine.alive())
def a_worker_reports_its_memory(machine: LedgerMachine, draw: Draw) -> None:
    worker = draw(machine.alive())
    owner, free, total = draw([worker, "shared"]), draw([0, 10, 20, 30, 100]), draw([100, 100, 100, 0])
    memory = DeviceMemory(f"host:{owner}", total, min(free, total))
    machine.fleet.report_memory(worker, machine.platform.incarnations[worker], memory)


@event(4, lambda machine: machine.replicas("assigned"))
def a_worker_starts_a_replica(machine: LedgerMachine, draw: Draw) -> None:
    replica = draw(machine.replicas("assigned"))
    assert machine.fleet.replica_starting(replica, *machine.worker_of(replica))


@event(4, lambda machine: machine.replicas("starting"))
def a_replica_comes_up(machine: LedgerMachine, draw: Draw) -> None:
    replica = draw(machine.replicas("starting"))
    machine.fleet.replica_progress(replica, 0.5, "reading")
    took = draw([None, 8])
    assert machine.fleet.replica_up(replica, *machine.worker_of(replica), draw([1, 2]), 1, memory_mib=took)


@event(4, lambda machine: machine.replicas("stopping"))
def a_replica_stops(machine: LedgerMachine, draw: Draw) -> None:
    replica = draw(machine.replicas("stopping"))
    machine.fleet.replica_down(replica, *machine.worker_of(replica), code="unloaded", message="unloaded")


@event(1, lambda machine: machine.replicas("starting", "up", "stopping"))
def an_engine_crashes(machine: LedgerMachine, draw: Draw) -> None:
    replica = draw(machine.replicas("starting", "up", "stopping"))
    code = draw(["engine_crashed", "load_failed"])
    machine.fleet.replica_down(replica, *machine.worker_of(replica), code=code, message="killed")


@event(1)
def a_model_is_unloaded_or_its_load_is_cancelled(machine: LedgerMachine, draw: Draw) -> None:
    machine.fleet.unload(draw(MODELS))


@event(1, lambda machine: machine.now.all("operation"))
def a_load_is_cancelled_by_an_operation_that_may_have_ended(machine: LedgerMachine, draw: Draw) -> None:
    operation = draw(sorted(machine.now.all("operation")))
    before = {name: row.get("state") for name, row in machine.now.all("model").items()}
    found = machine.fleet.operation(operation)
    assert found
    with contextlib.suppress(StateConflict):
        cancelled = machine.fleet.cancel_load(found)
        assert not cancelled.begun or before[found.model] == "loading"


@event(1)
def a_model_is_evicted_by_a_load_with_outdated_data(machine: LedgerMachine, draw: Draw) -> None:
    model = draw(MODELS)
    before = machine.now.all("model").get(model, {}).get("state")
    try:
        machine.fleet.evict(model)
    except StateConflict:
        assert before == "loading"
    else:
        assert before != "loading", "an eviction cancels no load"
