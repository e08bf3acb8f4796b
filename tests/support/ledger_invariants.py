"""The invariants of the ledger: each function checks one of them on a snapshot of Redis."""

from __future__ import annotations

from collections import Counter

from scheduler.job import QUEUE_PRIORITIES, Status
from tests.support.prefix_invariants import PREFIX_INVARIANTS
from tests.support.redis_keys import find_key
from tests.support.redis_snapshot import Snapshot

TERMINAL = {str(status) for status in Status if status.is_terminal}
SCALE_MAX = 3
"""The largest number of replicas to which the state machine lets a model grow."""

RECOVERABLE = ("worker_lost", "load_interrupted")


def every_admitted_job_exists(now: Snapshot) -> None:
    missing = set(now.history.admitted) - set(now.jobs) - now.history.deleted - now.history.ended.keys()
    assert not missing, f"admitted and missing: {missing}"
    unknown = set(now.jobs) - set(now.history.admitted)
    assert not unknown, f"never admitted: {unknown}"


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


def an_ended_job_never_changes(now: Snapshot) -> None:
    for id, row in now.jobs.items():
        if row["status"] in TERMINAL:
            length = len(now.log(id))
            assert now.history.ended.setdefault(id, (row["status"], length)) == (row["status"], length)
        else:
            assert id not in now.history.ended, f"{id} had ended"
    assert not set(now.all("log")) - set(now.jobs), "a log without a job"


def log_entries_are_numbered_without_gaps(now: Snapshot) -> None:
    for id in now.jobs:
        numbers = [number for number, _ in now.log(id)]
        assert numbers == list(range(1, len(numbers) + 1)), id


def the_log_holds_all_accepted_events_of_exactly_one_claim(now: Snapshot) -> None:
    for id in now.jobs:
        texts = [event["d"] for _, event in now.log(id) if event["t"] != "end"]
        accepted = now.history.accepted.get(id, [])
        assert texts == [text for _, text in accepted], id
        fences = {fence for fence, _ in accepted}
        assert len(fences) <= 1, f"{id} has events of {len(fences)} claims"


def every_slot_is_held_by_a_running_job(now: Snapshot) -> None:
    holders = Counter(id for ids in now.all("slots").values() for id in ids)
    needing = now.with_status("running")
    assert dict(holders) == dict.fromkeys(needing, 1), f"slots {dict(holders)}, needed by {needing}"
    for replica, ids in now.all("slots").items():
        for id in ids:
            row = now.jobs[id]
            assert row["replica"] == replica, id
            mark = "cancel " if row.get("cancel") == "1" else ""
            assert now.one(f"slots:{replica}")[id] == f"{mark}{row['fence']} {row['subscribers']}", id
            if replica in now.unfinished("slots"):
                continue  # the replica is gone
            assert now.all("replica")[replica]["model"] == row["model"], id
            assert now.all("replica")[replica]["worker"] == row["worker"], id
            assert now.all("replica")[replica]["slots"] == row["slots"], id


def no_replica_has_more_jobs_than_slots(now: Snapshot) -> None:
    for replica in set(now.all("slots")) - now.unfinished("slots"):
        ids = now.one(f"slots:{replica}")
        assert len(ids) <= int(now.all("replica")[replica]["slots"]), replica


def the_queues_hold_exactly_the_queued_jobs(now: Snapshot) -> None:
    queued: dict[str, set[str]] = {}
    for id in now.with_status("queued"):
        queued.setdefault(now.jobs[id]["model"], set()).add(id)
    assert {model: set(ids) for model, ids in now.all("waiting").items()} == queued
    in_queues = delayed_jobs(now)
    assert not any(ids & set(now.one(name)) for ids in in_queues.values() for name in now.all("queue"))
    for name, ids in now.all("queue").items():
        model, priority, tenant = name.split(":")
        in_queues.setdefault(model, set()).update(ids)
        for id, score in ids.items():
            row = now.jobs[id]
            assert (row["model"], row["priority"], row["tenant"]) == (model, priority, tenant), id
            assert score == float(row["admitted_us"]) == now.all("waiting")[model][id], id
    assert in_queues == queued
    counts = [len(ids) for word in ("queue", "delayed") for ids in now.all(word).values()]
    assert sum(counts) == sum(map(len, queued.values()))


