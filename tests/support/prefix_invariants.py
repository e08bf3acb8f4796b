"""The invariants of the choice of replicas by prefixes, each checked on a snapshot of Redis.

An invariant of the choice itself reads the runs that began since the snapshot before (`new_runs`), with the
queue and the ready replicas of that time: so further ones need no change of the state machine.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from scheduler.prefix_table import BUCKETS, PLACES
from tests.support.redis_snapshot import Snapshot

MAX_HOLDERS = 4
FIELD = re.compile(r"(\d+)\.(\d+)")
RATIO_FIELDS = frozenset(map(str, range(BUCKETS)))
ENTRY = re.compile(r"([0-9a-f]{12})((?: [^ #]+ \d+)+)")


@dataclass(frozen=True)
class NewRun:
    """A job that got a slot since the snapshot before.

    `row` has the job's fields; `keys` are those of its prefixes, the shortest first: field, tag, tokens.
    `was_queued`: it waited in the snapshot before. `ready` are the replicas of its model that were ready
    then, with the shares of their taken slots.
    """

    id: str
    row: Mapping[str, str]
    keys: tuple[tuple[str, str, int], ...]
    was_queued: bool
    ready: Mapping[str, float]

    @property
    def replica(self) -> str:
        """The replica whose slot it has."""
        return self.row["replica"]


def new_runs(now: Snapshot) -> list[NewRun]:
    """The runs that began since the snapshot before, and still run."""
    if now.before is None:
        return []
    earlier = now.before.jobs
    return [
        NewRun(
            id,
            row,
            keys_of(row),
            earlier.get(id, {}).get("status") == "queued",
            now.before.all("ready").get(row["model"], {}),
        )
        for id, row in sorted(now.jobs.items())
        if row["status"] == "running" and row["fence"] != earlier.get(id, {}).get("fence")
    ]


def keys_of(row: Mapping[str, str]) -> tuple[tuple[str, str, int], ...]:
    """The prefix keys of a job: field, tag, tokens."""
    words = row.get("prefix_keys", "").removesuffix(" whole").split()
    return tuple(
        (field, tag, int(tokens))
        for field, tag, tokens in zip(words[::3], words[1::3], words[2::3], strict=True)
    )


def holders(now: Snapshot, model: str, field: str, tag: str) -> list[str]:
    """The replicas that are noted for a prefix, the latest first."""
    found, *entries = now.all("prefixes").get(model, {}).get(field, "").split(" ")
    return [f"{model}#{name}" for name in entries[::2]] if found == tag else []


def a_table_of_prefixes_has_its_fields_and_no_more(now: Snapshot) -> None:
    for model, table in now.all("prefixes").items():
        assert len(table) <= BUCKETS * (PLACES + 1), model
        for field in table.keys() - RATIO_FIELDS:
            found = FIELD.fullmatch(field)
            assert found, field
            assert int(found[1]) < BUCKETS, field
            assert int(found[2]) < PLACES, field


def a_prefix_has_a_few_different_holders(now: Snapshot) -> None:
    for table in now.all("prefixes").values():
        for field, value in table.items():
            if field in RATIO_FIELDS:
                assert 0.25 <= float(value) <= 8, f"{field}: {value}"
                continue
            found = ENTRY.fullmatch(value)
            assert found, f"{field}: {value}"
            names = found[2].split()[::2]
            assert len(set(names)) == len(names) <= MAX_HOLDERS, f"{field}: {value}"


def only_a_loaded_model_has_a_table_of_prefixes(now: Snapshot) -> None:
    for model in now.all("prefixes"):
        assert now.all("model")[model]["state"] == "loaded", model


def a_run_begins_on_a_ready_replica(now: Snapshot) -> None:
    """It was ready before the event, or is after it: an event may load a model and dispatch to it."""
    for run in new_runs(now):
        ready = {**run.ready, **now.all("ready").get(run.row["model"], {})}
        assert run.replica in ready, f"{run.id} runs on {run.replica}, not one of {sorted(ready)}"


def a_run_does_not_begin_on_a_replica_that_was_full(now: Snapshot) -> None:
    """A replica that stayed full since the snapshot before began no run."""
    assert now.before is not None or not new_runs(now)
    for run in new_runs(now):
        if now.before is None or run.ready.get(run.replica, 0.0) < 1:
            continue
        former = set(now.before.one(f"slots:{run.replica}"))
        still = {id for id in former if now.jobs.get(id, {}).get("fence") == now.before.jobs[id]["fence"]}
        running = {id for id in still if now.jobs[id]["status"] == "running"}
        assert running < former, f"{run.id} runs on {run.replica}, whose slots were all taken"


def the_replica_of_a_run_is_noted_for_its_longest_prefix(now: Snapshot) -> None:
    """Another prefix may have taken the field since, and its own taken it again, or four later holders."""
    runs = new_runs(now)
    for run in runs:
        model = run.row["model"]
        if not run.keys or model not in now.all("prefixes"):
            continue
        field, tag, _ = run.keys[-1]
        if any(key[0] == field and key[1] != tag for other in runs for key in other.keys):
            continue
        noted = holders(now, model, field, tag)
        assert not noted or run.replica in noted or len(noted) == MAX_HOLDERS, f"{run.id}: {noted}"


def a_replica_that_another_one_outweighs_is_not_chosen(now: Snapshot) -> None:
    """A single admission without a queue: no ready replica saves as much with less load."""
    runs = new_runs(now)
    before = now.before
    if before is None or len(runs) != 1 or runs[0].was_queued or runs[0].id in before.jobs:
        return
    (run,) = runs
    model = run.row["model"]
    if set(now.jobs) - set(before.jobs) != {run.id} or run.replica not in run.ready or not run.keys:
        return
    saved: dict[str, int] = {}
    for field, tag, tokens in run.keys:
        for replica in holders(before, model, field, tag):
            saved[replica] = tokens
    for other, share in run.ready.items():
        if share < 1 and share < run.ready[run.replica]:
            assert saved.get(other, 0) < saved.get(run.replica, 0), f"{run.id} runs on {run.replica}"


def the_listed_jobs_of_a_replica_wait_and_know_it(now: Snapshot) -> None:
    for name, members in now.all("warm").items():
        replica, _, priority = name.rpartition(":")
        assert replica in now.all("replica"), replica
        for member in members:
            id, mark, tokens, tenant = member.split(" ", 3)
            row = now.jobs[id]
            assert row["status"] == "queued", id
            assert (row["priority"], row["tenant"]) == (priority, tenant), id
            assert row["warm"] == f"{replica} {mark} {tokens}", id


def a_job_is_charged_for_its_run_alone(now: Snapshot) -> None:
    for id, row in now.jobs.items():
        assert row["status"] != "queued" or "reuse" not in row, id
        if "reuse" in row:
            tokens, mark, *_, charged = row["reuse"].split(" ")
            assert 0 <= float(charged) <= float(row["cost"]), id
            assert mark == "-" or int(tokens) > 0, id


PREFIX_INVARIANTS = (
    a_table_of_prefixes_has_its_fields_and_no_more,
    a_prefix_has_a_few_different_holders,
    only_a_loaded_model_has_a_table_of_prefixes,
    a_run_begins_on_a_ready_replica,
    a_run_does_not_begin_on_a_replica_that_was_full,
    the_replica_of_a_run_is_noted_for_its_longest_prefix,
    a_replica_that_another_one_outweighs_is_not_chosen,
    the_listed_jobs_of_a_replica_wait_and_know_it,
    a_job_is_charged_for_its_run_alone,
)
