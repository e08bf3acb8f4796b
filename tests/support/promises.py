"""What must be true of the ledger at every instant, whatever happened before: one promise, one function."""

from __future__ import annotations

from collections import Counter

from scheduler.job import Status
from scheduler.keys import find
from tests.support.redis_snapshot import Snapshot

TERMINAL = {str(status) for status in Status if status.is_terminal}
HOLDING = ("dispatched", "running")
PRIORITIES = ("high", "normal", "low")
RECOVERABLE = ("worker_lost", "load_interrupted")


def nobody_is_forgotten(now: Snapshot) -> None:
    missing = set(now.memory.admitted) - set(now.jobs) - now.memory.deleted
    assert not missing, f"admitted and gone: {missing}"
    unknown = set(now.jobs) - set(now.memory.admitted)
    assert not unknown, f"nobody admitted {unknown}"


def a_job_has_at_most_one_terminal_event_and_it_is_the_last_entry(now: Snapshot) -> None:
    for id, row in now.jobs.items():
        events = [event for _, event in now.log(id)]
        ends = [event for event in events if event["t"] == "end"]
        if row["status"] in TERMINAL:
            assert len(ends) == 1, f"{id} is {row['status']} and has {len(ends)} terminal events"
            assert events[-1]["t"] == "end"
            assert events[-1]["status"] == row["status"]
        else:
            assert not ends, f"{id} is {row['status']} and has a terminal event"


def what_has_ended_never_changes(now: Snapshot) -> None:
    for id, row in now.jobs.items():
        if row["status"] in TERMINAL:
            length = len(now.log(id))
            assert now.memory.ended.setdefault(id, (row["status"], length)) == (row["status"], length)
        else:
            assert id not in now.memory.ended, f"{id} ended and lives again"
    assert not set(now.all("log")) - set(now.jobs), "a log without a job"


def log_entries_are_numbered_without_gaps(now: Snapshot) -> None:
    for id, row in now.jobs.items():
        numbers = [number for number, _ in now.log(id)]
        assert numbers == list(range(1, len(numbers) + 1)), id
        assert int(row["last"]) == len(numbers), id


def everything_said_is_from_one_claim_and_all_that_was_accepted_is_there(now: Snapshot) -> None:
    for id in now.jobs:
        said = [event["d"] for _, event in now.log(id) if event["t"] != "end"]
        accepted = now.memory.accepted.get(id, [])
        assert said == [text for _, text in accepted], id
        fences = {fence for fence, _ in accepted}
        assert len(fences) <= 1, f"{id} speaks with {len(fences)} voices"


def every_slot_is_held_by_one_that_needs_it(now: Snapshot) -> None:
    held = Counter(id for ids in now.all("slots").values() for id in ids)
    needing = now.with_status(*HOLDING)
    assert dict(held) == dict.fromkeys(needing, 1), f"slots {dict(held)}, needed by {needing}"
    for replica, ids in now.all("slots").items():
        for id in ids:
            row = now.jobs[id]
            assert row["replica"] == replica, id
            assert now.all("replica")[replica]["model"] == row["model"], id
            assert now.all("replica")[replica]["worker"] == row["worker"], id


def no_replica_holds_more_than_its_slots(now: Snapshot) -> None:
    for replica, ids in now.all("slots").items():
        assert len(ids) <= int(now.all("replica")[replica]["slots"]), replica


def the_line_is_those_who_are_queued(now: Snapshot) -> None:
    queued: dict[str, set[str]] = {}
    for id in now.with_status("queued"):
        queued.setdefault(now.jobs[id]["model"], set()).add(id)
    assert {model: set(ids) for model, ids in now.all("waiting").items()} == queued
    lines: dict[str, set[str]] = {}
    for name, ids in now.all("queue").items():
        model, priority, tenant = name.split(":")
        lines.setdefault(model, set()).update(ids)
        for id, score in ids.items():
            row = now.jobs[id]
            assert (row["model"], row["priority"], row["tenant"]) == (model, priority, tenant), id
            assert score == float(row["admitted_us"]) == now.all("waiting")[model][id], id
    assert lines == queued
    assert sum(len(ids) for ids in now.all("queue").values()) == sum(map(len, queued.values()))


def a_tenant_has_a_turn_where_it_has_a_line(now: Snapshot) -> None:
    turns = {f"{name}:{tenant}" for name, tenants in now.all("fair_share").items() for tenant in tenants}
    assert turns == set(now.all("queue"))


def only_priorities_that_wait_are_impatient(now: Snapshot) -> None:
    for model, counts in now.all("skipped").items():
        assert all(f"{model}:{priority}" in now.all("fair_share") for priority in counts), counts


def what_holds_a_slot_has_a_lease(now: Snapshot) -> None:
    assert set(now.one("leases")) == now.with_status(*HOLDING)