def delayed_jobs(now: Snapshot) -> dict[str, set[str]]:
    """Return the jobs of each model that wait for one replica."""
    return {model: {member.split()[2] for member in members} for model, members in now.all("delayed").items()}


def the_delayed_jobs_know_it(now: Snapshot) -> None:
    for model, members in now.all("delayed").items():
        assert int(now.all("served")[model]["@delayed"]) == len(members) <= 32, model
        for member in members:
            replica, priority, id, tenant = member.split(" ", 3)
            row = now.jobs[id]
            assert (row["model"], row["priority"], row["tenant"]) == (model, priority, tenant), id
            assert row["delayed"].split(" ", 2)[2] == member, id
            assert replica.startswith(f"{model}#"), id
    known = set().union(*delayed_jobs(now).values())
    for id, row in now.jobs.items():
        assert ("delayed" in row) == (id in known), id
        assert not ({"delayed", "was_delayed"} <= row.keys()), f"{id} was delayed twice"


def a_delayed_job_waits_while_its_replica_has_no_free_slot(now: Snapshot) -> None:
    """Or its tenant may not take one. A raised bound counts from the end of the delay on."""
    for model in set(now.all("delayed")) - now.unfinished("dispatch"):
        for member in now.all("delayed")[model]:
            replica, priority, id, tenant = member.split(" ", 3)
            if now.all("ready").get(model, {}).get(replica, 1.0) < 1:
                bound, _ = bound_and_running_of(now, model, tenant)
                assert bound or not may_take_slot(now, model, tenant, priority), id


def a_delay_ends_in_time(now: Snapshot) -> None:
    for model, members in now.all("delayed").items():
        assert now.one("delays")[model] <= min(members.values()), model


def a_tenant_has_a_fair_share_where_it_has_a_queue(now: Snapshot) -> None:
    shares = {f"{name}:{tenant}" for name, tenants in now.all("fair_share").items() for tenant in tenants}
    assert shares == set(now.all("queue"))


def exactly_the_priorities_with_waiting_jobs_count_skips(now: Snapshot) -> None:
    for model, served in now.all("served").items():
        counted = {priority for priority in QUEUE_PRIORITIES if served.get(f"@{priority}")}
        waiting = {
            priority for priority in QUEUE_PRIORITIES if f"{model}:{priority}" in now.all("fair_share")
        }
        assert counted == waiting, model


def the_runs_of_a_tenant_are_its_running_jobs(now: Snapshot) -> None:
    runs: Counter[tuple[str, str]] = Counter()
    bounded: Counter[str] = Counter()
    for id in now.with_status("running"):
        row = now.jobs[id]
        runs[row["model"], f"{row['tenant']}:running"] += 1
        runs[row["model"], "@running"] += 1
        runs[row["model"], "@background"] += is_background(row["priority"])
        bounded[row["tenant"]] += int(row.get("counted", "0"))
    counted = {
        (model, field): int(value)
        for model, served in now.all("served").items()
        for field, value in served.items()
        if (field.endswith("running") or field == "@background") and value != "0"
    }
    assert counted == dict(+runs)
    assert {tenant: int(count) for tenant, count in now.one("running").items()} == dict(+bounded)
    for id in now.with_status("queued"):
        assert "counted" not in now.jobs[id], id


def the_slots_of_a_model_are_those_of_its_replicas(now: Snapshot) -> None:
    slots: Counter[str] = Counter()
    for row in now.all("replica").values():
        slots[row["model"]] += int(row.get("slots", "0"))
    for model, served in now.all("served").items():
        assert int(served.get("@slots", "0")) == slots[model], model
    assert set(+slots) <= set(now.all("served"))


