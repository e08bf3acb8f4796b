"""Flushes: the epoch is raised at once; the operation waits for the API processes, then for the replicas."""

from __future__ import annotations

import pytest

from api.inference.namespace_reader import LUA
from config.settings import Settings
from fleet.errors import InvalidFlush, StateConflict
from fleet.flush import MAX_EPOCHS, MAX_OPEN, FlushCount, FlushScope
from fleet.load_request import Assignment, LoadOutcome
from fleet.operation import Operation
from governance.authorization import PLATFORM
from store.errors import UnknownModel
from store.scripts import Scripts
from tests.support.simulated_platform import SimulatedPlatform

TENANT = FlushScope("tenant", tenant="acme")
COUNT = FlushCount(3, 1.5)


def epochs(platform: SimulatedPlatform) -> dict[str, int]:
    found: dict[bytes, bytes] = platform.client.hgetall(f"{platform.prefix}cache_epochs")  # type: ignore[assignment]
    return {field.decode(): int(value) for field, value in found.items()}


def read_epochs(platform: SimulatedPlatform, process: str, version: str) -> str:
    """Read as an API process does that uses this version; returns the current one."""
    scripts = Scripts(platform.client, platform.settings.redis.prefix, LUA)
    scripts.offset_us = platform.ledger.scripts.offset_us
    _, current, *_ = scripts.run(
        "read_epochs", process=process, version=version, secret="a secret", max_age_us=60_000_000
    )
    return str(current.decode())


def operation(platform: SimulatedPlatform, outcome: LoadOutcome) -> Operation:
    assert outcome.operation is not None
    found = platform.fleet.operation(outcome.operation.id)
    assert found is not None
    return found


def turn(platform: SimulatedPlatform, outcome: LoadOutcome, at: int = 0) -> str:
    assert outcome.operation is not None
    return platform.fleet.flush_turn(outcome.assignments[at].replica, outcome.operation.id)


def report(platform: SimulatedPlatform, outcome: LoadOutcome, count: FlushCount = COUNT, at: int = 0) -> None:
    replica, worker = outcome.assignments[at].replica, outcome.assignments[at].worker
    assert outcome.operation is not None
    incarnation = platform.incarnations[worker]
    platform.fleet.replica_flushed(replica, worker, incarnation, outcome.operation.id, count)


@pytest.mark.parametrize(
    ("scope", "field"),
    [
        (FlushScope(), "all"),
        (FlushScope("model", model="alpha"), "model alpha"),
        (TENANT, "tenant acme"),
        (FlushScope("tag", tenant="acme", tag="session"), "tag acme session"),
    ],
)
def test_a_flush_raises_the_epoch_of_its_scope_alone(
    platform: SimulatedPlatform, scope: FlushScope, field: str
) -> None:
    outcome = platform.fleet.flush(scope)
    assert epochs(platform).keys() == {field, "@version"}
    assert outcome.operation is not None
    assert (outcome.operation.kind, outcome.operation.scope) == ("flush", scope)


@pytest.mark.parametrize(
    ("scope", "param"),
    [
        (FlushScope("everything"), "scope"),
        (FlushScope("all", tenant="acme"), "tenant"),
        (FlushScope("model"), "model"),
        (FlushScope("model", model="alpha", tag="x"), "tag"),
        (FlushScope("tenant", tenant="acme", model="alpha"), "model"),
        (FlushScope("tenant", tenant="two words"), "tenant"),
        (FlushScope("tag", tag="x"), "tenant"),
        (FlushScope("tag", tenant="acme"), "tag"),
        (FlushScope("tag", tenant="acme", tag="x" * 65), "tag"),
    ],
)
def test_a_scope_with_other_fields_than_its_kind_has_is_refused_and_changes_nothing(
    platform: SimulatedPlatform, scope: FlushScope, param: str
) -> None:
    with pytest.raises(InvalidFlush) as refused:
        platform.fleet.flush(scope)
    assert refused.value.param == param
    assert epochs(platform) == {}


def test_a_flush_of_an_unknown_model_is_refused(platform: SimulatedPlatform) -> None:
    with pytest.raises(UnknownModel):
        platform.fleet.flush(FlushScope("model", model="gamma"))
    assert epochs(platform) == {}


def test_a_flush_without_engines_is_complete_at_once(platform: SimulatedPlatform) -> None:
    ended = operation(platform, platform.fleet.flush(FlushScope()))
    assert (ended.status, ended.entries, ended.memory_mib) == ("completed", 0, 0)


def test_a_flush_concerns_the_replicas_of_its_models(platform: SimulatedPlatform) -> None:
    (alpha,), (beta,) = platform.load("alpha"), platform.load("beta")
    everywhere = platform.fleet.flush(TENANT)
    assert {one.replica for one in everywhere.assignments} == {alpha, beta}
    one = platform.fleet.flush(FlushScope("model", model="beta"))
    assert [assignment.replica for assignment in one.assignments] == [beta]


