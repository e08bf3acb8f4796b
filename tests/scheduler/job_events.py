"""Events of the state machine: what clients, workers with jobs, zombies and the reaper do."""

from __future__ import annotations

import contextlib
import itertools
from dataclasses import replace
from typing import cast

import orjson
import pytest

from config.limits import limits_of
from config.rate_limit import RateLimit
from config.settings import PRIORITIES, Settings, Tenant
from fleet.memory import DeviceMemory
from generation.prefix_keys import PrefixKey
from scheduler.job import Status
from store.errors import Fenced, Rejected
from streams.events import End
from tests.scheduler.ledger_machine import (
    ENDS,
    MODELS,
    REPEATABLE,
    TENANTS,
    THOUSAND,
    Draw,
    LedgerMachine,
    event,
    without_clock,
)

NO_LIMITS = limits_of(Tenant("any"), Settings())
LIMITS = (
    {},
    {},
    {"max_running": 1},
    {"max_running": 2},
    {"rate_limit": RateLimit("3/min"), "token_limit": RateLimit("2000/min")},
    {"rate_limit": RateLimit("3000/min"), "max_running": 1},
)
"""What a tenant's requests may be bound by; it changes from request to request."""

PREFIXES: tuple[list[PrefixKey], ...] = (
    [],
    *(
        [(bytes([0, chat % 2, chat]) + bytes([turn]) * 5, 900 * turn) for turn in range(1, turns + 1)]
        for chat, turns in itertools.product(range(3), (1, 2, 4))
    ),
)
"""The keys of some turns of three chats, of which two fall into the same place of the table."""

# ---- clients


@event(8)
def requests_arrive(machine: LedgerMachine, draw: Draw) -> None:
    model, tenant, priority = draw(MODELS), draw(TENANTS), draw(PRIORITIES)
    limits = replace(NO_LIMITS, **draw(LIMITS))
    locality = draw(["off", "tenant", "fair", "fair"])
    for _ in range(draw([1, 1, 2, 4])):
        id = f"r{next(machine.numbers):03}"
        with contextlib.suppress(Rejected):
            machine.platform.admit(
                tenant,
                priority,
                model,
                id=id,
                background=draw([False, False, True]),
                weight=draw([1, 3]),
                store=draw([True, False]),
                limits=limits,
                time_limit_ms=draw([None, None, 20_000 * THOUSAND, 300_000 * THOUSAND]),
                load_on_demand=draw([None, True]),
                locality=locality,
                prefix_keys=() if locality == "off" else draw(PREFIXES),
                may_grow=draw([False, True]),
            )
            machine.history.admitted[id] = tenant


@event(2, lambda machine: machine.now.jobs)
def a_request_is_cancelled(machine: LedgerMachine, draw: Draw) -> None:
    id, is_owner = draw(machine.jobs()), draw([True, True, False])
    status = machine.ledger.cancel(id, machine.history.admitted[id] if is_owner else "stranger")
    assert (status is None) == (not is_owner)


@event(1, lambda machine: machine.now.jobs)
def a_response_is_deleted(machine: LedgerMachine, draw: Draw) -> None:
    id = draw(machine.jobs())
    if machine.ledger.delete(id, machine.history.admitted[id]) and id in machine.history.ended:
        machine.history.deleted.add(id)


# ---- workers run jobs


@event(14, lambda machine: machine.now.all("claims"))
def a_worker_takes_its_claim_messages(machine: LedgerMachine, draw: Draw) -> None:
    lists = machine.now.all("claims")
    worker = draw([name for name in machine.alive() if machine.platform.incarnations[name] in lists])
    for claim in machine.platform.take_claim_messages(worker):
        machine.receive(claim, worker, is_lost=draw([False, False, False, True]))