def bound_and_running_of(now: Snapshot, model: str, tenant: str) -> tuple[int, int]:
    """Return the most jobs that a tenant may run (0: no bound), and how many count for it."""
    served = now.all("served")[model]
    bound = int(served[f"{tenant}:limits"].split()[1])
    return bound, max(int(now.one("running").get(tenant, "0")), int(served.get(f"{tenant}:running", "0")))


def is_background(priority: str) -> bool:
    return priority == "low" or priority.endswith("_background")


def may_take_slot(now: Snapshot, model: str, tenant: str, priority: str) -> bool:
    """Whether a free slot of the model may go to the tenant, by its bound and the reserves."""
    served = now.all("served")[model]
    bound, running = bound_and_running_of(now, model, tenant)
    if bound and running >= bound:
        assert model in now.all("held").get(tenant, ()), f"nothing dispatches for {tenant} on {model}"
        return False
    if int(served.get(f"{tenant}:running", "0")) == 0:
        return True
    reserve, slots = int(served.get("@reserve", "0")), int(served["@slots"])
    free = slots - int(served.get("@running", "0"))
    if reserve > 0 and free <= slots // reserve:
        return False
    kept = int(served.get("@background_reserve", "0"))
    if not kept or not is_background(priority):
        return True
    is_due = int(served.get(f"@{priority}") or 0) >= (16 if priority == "low" else 4)
    return int(served.get("@background", "0")) < max(1, slots - kept) and (free > kept or is_due)


def every_job_with_a_slot_has_a_lease(now: Snapshot) -> None:
    assert set(now.one("leases")) == now.with_status("running")


def every_job_has_a_deadline(now: Snapshot) -> None:
    assert set(now.one("deadlines")) == set(now.jobs)
    for id, row in now.jobs.items():
        if row["status"] in TERMINAL:
            assert now.one("deadlines")[id] == int(row["ended_us"]) + int(row["retention_s"]) * 1_000_000, id


def the_bytes_are_those_of_the_jobs(now: Snapshot) -> None:
    expected: Counter[str] = Counter()
    for row in now.jobs.values():
        expected[row["tenant"]] += int(row["bytes"])
    for line in now.pending_ends():
        expected[line[0]] -= int(line[10])
    expected["@all"] = expected.total()
    assert {name: int(count) for name, count in now.one("bytes").items()} == without_zeros(expected)


def every_ended_job_counts_once(now: Snapshot) -> None:
    """What is counted and what is pending are the jobs that have ended."""
    expected: Counter[str] = Counter()
    for id, (status, _) in now.history.ended.items():
        expected[f"{now.history.admitted[id]} {status}"] += 1
    found: Counter[str] = Counter(f"{line[0]} {line[3]}" for line in now.pending_ends())
    tokens: Counter[str] = Counter()
    for field, value in now.one("counters").items():
        kind, *labels = field.split(" ")
        if kind == "requests":
            found[" ".join(labels[1:])] += int(value)
        assert kind != "unreadable_ends"
        tokens[kind] += int(value) if kind.endswith("tokens") else 0
    assert found == expected
    of_days = [list(map(int, line.split(" "))) for day in now.all("usage").values() for line in day.values()]
    counted, succeeded, used, *_ = [sum(column) for column in zip(*of_days, strict=True)] or [0, 0, 0]
    assert counted == len(now.history.ended) - len(now.pending_ends())
    assert succeeded <= counted
    assert used == tokens["input_tokens"]


def without_zeros(counts: Counter[str]) -> dict[str, int]:
    return {name: count for name, count in counts.items() if count}


def no_attempt_extends_the_deadline_of_the_first(now: Snapshot) -> None:
    for id in now.with_status("running"):
        job, deadline = now.jobs[id], int(now.one("deadlines")[id])
        # its worker has a moment to end a run whose time is over
        assert deadline == int(job["run_by_us"]) or ("late" in job and deadline > int(job["run_by_us"])), id
        assert now.history.run_by.setdefault(id, now.jobs[id]["run_by_us"]) == now.jobs[id]["run_by_us"]