def test_a_flush_leaves_the_state_and_the_latest_operation_of_its_model(platform: SimulatedPlatform) -> None:
    platform.load()
    before = platform.fleet.row("alpha")
    platform.fleet.flush(FlushScope("model", model="alpha"))
    after = platform.fleet.row("alpha")
    assert (after.state, after.operation_id) == (before.state, before.operation_id)


def test_the_counts_of_all_replicas_are_summed(platform: SimulatedPlatform) -> None:
    platform.load(replicas=2)
    outcome = platform.fleet.flush(TENANT)
    assert turn(platform, outcome) == "go"
    report(platform, outcome)
    halfway = operation(platform, outcome)
    assert (halfway.status, halfway.progress) == ("running", 0.5)
    report(platform, outcome, FlushCount(4, 0.5), at=1)
    ended = operation(platform, outcome)
    assert (ended.status, ended.progress, ended.entries, ended.memory_mib) == ("completed", 1.0, 7, 2)
    assert platform.client.keys(f"{platform.prefix}open_flushes") == []


def test_a_sum_with_an_unknown_part_is_unknown_and_has_the_reason(platform: SimulatedPlatform) -> None:
    platform.load(replicas=2)
    outcome = platform.fleet.flush(TENANT)
    report(platform, outcome, FlushCount(3, None, "this engine does not report it"))
    report(platform, outcome, FlushCount(4, 0.5), at=1)
    ended = operation(platform, outcome)
    assert (ended.entries, ended.memory_mib, ended.reason) == (7, None, "this engine does not report it")


def test_a_repeated_report_counts_once(platform: SimulatedPlatform) -> None:
    platform.load(replicas=2)
    outcome = platform.fleet.flush(TENANT)
    report(platform, outcome)
    report(platform, outcome)
    assert operation(platform, outcome).status == "pending"
    report(platform, outcome, at=1)
    assert operation(platform, outcome).entries == 6


def test_a_report_of_an_earlier_incarnation_is_ignored(platform: SimulatedPlatform) -> None:
    platform.load()
    outcome = platform.fleet.flush(TENANT)
    (replica, worker) = outcome.assignments[0].replica, outcome.assignments[0].worker
    assert outcome.operation is not None
    platform.fleet.replica_flushed(replica, worker, "an older one", outcome.operation.id, COUNT)
    assert not operation(platform, outcome).status.is_terminal


def test_the_heartbeat_names_the_flushes_that_were_not_reported(platform: SimulatedPlatform) -> None:
    (replica,) = platform.load()
    outcomes = [platform.fleet.flush(TENANT) for _ in range(2)]
    ids = tuple(outcome.operation.id for outcome in outcomes if outcome.operation)
    (worker,) = {assignment.worker for outcome in outcomes for assignment in outcome.assignments}
    incarnation = platform.incarnations[worker]
    assert platform.ledger.heartbeat(worker, incarnation).flushes == {replica: ids}
    report(platform, outcomes[0])
    assert platform.ledger.heartbeat(worker, incarnation).flushes == {replica: ids[1:]}
    report(platform, outcomes[1])
    assert platform.ledger.heartbeat(worker, incarnation).flushes == {}
    assert platform.ledger.heartbeat(worker, incarnation).replicas == {replica: "up"}


# ---- the API processes


def test_a_flush_waits_until_every_api_process_uses_the_raised_epochs(platform: SimulatedPlatform) -> None:
    platform.load()
    for process in ("one", "two"):
        read_epochs(platform, process, "")
    outcome = platform.fleet.flush(TENANT)
    assert turn(platform, outcome) == "wait"
    read_epochs(platform, "one", read_epochs(platform, "one", "0"))
    assert turn(platform, outcome) == "wait"
    assert operation(platform, outcome).stage == "waiting for the API processes"
    read_epochs(platform, "two", read_epochs(platform, "two", "0"))
    assert turn(platform, outcome) == "go"
    assert operation(platform, outcome).status == "running"


def test_a_dead_api_process_delays_a_flush_no_longer_than_its_time_to_live(
    platform: SimulatedPlatform,
) -> None:
    platform.load()
    read_epochs(platform, "dead", "")
    outcome = platform.fleet.flush(TENANT)
    platform.advance_time(4.9)
    assert turn(platform, outcome) == "wait"
    platform.advance_time(0.2)
    assert turn(platform, outcome) == "go"


def test_a_process_that_never_uses_the_new_epochs_delays_a_flush_for_a_bounded_time(
    platform: SimulatedPlatform,
) -> None:
    platform.load()
    read_epochs(platform, "stuck", "")
    outcome = platform.fleet.flush(TENANT)
    for _ in range(9):
        platform.advance_time(1)
        read_epochs(platform, "stuck", "0")
        assert turn(platform, outcome) == "wait"
    platform.advance_time(1.1)
    read_epochs(platform, "stuck", "0")
    assert turn(platform, outcome) == "go"