@event(4, lambda machine: machine.alive())
def a_worker_asks_for_the_claims_that_it_does_not_know(machine: LedgerMachine, draw: Draw) -> None:
    worker = draw(machine.alive())
    incarnation = machine.platform.incarnations[worker]
    known = {one.claim.id for one in machine.valid_claims() if one.incarnation == incarnation}
    claims = machine.ledger.take_claims(worker, incarnation, known)
    assert {claim.id for claim in claims} == machine.jobs_on(worker) - known
    for claim in claims:
        machine.receive(claim, worker, is_lost=False)


@event(6, lambda machine: machine.valid_claims())
def an_engine_produces_text(machine: LedgerMachine, draw: Draw) -> None:
    machine.append(draw(machine.valid_claims()), draw([1, 3]), again=draw([True, False]))


@event(4, lambda machine: machine.valid_claims())
def a_run_ends(machine: LedgerMachine, draw: Draw) -> None:
    holder, status, tokens = draw(machine.valid_claims()), draw(ENDS), draw([None, 1, 5000])
    release = machine.release(holder.claim, status, tokens, retry=draw([True, False]))
    machine.step(holder, [], [release], lost=draw([True, False]))


@event(3, lambda machine: machine.valid_claims())
def a_run_fails_and_may_be_retried(machine: LedgerMachine, draw: Draw) -> None:
    holder = draw(machine.valid_claims())
    machine.step(holder, [], [machine.release(holder.claim, Status.FAILED, None, retry=True)])


@event(5, lambda machine: machine.valid_claims())
def all_engines_of_a_worker_make_a_step_and_some_runs_end(machine: LedgerMachine, draw: Draw) -> None:
    first = draw(machine.valid_claims())
    together = [one for one in machine.valid_claims() if one.incarnation == first.incarnation]
    requests = [machine.texts(one.claim, 1) for one in together]
    ends = [
        replace(machine.release(one.claim, Status.COMPLETED, 3, retry=False), last=request.number)
        for one, request in zip(together, requests, strict=True)
        if draw([True, False])
    ]
    stopped = machine.step(first, requests, ends)
    for request in requests:
        machine.record(request, stopped)


@event(1, lambda machine: machine.valid_claims())
def redis_has_lost_an_event(machine: LedgerMachine, draw: Draw) -> None:
    holder = draw(machine.valid_claims())
    row = machine.now.jobs[holder.claim.id]
    request = machine.texts(holder.claim, 2)
    late = request._replace(number=request.number + 1, events=request.events[1:])
    end = replace(machine.release(holder.claim, draw(ENDS), 5, retry=True), last=request.number)
    machine.step(holder, *draw([([late], []), ([], [end]), ([late], [end])]))
    if row["status"] == "running":
        code = "cancelled" if row.get("cancel") == "1" else "log_lost"
        ends = [event for event in machine.platform.log(holder.claim.id) if isinstance(event, End)]
        assert [event.code for event in ends] == [code] or code == "cancelled"


# ---- time passes


@event(2)
def time_passes(machine: LedgerMachine, draw: Draw) -> None:
    machine.advance_time(draw([0.1, 0.5, 1.0, 1.9]))


@event(1)
def much_time_passes(machine: LedgerMachine, draw: Draw) -> None:
    machine.advance_time(draw([4.9, 30.0, 130.0, 650.0]))


@event(2)
def time_passes_and_some_worker_is_silent(machine: LedgerMachine, draw: Draw) -> None:
    silent = draw(["none", "none", *machine.alive()])
    machine.run_for(draw([2.0, 6.0]), *(worker for worker in machine.alive() if worker != silent))


@event(1)
def queued_jobs_time_out(machine: LedgerMachine, draw: Draw) -> None:
    machine.run_for(draw([20.0, 125.0]), *machine.alive(), every=1.9)


@event(2)
def the_reaper_runs(machine: LedgerMachine, _: Draw) -> None:
    machine.fleet.registry.expire()


@event(2, lambda machine: machine.jobs("running"))
def a_lease_is_lost(machine: LedgerMachine, draw: Draw) -> None:
    machine.platform.client.zadd(f"{machine.platform.prefix}leases", {draw(machine.jobs("running")): 1})
    machine.fleet.registry.expire()