def no_slot_is_free_while_a_job_waits_that_may_take_it(now: Snapshot) -> None:
    # the jobs of a lost replica count as running until `expire` has queued them again, and dispatches
    lost = now.unfinished("slots")
    unfinished = {
        job["model"] for job in now.jobs.values() if job["status"] == "running" and job["replica"] in lost
    }
    delayed = delayed_jobs(now)
    for model in set(now.all("waiting")) - now.unfinished("dispatch") - unfinished:
        ids = now.all("waiting")[model].keys() - delayed.get(model, set())
        jobs = {(now.jobs[id]["tenant"], now.jobs[id]["priority"]) for id in ids}
        for replica in now.all("ready").get(model, ()):
            taken, slots = len(now.one(f"slots:{replica}")), int(now.all("replica")[replica]["slots"])
            if taken < slots:
                waiting = [job for job in jobs if may_take_slot(now, model, *job)]
                assert not waiting, f"{waiting} wait for {model}, and {replica} has a free slot"


def no_job_is_dispatched_three_times(now: Snapshot) -> None:
    for id, row in now.jobs.items():
        assert len(now.history.claims.get(id, ())) <= int(row["attempts"]) <= 2, id


def a_job_with_events_is_never_retried(now: Snapshot) -> None:
    for id in now.with_status("queued"):
        assert not now.log(id), id


def no_job_expires_by_itself(now: Snapshot) -> None:
    for id in now.jobs:
        assert now.ttls[f"job:{id}"] == -1, id
        assert now.ttls.get(f"log:{id}", -1) == -1, id


def an_ended_job_that_is_not_stored_has_no_prompt(now: Snapshot) -> None:
    for id, row in now.jobs.items():
        if row["status"] in TERMINAL and row["store"] != "1":
            assert "generation" not in row, id
            assert "echo" not in row, id


def only_a_loaded_model_has_ready_replicas(now: Snapshot) -> None:
    for model, ready in now.all("ready").items():
        assert now.all("model")[model]["state"] == "loaded", model
        for replica in ready:
            row = now.all("replica")[replica]
            assert row["state"] == "up", replica
            assert row["worker"] not in now.history.draining | now.history.operator_drains, replica


def every_replica_of_a_loaded_model_is_ready_unless_its_worker_drains(now: Snapshot) -> None:
    drained = now.history.draining | now.history.operator_drains
    assert set(now.one("operator_drains")) == now.history.operator_drains
    for name, row in now.all("replica").items():
        serves = row["state"] == "up" and now.all("model")[row["model"]]["state"] == "loaded"
        if serves and row["worker"] not in drained:
            assert name in now.all("ready").get(row["model"], {}), name


def a_worker_drains_by_an_operator_or_since_it_shuts_down(now: Snapshot) -> None:
    for name, row in now.all("worker").items():
        if "incarnation" not in row:
            assert "draining" not in row, name
        elif name in now.history.draining:
            assert row["draining"] == "shutdown", name
        else:
            assert row.get("draining") == ("operator" if name in now.history.operator_drains else None), name


def replicas_are_listed_under_their_model_and_worker(now: Snapshot) -> None:
    rows = now.all("replica")
    by_model = {(model, replica) for model, names in now.all("replicas").items() for replica in names}
    by_worker = {
        (worker, replica) for worker, names in now.all("worker_replicas").items() for replica in names
    }
    assert by_model == {(row["model"], name) for name, row in rows.items()}
    assert by_worker == {(row["worker"], name) for name, row in rows.items()}
    loading = {name for name, row in rows.items() if row["state"] in {"assigned", "starting"}}
    assert loading <= set(now.one("loading_replicas")) <= set(rows)
    assert set(now.all("slots")) - set(rows) <= now.unfinished("slots")
    assert not now.unfinished("slots") & set(rows), "a replica that is gone"