def what_lives_has_a_deadline(now: Snapshot) -> None:
    assert set(now.one("deadlines")) == now.with_status("queued", *HOLDING)


def no_run_goes_beyond_the_time_of_the_first(now: Snapshot) -> None:
    for id in now.with_status("running"):
        assert int(now.one("deadlines")[id]) == int(now.jobs[id]["run_by_us"]), id
        assert now.memory.run_by.setdefault(id, now.jobs[id]["run_by_us"]) == now.jobs[id]["run_by_us"]


def no_slot_is_free_while_somebody_waits(now: Snapshot) -> None:
    for model, waiting in now.all("waiting").items():
        for replica in now.all("ready").get(model, ()):
            taken, slots = len(now.one(f"slots:{replica}")), int(now.all("replica")[replica]["slots"])
            assert taken >= slots, f"{waiting} wait for {model}, and {replica} has room"


def nobody_is_claimed_a_third_time(now: Snapshot) -> None:
    for id, row in now.jobs.items():
        assert int(row["attempts"]) <= 2, id
        assert len(now.memory.attempts.get(id, ())) == int(row["attempts"]), id


def what_was_spoken_is_never_tried_again(now: Snapshot) -> None:
    for id in now.with_status("queued", "dispatched"):
        assert now.jobs[id]["last"] == "0", id


def ended_rows_go_away_and_living_ones_stay(now: Snapshot) -> None:
    for id, row in now.jobs.items():
        if row["status"] in TERMINAL:
            assert 0 < now.ttls[f"job:{id}"] <= int(row["retention_s"]), id
            assert 0 < now.ttls[f"log:{id}"] <= int(row["retention_s"]), id
        else:
            assert now.ttls[f"job:{id}"] == -1, id
            assert now.ttls.get(f"log:{id}", -1) == -1, id


def what_is_not_stored_keeps_no_prompt(now: Snapshot) -> None:
    for id, row in now.jobs.items():
        if row["status"] in TERMINAL and row["store"] != "1":
            assert "generation" not in row, id
            assert "echo" not in row, id


def only_a_loaded_model_has_replicas_that_take_jobs(now: Snapshot) -> None:
    for model, ready in now.all("ready").items():
        assert now.all("model")[model]["state"] == "loaded", model
        for replica in ready:
            row = now.all("replica")[replica]
            assert row["state"] == "up", replica
            assert row["worker"] not in now.memory.draining, replica


def models_replicas_and_workers_agree(now: Snapshot) -> None:
    rows = now.all("replica")
    by_model = {(model, replica) for model, names in now.all("replicas").items() for replica in names}
    by_worker = {
        (worker, replica) for worker, names in now.all("worker_replicas").items() for replica in names
    }
    assert by_model == {(row["model"], name) for name, row in rows.items()}
    assert by_worker == {(row["worker"], name) for name, row in rows.items()}
    assert set(now.all("slots")) <= set(rows)


def what_a_worker_holds_goes_with_it(now: Snapshot) -> None:
    alive = {name for name, row in now.all("worker").items() if "incarnation" in row}
    assert alive == set(now.one("workers"))
    assert {row["worker"] for row in now.all("replica").values()} <= alive
    assert {now.jobs[id]["worker"] for id in now.with_status(*HOLDING)} <= alive


def a_model_under_way_has_somebody_who_brings_it_to_an_end(now: Snapshot) -> None:
    for model, row in now.all("model").items():
        states = [now.all("replica")[name]["state"] for name in now.all("replicas").get(model, ())]
        state = row.get("state", "unloaded")
        waits = model in now.one("evicting")
        assert waits == (state == "loading" and not states), f"{model} is {state} with {states}"
        if state == "loading":
            assert waits or any(one != "up" for one in states), f"{model} loads and nothing comes up"
            assert "stopping" not in states, model
        elif state == "loaded":
            assert states, model
            assert "stopping" not in states, model
        elif state in {"unloading", "failed"}:
            assert set(states) <= {"stopping"}, f"{model} is {state} with {states}"
            assert states or state == "failed", model
        else:
            assert not states, f"{model} is {state} with {states}"


def an_operation_is_open_as_long_as_its_model_is_under_way(now: Snapshot) -> None:
    open_ones = {id for id, row in now.all("operation").items() if "finished_us" not in row}
    under_way = {
        row["operation"] for row in now.all("model").values() if row.get("state") in {"loading", "unloading"}
    }
    assert open_ones == under_way
    for id, row in now.all("operation").items():
        assert (row["status"] in {"completed", "failed"}) == (id not in open_ones), id
        assert row["status"] != "failed" or row.get("error"), id


def a_model_has_no_more_replicas_than_wanted(now: Snapshot) -> None:
    for model, row in now.all("model").items():
        count = len(now.all("replicas").get(model, ()))
        if row.get("state") == "loading" and count:
            assert count == int(row["wanted"]), model
        elif row.get("state") == "loaded":
            assert count + int(row.get("lost", 0)) <= int(row["wanted"]), model
            assert int(row.get("lost", 0)) >= 0, model