# ---- a reply was lost: the call is repeated


@event(3, lambda machine: machine.last_call)
def the_last_call_is_repeated(machine: LedgerMachine, _: Draw) -> None:
    assert machine.last_call
    execute, call = machine.last_call
    name, arguments = call.script, cast(dict[str, str], call.arguments)
    before = without_clock(machine.snapshot())
    reply = execute(call)
    if name == "admit" and (id := arguments["id"]) not in machine.history.admitted:
        # it was refused: this is another try, for which a limit may have room after a while
        if reply[0] == b"ok":
            machine.history.admitted[id] = arguments["tenant"]
        return
    if name == "register":
        worker = arguments["worker"]
        machine.former.append((worker, machine.platform.incarnations[worker]))
        machine.platform.incarnations[worker] = reply.decode()
        machine.record_incarnation(reply.decode())
    elif name == "step":
        assert reply[1] == [], "the claims were in the first reply"
    elif name == "delete" and arguments["id"] in machine.history.ended:
        machine.history.deleted.add(arguments["id"])
    # a repeated unload fails more of the waiting jobs, which `expire` would do otherwise
    left = [orjson.loads(entry) for entry in before.get("unfinished", ())] if name == "begin_unload" else []
    continues = any(entry[:2] == ["waiting", arguments["model"]] for entry in left)
    assert name not in REPEATABLE or continues or without_clock(machine.snapshot()) == before, (
        f"the repeated {name} changed something"
    )


# ---- zombies: workers that continue after the end of their incarnation


@event(4, lambda machine: machine.holders)
def a_zombie_appends(machine: LedgerMachine, draw: Draw) -> None:
    machine.append(draw(machine.holders), draw([1, 3]))


@event(3, lambda machine: machine.holders)
def a_zombie_ends_its_run(machine: LedgerMachine, draw: Draw) -> None:
    holder = draw(machine.holders)
    machine.step(holder, [], [machine.release(holder.claim, draw(ENDS), 7, retry=draw([True, False]))])


@event(2, lambda machine: machine.holders)
def a_zombie_appends_and_ends_at_once(machine: LedgerMachine, draw: Draw) -> None:
    holder = draw(machine.holders)
    request = machine.texts(holder.claim, 1)
    release = replace(machine.release(holder.claim, Status.COMPLETED, None, retry=False), last=request.number)
    machine.record(request, machine.step(holder, [request], [release]))


@event(2, lambda machine: machine.zombies())
def a_zombie_takes_claims(machine: LedgerMachine, draw: Draw) -> None:
    worker, incarnation = draw(machine.zombies())
    assert not machine.platform.client.exists(machine.ledger.claims_key(incarnation))
    with pytest.raises(Fenced):
        machine.ledger.take_claims(worker, incarnation, [])


@event(3, lambda machine: machine.zombies())
def a_zombie_worker_reports(machine: LedgerMachine, draw: Draw) -> None:
    worker, incarnation = draw(machine.zombies())
    replica = draw(sorted(machine.now.all("replica")) or ["alpha#gone"])
    before = without_clock(machine.snapshot())
    call = draw(["heartbeat", "drain", "leave", "up", "down", "starting", "memory"])
    if call == "heartbeat":
        with pytest.raises(Fenced):
            machine.ledger.heartbeat(worker, incarnation)
    elif call == "drain":
        machine.fleet.registry.begin_shutdown(worker, incarnation)
    elif call == "leave":
        machine.fleet.registry.deregister(worker, incarnation, "goodbye")
    elif call == "up":
        assert not machine.fleet.replica_up(replica, worker, incarnation, 9, 1)
    elif call == "memory":
        machine.fleet.report_memory(worker, incarnation, DeviceMemory("host:other", 100, 100))
    elif call == "down":
        machine.fleet.replica_down(replica, worker, incarnation, code="engine_crashed", message="killed")
    else:
        assert machine.fleet.replica_starting(replica, worker, incarnation) is None
    assert without_clock(machine.snapshot()) == before