def a_removed_worker_has_no_replicas_or_jobs(now: Snapshot) -> None:
    alive = {name for name, row in now.all("worker").items() if "incarnation" in row}
    assert alive == set(now.one("workers"))
    assert {row["worker"] for row in now.all("replica").values()} <= alive
    for id in now.with_status("running"):
        assert now.jobs[id]["worker"] in alive or now.jobs[id]["replica"] in now.unfinished("slots"), id


def a_model_in_transition_has_the_replicas_to_finish_it(now: Snapshot) -> None:
    for model, row in now.all("model").items():
        states = [now.all("replica")[name]["state"] for name in now.all("replicas").get(model, ())]
        state = row.get("state", "unloaded")
        waits = model in now.one("evicting")
        assert waits == (state == "loading" and not states), f"{model} is {state} with {states}"
        if state == "loading":
            assert waits or any(one != "up" for one in states), f"{model} loads and no replica starts"
            assert "stopping" not in states, model
        elif state == "loaded":
            leaving = states.count("stopping")
            assert len(states) > leaving, f"{model} is loaded with {states}"
            assert leaving == int(row.get("leaving", 0)), (
                f"{row.get('leaving')} replicas of {model} leave of {states}"
            )
        elif state in {"unloading", "failed"}:
            assert set(states) <= {"stopping"}, f"{model} is {state} with {states}"
            assert states or state == "failed", model
        else:
            assert not states, f"{model} is {state} with {states}"


def an_operation_is_open_while_its_model_is_in_transition(now: Snapshot) -> None:
    open_operations = {id for id, row in now.all("operation").items() if "finished_us" not in row}
    in_transition = {
        row["operation"] for row in now.all("model").values() if row.get("state") in {"loading", "unloading"}
    }
    models = now.all("model")
    restoring = {
        row["operation"]
        for row in now.all("replica").values()
        if row["state"] in {"assigned", "starting"} and models[row["model"]]["state"] == "loaded"
    }
    assert in_transition <= open_operations <= in_transition | restoring
    latest = {row.get("operation") for row in models.values()}
    assert open_operations <= latest, "a model has one operation at a time"
    for id, row in now.all("operation").items():
        assert (row["status"] in {"completed", "failed", "cancelled"}) == (id not in open_operations), id
        assert (row["status"] in {"failed", "cancelled"}) == bool(row.get("error")), id
        assert row["status"] != "cancelled" or row["kind"] == "load", id


def a_model_has_no_more_replicas_than_wanted(now: Snapshot) -> None:
    for model, row in now.all("model").items():
        states = [now.all("replica")[name]["state"] for name in now.all("replicas").get(model, ())]
        if row.get("state") == "loading" and states:
            assert len(states) == int(row["wanted"]) == int(row["least"]), model
        elif row.get("state") == "loaded":
            count = len(states) - states.count("stopping")
            lost, crashed = int(row.get("lost", 0)), int(row.get("crashed", 0))
            assert count + lost + crashed <= int(row["wanted"]), model
            assert lost >= 0, model
            assert int(row["least"]) <= int(row["wanted"]) == int(row["replicas"]), model


def only_replicas_that_follow_the_load_are_beyond_those_of_the_load(now: Snapshot) -> None:
    for model, row in now.all("model").items():
        assert int(row.get("wanted", 0)) <= max(int(row.get("least", 0)), SCALE_MAX), model
        assert "leaving" not in row or row["state"] == "loaded", model


def a_restart_is_due_for_a_crashed_model_or_crashed_replicas(now: Snapshot) -> None:
    for model, row in now.all("model").items():
        state, crashed = row.get("state", "unloaded"), int(row.get("crashed", 0))
        is_due = "restart_us" in row
        assert is_due == (crashed > 0) or (is_due and state == "failed"), f"{model} is {state}"
        assert not is_due or state in {"loaded", "failed"}, f"{model} is {state}"
        assert not is_due or row["wanted"] != "0", f"{model} was unloaded by an operator"
        assert not is_due or now.one(f"crashes:{model}"), f"{model} did not crash"