def a_replica_is_loaded_as_its_model_was_asked_for(now: Snapshot) -> None:
    for name, row in now.all("replica").items():
        if row["state"] != "stopping":
            assert row["override"] == now.all("model")[row["model"]]["override"], name


def no_memory_is_promised_twice(now: Snapshot) -> None:
    workers, replicas = now.all("worker"), now.all("replica")
    pending = {name for name, row in replicas.items() if row["state"] in {"assigned", "starting"}}
    for memory in {row["memory_id"] for row in workers.values() if row.get("memory_id")}:
        needs = now.promised(memory)
        new = set(needs) - now.memory.pending
        free = [int(workers[replicas[name]["worker"]]["free_mib"]) for name in new]
        assert not new or sum(needs.values()) <= max(free), f"{needs} of {max(free)} MiB on {memory}"
    now.memory.pending = pending


def every_change_of_a_state_is_told(now: Snapshot) -> None:
    states: dict[str, str] = {}
    for _, change in now.one("changes") or ():
        model = change["model"]
        assert change["was"] == states.get(model, "unloaded"), change
        assert bool(change["code"]) == bool(change["message"]) == (change["state"] == "failed"), change
        states[model] = change["state"]
    for model, row in now.all("model").items():
        assert row.get("state", "unloaded") == states.get(model, "unloaded"), model


def nobody_waits_for_a_model_that_nobody_brings_back(now: Snapshot) -> None:
    for model in now.all("waiting"):
        row = now.all("model")[model]
        state = row["state"]
        hopeful = (
            state in {"loaded", "loading"}
            or (state == "failed" and row.get("code") in RECOVERABLE)
            or (state == "unloaded" and row.get("wanted", "0") != "0")
        )
        assert hopeful, f"{model} is {state} ({row.get('code')}), and somebody waits for it"


def who_is_dispatched_was_rung_for(now: Snapshot) -> None:
    for id in now.with_status("dispatched"):
        assert f"wake {id}" in now.one(f"wake_ups:{now.jobs[id]['worker']}"), id


def every_key_is_one_of_the_table(now: Snapshot) -> None:
    for name, kind in now.kinds.items():
        if name.startswith("wake_ups:"):
            continue  # where the broker's queues would be
        key = find(name)
        assert key, f"{name} is not declared in scheduler/keys.py"
        assert key.type == kind, name


PROMISES = (
    nobody_is_forgotten,
    a_job_has_at_most_one_terminal_event_and_it_is_the_last_entry,
    what_has_ended_never_changes,
    log_entries_are_numbered_without_gaps,
    everything_said_is_from_one_claim_and_all_that_was_accepted_is_there,
    every_slot_is_held_by_one_that_needs_it,
    no_replica_holds_more_than_its_slots,
    the_line_is_those_who_are_queued,
    a_tenant_has_a_turn_where_it_has_a_line,
    only_priorities_that_wait_are_impatient,
    what_holds_a_slot_has_a_lease,
    what_lives_has_a_deadline,
    no_run_goes_beyond_the_time_of_the_first,
    no_slot_is_free_while_somebody_waits,
    nobody_is_claimed_a_third_time,
    what_was_spoken_is_never_tried_again,
    ended_rows_go_away_and_living_ones_stay,
    what_is_not_stored_keeps_no_prompt,
    only_a_loaded_model_has_replicas_that_take_jobs,
    models_replicas_and_workers_agree,
    what_a_worker_holds_goes_with_it,
    a_model_under_way_has_somebody_who_brings_it_to_an_end,
    an_operation_is_open_as_long_as_its_model_is_under_way,
    a_model_has_no_more_replicas_than_wanted,
    a_replica_is_loaded_as_its_model_was_asked_for,
    no_memory_is_promised_twice,
    every_change_of_a_state_is_told,
    nobody_waits_for_a_model_that_nobody_brings_back,
    who_is_dispatched_was_rung_for,
    every_key_is_one_of_the_table,
)


def check(now: Snapshot) -> None:
    for promise in PROMISES:
        promise(now)


def check_that_nothing_is_left(now: Snapshot) -> None:
    """After everybody died and time passed: all has ended, and what remains is meant to."""
    assert now.with_status("queued", *HOLDING) == set()
    for word in (
        "slots",
        "queue",
        "fair_share",
        "waiting",
        "skipped",
        "worker_replicas",
        "replicas",
        "ready",
        "replica",
    ):
        assert not now.all(word), word
    for name in ("leases", "deadlines", "workers", "evicting"):
        assert not now.one(name), name
    for model, row in now.all("model").items():
        assert row.get("state", "unloaded") in {"unloaded", "failed"}, model
    assert not [row for row in now.all("worker").values() if "incarnation" in row]