def test_processes_that_ended_long_ago_are_forgotten_when_another_one_starts(
    platform: SimulatedPlatform,
) -> None:
    read_epochs(platform, "old", "")
    platform.advance_time(61)
    read_epochs(platform, "new", "")
    assert platform.client.hkeys(f"{platform.prefix}epoch_readers") == [b"new"]


# ---- ends


def test_a_flush_ends_with_the_worker_whose_engine_had_to_report(platform: SimulatedPlatform) -> None:
    (replica,) = platform.load()
    outcome = platform.fleet.flush(TENANT)
    others = [name for name in platform.incarnations if name != outcome.assignments[0].worker]
    platform.run_for(8, *others)
    ended = operation(platform, outcome)
    assert (ended.status, ended.entries, ended.memory_mib) == ("completed", None, None)
    assert ended.reason is not None
    assert replica in ended.reason
    assert turn(platform, outcome) == "over"


def test_a_flush_ends_with_a_replica_that_is_unloaded(platform: SimulatedPlatform) -> None:
    platform.load()
    outcome = platform.fleet.flush(TENANT)
    platform.finish_unload(platform.fleet.unload("alpha"))
    assert operation(platform, outcome).status == "completed"


def test_a_flush_ends_when_the_whole_platform_starts_again(platform: SimulatedPlatform) -> None:
    platform.load()
    outcome = platform.fleet.flush(TENANT)
    platform.fleet.reset_to_configuration()
    assert operation(platform, outcome).status == "completed"


def test_a_flush_cannot_be_cancelled(platform: SimulatedPlatform) -> None:
    platform.load()
    outcome = platform.fleet.flush(TENANT)
    with pytest.raises(StateConflict, match="a flush") as refused:
        platform.fleet.cancel_load(operation(platform, outcome))
    assert refused.value.code == "operation_not_cancellable"


# ---- bounds


def test_the_flushes_under_way_are_bounded(platform: SimulatedPlatform) -> None:
    platform.load()
    outcomes = [platform.fleet.flush(TENANT) for _ in range(MAX_OPEN)]
    before = epochs(platform)
    with pytest.raises(StateConflict) as refused:
        platform.fleet.flush(TENANT)
    assert refused.value.code == "too_many_flushes"
    assert epochs(platform) == before
    report(platform, outcomes[0])
    platform.fleet.flush(TENANT)


def test_the_epochs_are_bounded_and_none_is_used_again(platform: SimulatedPlatform) -> None:
    platform.fleet.flush(FlushScope())
    before = epochs(platform)
    key = f"{platform.prefix}cache_epochs"
    platform.client.hset(key, mapping={f"tag acme {number}": 1 for number in range(MAX_EPOCHS)})
    platform.fleet.flush(TENANT)
    after = epochs(platform)
    assert after.keys() == {"all", "@version"}
    assert all(after[field] > before[field] for field in after)


def test_an_epoch_is_new_also_after_redis_has_lost_the_last_one(platform: SimulatedPlatform) -> None:
    key = f"{platform.prefix}cache_epochs"
    seen = set()
    for _ in range(3):
        platform.fleet.flush(TENANT)
        seen.add(epochs(platform)["tenant acme"])
        platform.client.delete(key)
    assert len(seen) == 3


def test_each_flush_raises_the_epoch_again(platform: SimulatedPlatform) -> None:
    platform.fleet.scripts.offset_us = -3_600_000_000  # the clock of another Redis server is behind
    seen = []
    for _ in range(3):
        platform.fleet.flush(TENANT)
        seen.append((epochs(platform)["tenant acme"], epochs(platform)["@version"]))
        platform.fleet.scripts.offset_us = -7_200_000_000
    assert seen == sorted(set(seen))


def test_a_begin_whose_answer_was_lost_begins_once(platform: SimulatedPlatform, settings: Settings) -> None:
    (replica,) = platform.load()
    scope = FlushScope("model", model="alpha")
    arguments = {
        "operation": "flush_1",
        "epoch": scope.epoch,
        "scope": scope.to_json(),
        "model": "alpha",
        "subject": str(scope),
        "max_open": MAX_OPEN,
        "max_epochs": MAX_EPOCHS,
        "authorization": PLATFORM.argument(),
        "models": [*settings.models],
    }
    first = platform.fleet.scripts.run("begin_flush", **arguments)
    raised = epochs(platform)
    assert platform.fleet.scripts.run("begin_flush", **arguments) == first
    assert Assignment(first[1].decode(), first[2].decode()).replica == replica
    assert epochs(platform) == raised