def a_replica_has_the_override_of_its_model(now: Snapshot) -> None:
    for name, row in now.all("replica").items():
        if row["state"] != "stopping":
            assert row["override"] == now.all("model")[row["model"]]["override"], name


def no_memory_is_promised_twice(now: Snapshot) -> None:
    workers, replicas = now.all("worker"), now.all("replica")
    pending = {name for name, row in replicas.items() if row["state"] in {"assigned", "starting"}}
    for memory in {row["memory_id"] for row in workers.values() if row.get("memory_id")}:
        needs = now.promised(memory)
        new = set(needs) - now.history.pending
        free = [int(workers[replicas[name]["worker"]]["free_mib"]) for name in new]
        assert not new or sum(needs.values()) <= max(free), f"{needs} of {max(free)} MiB on {memory}"
    now.history.pending = pending


def every_state_change_is_in_the_stream(now: Snapshot) -> None:
    states: dict[str, str] = {}
    for _, change in now.one("changes") or ():
        model = change["model"]
        assert change["was"] == states.get(model, "unloaded"), change
        assert bool(change["code"]) == (change["state"] == "failed"), change
        scaled = change["was"] == change["state"] == "loaded" and change["message"].endswith(" replicas")
        assert bool(change["message"]) == (bool(change["code"]) or scaled), change
        states[model] = change["state"]
    for model, row in now.all("model").items():
        assert row.get("state", "unloaded") == states.get(model, "unloaded"), model


def no_job_waits_for_a_model_that_will_not_be_served(now: Snapshot) -> None:
    for model in set(now.all("waiting")) - now.unfinished("waiting"):
        row = now.all("model").get(model, {})
        state = row.get("state", "unloaded")
        will_be_served = (
            state in {"loaded", "loading"}
            or (state == "failed" and (row.get("code") in RECOVERABLE or "restart_us" in row))
            or (state == "unloaded" and row.get("wanted", "0") != "0")
            or model in now.one("demand")
        )
        assert will_be_served, f"{model} is {state} ({row.get('code')}), and jobs wait for it"


def requests_wait_for_the_load_of_models_that_are_not_loaded(now: Snapshot) -> None:
    for model in now.one("demand"):
        row = now.all("model").get(model, {})
        assert row.get("state") != "loaded", model
    for model, row in now.all("model").items():
        assert ("load_failures" in row) == ("load_retry_us" in row), model
        assert row.get("state") != "loaded" or not {"leaves_for", "demand_note", "load_failures"} & set(
            row
        ), model
    for name, row in now.all("replica").items():
        assert "drains_fully" not in row or row["state"] == "stopping", name


def every_claim_was_sent_to_the_worker_of_the_job(now: Snapshot) -> None:
    for id in now.with_status("running"):
        row = now.jobs[id]
        if row["fence"] in now.history.claims.get(id, set()) | now.history.lost_claims:
            continue
        if row["replica"] in now.unfinished("slots"):
            continue  # the replica is gone
        incarnation = now.all("worker")[row["worker"]]["incarnation"]
        line = f"{id} {row['fence']} {row['replica']} 0 {row['attempts']}"
        assert f"{line}\n{row['generation']}" in now.one(f"claims:{incarnation}"), id


def only_registered_workers_have_claim_lists(now: Snapshot) -> None:
    incarnations = {row.get("incarnation") for row in now.all("worker").values()}
    assert set(now.all("claims")) <= incarnations


def a_ready_replica_is_ranked_by_its_share_of_taken_slots(now: Snapshot) -> None:
    for ready in now.all("ready").values():
        for replica, share in ready.items():
            taken, slots = len(now.one(f"slots:{replica}")), int(now.all("replica")[replica]["slots"])
            assert share == taken / slots, replica


def the_jobs_to_stop_are_listed_under_their_worker(now: Snapshot) -> None:
    listed = {(worker, id) for worker, ids in now.all("cancelled").items() for id in ids}
    running = [(now.jobs[id], id) for id in now.with_status("running")]
    assert listed == {(row["worker"], id) for row, id in running if row.get("cancel") == "1"}


def every_key_is_in_the_table(now: Snapshot) -> None:
    for name, kind in now.kinds.items():
        key = find_key(name)
        assert key, f"{name} is not in store/redis_keys.md"
        assert key.type == kind, name


INVARIANTS = (
    every_admitted_job_exists,
    a_job_has_at_most_one_terminal_event_and_it_is_the_last_entry,
    an_ended_job_never_changes,
    log_entries_are_numbered_without_gaps,
    the_log_holds_all_accepted_events_of_exactly_one_claim,
    every_slot_is_held_by_a_running_job,
    no_replica_has_more_jobs_than_slots,
    the_queues_hold_exactly_the_queued_jobs,
    the_delayed_jobs_know_it,
    a_delayed_job_waits_while_its_replica_has_no_free_slot,
    a_delay_ends_in_time,
    a_tenant_has_a_fair_share_where_it_has_a_queue,
    exactly_the_priorities_with_waiting_jobs_count_skips,
    the_runs_of_a_tenant_are_its_running_jobs,
    the_slots_of_a_model_are_those_of_its_replicas,
    every_job_with_a_slot_has_a_lease,
    every_job_has_a_deadline,
    the_bytes_are_those_of_the_jobs,
    every_ended_job_counts_once,
    no_attempt_extends_the_deadline_of_the_first,
    no_slot_is_free_while_a_job_waits_that_may_take_it,
    no_job_is_dispatched_three_times,
    a_job_with_events_is_never_retried,
    no_job_expires_by_itself,
    an_ended_job_that_is_not_stored_has_no_prompt,
    only_a_loaded_model_has_ready_replicas,
    every_replica_of_a_loaded_model_is_ready_unless_its_worker_drains,
    a_worker_drains_by_an_operator_or_since_it_shuts_down,
    replicas_are_listed_under_their_model_and_worker,
    a_removed_worker_has_no_replicas_or_jobs,
    a_model_in_transition_has_the_replicas_to_finish_it,
    an_operation_is_open_while_its_model_is_in_transition,
    a_model_has_no_more_replicas_than_wanted,
    only_replicas_that_follow_the_load_are_beyond_those_of_the_load,
    a_restart_is_due_for_a_crashed_model_or_crashed_replicas,
    a_replica_has_the_override_of_its_model,
    no_memory_is_promised_twice,
    every_state_change_is_in_the_stream,
    no_job_waits_for_a_model_that_will_not_be_served,
    requests_wait_for_the_load_of_models_that_are_not_loaded,
    every_claim_was_sent_to_the_worker_of_the_job,
    only_registered_workers_have_claim_lists,
    a_ready_replica_is_ranked_by_its_share_of_taken_slots,
    the_jobs_to_stop_are_listed_under_their_worker,
    every_key_is_in_the_table,
    *PREFIX_INVARIANTS,
)


def check(now: Snapshot) -> None:
    """Check all invariants."""
    for invariant in INVARIANTS:
        invariant(now)


def check_all_has_ended(now: Snapshot) -> None:
    """Check that no job, slot, lease or replica is left after all workers died and time passed."""
    assert now.with_status("queued", "running") == set()
    for word in (
        "slots",
        "claims",
        "cancelled",
        "queue",
        "fair_share",
        "waiting",
        "worker_replicas",
        "replicas",
        "ready",
        "replica",
    ):
        assert not now.all(word), word
    for name in ("leases", "deadlines", "workers", "evicting", "unfinished", "loading_replicas", "ended"):
        assert not now.one(name), name
    for model, row in now.all("model").items():
        assert row.get("state", "unloaded") in {"unloaded", "failed"}, model
    assert not [row for row in now.all("worker").values() if "incarnation" in row]
