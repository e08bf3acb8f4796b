"""A job in the ledger: admission, steps, cancellation and deletion."""

from __future__ import annotations

import pytest

from scheduler.job import AppendRequest, Release, Status
from store.errors import (
    Fenced,
    IdempotencyConflict,
    ModelFailed,
    ModelLoading,
    ModelNotLoaded,
    ModelUnloading,
    QueueFull,
    Rejected,
)
from streams.events import TextDelta
from tests.support.simulated_platform import SimulatedPlatform
from tests.support.waiting import scaled


def test_a_request_goes_from_admission_to_its_end(platform: SimulatedPlatform) -> None:
    id = platform.admit()
    claim = platform.run(id)
    platform.append_text(claim, 1, "hello", " world")
    platform.release(claim, finish_reason="stop", usage=b'{"input_tokens":3,"output_tokens":2}', tokens=5)
    assert platform.log(id)[:2] == [TextDelta("hello"), TextDelta(" world")]
    end = platform.end(id)
    assert (end.status, end.finish_reason) == ("completed", "stop")
    assert end.usage
    assert end.usage.total_tokens == 5
    assert platform.slots_taken() == 0


def test_a_job_waits_while_all_slots_are_taken(platform: SimulatedPlatform) -> None:
    first, second, third = platform.admit(), platform.admit(), platform.admit()
    assert platform.status(third) == "queued"
    claim = platform.run(first)
    assert platform.claimed() == [second]
    platform.release(claim)
    assert platform.claimed() == [third]


def test_the_end_of_a_job_gives_its_slot_to_the_next_in_the_same_call(platform: SimulatedPlatform) -> None:
    ids = [platform.admit() for _ in range(5)]
    served = []
    for _ in ids:
        id = next(id for id in ids if platform.status(id) == "running")
        claim = platform.run(id)
        platform.release(claim)
        served.append(id)
        assert platform.slots_taken() == min(2, len(ids) - len(served))
    assert served == ids


def test_a_model_that_is_not_loaded_takes_no_requests(platform: SimulatedPlatform) -> None:
    with pytest.raises(ModelNotLoaded):
        platform.admit(model="beta")


def test_the_queue_is_limited_and_the_refusal_contains_its_depth(platform: SimulatedPlatform) -> None:
    limit = platform.settings.queue.max_depth
    for number in range(limit + 2):
        platform.admit(tenant=f"t{number}")
    with pytest.raises(QueueFull) as refusal:
        platform.admit()
    assert refusal.value.details["queueDepth"] == limit
    assert refusal.value.retry_after_s
    assert platform.client.zcard(f"{platform.prefix}waiting:alpha") == limit


@pytest.mark.rule("runner/queue-full-tenant")
def test_one_tenant_cannot_fill_the_whole_queue(platform: SimulatedPlatform) -> None:
    for _ in range(48 + 2):  # three quarters of the queue, and both slots
        platform.admit(tenant="greedy")
    with pytest.raises(QueueFull):
        platform.admit(tenant="greedy")
    platform.admit(tenant="other")


def test_a_refused_request_creates_no_keys(platform: SimulatedPlatform) -> None:
    before = set(platform.client.keys(f"{platform.prefix}*"))
    with pytest.raises(ModelNotLoaded):
        platform.admit(model="beta")
    assert set(platform.client.keys(f"{platform.prefix}*")) == before


def test_the_same_admission_twice_is_one_job(platform: SimulatedPlatform) -> None:
    id = platform.admit()
    again = platform.admit(id=id)
    assert again == id
    assert platform.claimed() == [id]
    assert platform.slots_taken() == 1


def test_an_idempotency_key_returns_the_first_response(platform: SimulatedPlatform) -> None:
    first = platform.admit(idempotency_key="k", body_hash="b")
    assert platform.admit(idempotency_key="k", body_hash="b") == first
    with pytest.raises(IdempotencyConflict):
        platform.admit(idempotency_key="k", body_hash="other")
    assert platform.admit(tenant="other", idempotency_key="k", body_hash="b") != first


@pytest.mark.parametrize("ending", ["failed", "cancelled", "stopping", "deleted"])
def test_an_idempotency_key_runs_the_request_again_when_it_has_no_result(
    platform: SimulatedPlatform, ending: str
) -> None:
    keyed = {"idempotency_key": "k", "body_hash": "b"}
    first = platform.admit(**keyed)
    claim = platform.run(first)
    if ending == "failed":
        platform.release(claim, Status.FAILED, code="engine_crashed")
    elif ending == "deleted":
        platform.release(claim)
        platform.ledger.delete(first, "acme")
    else:
        platform.ledger.cancel(first, "acme")
        if ending == "cancelled":
            platform.release(claim, Status.CANCELLED)
    with pytest.raises(IdempotencyConflict):
        platform.admit(idempotency_key="k", body_hash="other")
    second = platform.admit(**keyed)
    assert second != first
    assert platform.admit(**keyed) == second


def test_an_idempotency_key_is_taken_by_the_job_that_replaces_its_job_and_by_no_other(
    platform: SimulatedPlatform,
) -> None:
    keyed = {"idempotency_key": "k", "body_hash": "b"}
    first = platform.admit(**keyed)
    assert platform.admit(**keyed, replaces="another") == first
    second = platform.admit(**keyed, replaces=first)
    assert second != first
    assert platform.admit(**keyed, replaces=first) == platform.admit(**keyed) == second


@pytest.mark.parametrize("status", [Status.COMPLETED, Status.INCOMPLETE])
def test_an_idempotency_key_returns_a_response_that_has_ended(
    platform: SimulatedPlatform, status: Status
) -> None:
    first = platform.admit(idempotency_key="k", body_hash="b")
    claim = platform.run(first)
    platform.ledger.cancel(first, "acme")
    platform.release(claim, status)
    assert platform.admit(idempotency_key="k", body_hash="b") == first


def test_cancel_removes_a_waiting_job_from_the_queue(platform: SimulatedPlatform) -> None:
    ids = [platform.admit() for _ in range(3)]
    assert platform.ledger.cancel(ids[2], "acme") is Status.CANCELLED
    assert platform.end(ids[2]).status == "cancelled"
    assert platform.client.zcard(f"{platform.prefix}waiting:alpha") == 0


def test_cancel_of_a_running_job_stops_it_at_the_next_step(platform: SimulatedPlatform) -> None:
    id = platform.admit()
    claim = platform.run(id)
    recorder = platform.record("notify:w1")
    assert platform.ledger.cancel(id, "acme") is Status.RUNNING
    assert recorder.messages() == [("notify:w1", f"cancel {id}")]
    assert platform.append_text(claim, 1, "more") == {id: "cancel"}
    platform.release(claim, Status.CANCELLED, code="cancelled")
    assert platform.end(id).status == "cancelled"


def test_cancel_after_the_end_changes_nothing(platform: SimulatedPlatform) -> None:
    id = platform.admit()
    claim = platform.run(id)
    platform.release(claim)
    assert platform.ledger.cancel(id, "acme") is Status.COMPLETED
    assert platform.end(id).status == "completed"


def test_another_tenant_can_neither_see_nor_cancel_a_job(platform: SimulatedPlatform) -> None:
    id = platform.admit()
    assert platform.ledger.lookup(id, "other") is None
    assert platform.ledger.cancel(id, "other") is None
    assert platform.ledger.delete(id, "other") is False
    row = platform.ledger.lookup(id, "acme")
    assert row
    assert row.status is Status.RUNNING


def test_a_repeated_step_adds_no_event_twice(platform: SimulatedPlatform) -> None:
    id = platform.admit()
    claim = platform.run(id)
    platform.append_text(claim, 1, "a", "b")
    platform.append_text(claim, 1, "a", "b", "c")
    assert platform.log(id) == [TextDelta("a"), TextDelta("b"), TextDelta("c")]


def test_an_old_fence_can_neither_append_nor_end(platform: SimulatedPlatform) -> None:
    id = platform.admit()
    old = platform.run(id)
    platform.advance_time(1)
    platform.fleet.registry.expire()
    platform.register("w1")  # the same worker, restarted
    platform.load()
    new = platform.run(id)
    assert new.fence > old.fence
    assert platform.append_text(old, 1, "zombie") == {id: "fenced"}
    platform.release(old, Status.FAILED)
    assert platform.status(id) == "running"
    assert platform.log(id) == []


def test_a_response_that_is_not_stored_loses_its_prompt_at_its_end(platform: SimulatedPlatform) -> None:
    id = platform.admit(store=False, generation=b'{"secret":1}')
    claim = platform.run(id)
    assert claim.generation == b'{"secret":1}'
    platform.release(claim)
    assert platform.client.hget(f"{platform.prefix}job:{id}", "generation") is None
    platform.run_for(60 - scaled(1), "w1")  # the calls of the test take time as well
    assert platform.status(id) != "gone"
    platform.run_for(scaled(2), "w1")
    assert platform.status(id) == "gone"


def test_delete_removes_an_ended_response_and_cancels_an_open_one(platform: SimulatedPlatform) -> None:
    ended, open_one = platform.admit(), platform.admit()
    claim = platform.run(ended)
    platform.release(claim)
    assert platform.ledger.delete(ended, "acme") is True
    assert platform.status(ended) == "gone"
    assert platform.ledger.delete(open_one, "acme") is True
    assert platform.field(open_one, "cancel") == "1"
    assert platform.ledger.delete("resp_unknown", "acme") is False


def test_a_worker_whose_name_was_taken_is_fenced(platform: SimulatedPlatform) -> None:
    old = platform.incarnations["w1"]
    platform.register("w1")
    with pytest.raises(Fenced):
        platform.ledger.heartbeat("w1", old)
    with pytest.raises(Fenced):
        platform.ledger.take_claims("w1", old, [])


def test_the_scripts_are_loaded_again_after_redis_lost_them(platform: SimulatedPlatform) -> None:
    id = platform.admit()
    claim = platform.run(id)
    platform.client.script_flush()
    platform.append_text(claim, 1, "still here")
    platform.client.script_flush()
    platform.release(claim)
    assert platform.end(id).status == "completed"


def test_all_events_are_published_to_all_subscribers(platform: SimulatedPlatform) -> None:
    recorder = platform.record("subscriber:here", "subscriber:there", "subscriber:other")
    id = platform.admit(subscriber="here")
    claim = platform.run(id)
    platform.append_text(claim, 1, "a", "b")
    platform.ledger.subscribe(id, "there")
    platform.ledger.subscribe(id, "there")
    platform.append_text(claim, 3, "c")
    platform.release(claim)
    received: dict[str, list[str]] = {}
    for channel, copy in recorder.messages():
        received.setdefault(channel, []).extend(copy.split("\n"))
    log = [fields[b"e"].decode() for _, fields in platform.client.xrange(f"{platform.prefix}log:{id}")]
    assert received["subscriber:here"] == [f"{id} {number} {event}" for number, event in enumerate(log, 1)]
    assert received["subscriber:there"] == received["subscriber:here"][2:]
    assert "subscriber:other" not in received
    assert platform.ledger.subscribe(id, "late") is Status.COMPLETED
    assert platform.ledger.subscribe("resp_unknown", "late") is None


def test_the_events_of_one_step_are_one_message_for_each_subscriber(
    platform: SimulatedPlatform,
) -> None:
    recorder = platform.record("subscriber:here")
    claims = [platform.run(platform.admit(subscriber="here")) for _ in range(2)]
    appends = [
        AppendRequest(claim.id, claim.replica, claim.fence, 1, (TextDelta("x").encode(),)) for claim in claims
    ]
    assert platform.step(claims[0], appends, []).stopped == {}
    ((_, copy),) = recorder.messages()
    assert [line.split(" ")[:2] for line in copy.split("\n")] == [[claim.id, "1"] for claim in claims]


def test_delete_of_a_queued_response_cancels_it(platform: SimulatedPlatform) -> None:
    ids = [platform.admit() for _ in range(4)]
    assert platform.ledger.delete(ids[2], "acme")
    assert platform.end(ids[2]).status == "cancelled"
    assert platform.waiting() == [ids[3]]


def test_delete_of_a_running_response_asks_its_worker_to_stop(platform: SimulatedPlatform) -> None:
    id = platform.admit()
    claim = platform.run(id)
    recorder = platform.record("notify:w1")
    assert platform.ledger.delete(id, "acme")
    assert recorder.messages() == [("notify:w1", f"cancel {id}")]
    assert platform.append_text(claim, 1, "more") == {id: "cancel"}
    platform.release(claim, Status.CANCELLED, code="cancelled")
    assert platform.end(id).status == "cancelled"
    assert platform.ledger.delete(id, "acme") is False, "it is no longer stored"
    platform.run_for(60 - scaled(1), "w1")  # the calls of the test take time as well
    assert platform.status(id) != "gone"
    platform.run_for(scaled(2), "w1")
    assert platform.status(id) == "gone"


def test_a_response_that_is_not_stored_cannot_be_deleted(platform: SimulatedPlatform) -> None:
    id = platform.admit(store=False)
    assert platform.ledger.delete(id, "acme") is False
    assert platform.status(id) == "running"


def test_a_stored_response_keeps_its_prompt_and_expires_after_its_retention(
    platform: SimulatedPlatform,
) -> None:
    id = platform.admit(generation=b'{"kept":1}')
    platform.release(platform.run(id))
    assert platform.field(id, "generation") == '{"kept":1}'
    platform.advance_time(platform.settings.responses.retention_s - 2)
    platform.run_for(1, "w1")
    assert platform.end(id).status == "completed"
    platform.run_for(2, "w1")
    assert (platform.status(id), platform.log(id)) == ("gone", [])


def test_the_end_contains_the_times_of_waiting_and_running(platform: SimulatedPlatform) -> None:
    *ids, id = [platform.admit() for _ in range(3)]
    others = [platform.run(other) for other in ids]
    platform.advance_time(2)
    platform.release(others[0])
    claim = platform.run(id)
    platform.advance_time(3)
    platform.release(claim)
    assert platform.end(id).queue_ms == pytest.approx(2000, abs=100)
    assert platform.end(id).run_ms == pytest.approx(3000, abs=100)


def test_a_message_with_any_characters_stays_one_event(platform: SimulatedPlatform) -> None:
    id = platform.admit()
    message = 'it said "no"\n\\ \u2028 \U0001f525'
    platform.release(platform.run(id), Status.FAILED, code="engine_error", message=message)
    assert platform.end(id).message == message


def test_a_repeated_step_changes_nothing(platform: SimulatedPlatform) -> None:
    id = platform.admit()
    claim = platform.run(id)
    appends = [AppendRequest(id, claim.replica, claim.fence, 1, (TextDelta("a").encode(),))]
    releases = [Release(id, claim.fence, Status.COMPLETED)]
    assert platform.step(claim, appends, releases).stopped == {}
    assert platform.step(claim, appends, releases).stopped == {id: "fenced"}
    assert len(platform.log(id)) == 2
    assert platform.end(id).status == "completed"


def test_lookup_returns_the_current_state_of_a_job(platform: SimulatedPlatform) -> None:
    id = platform.admit(echo=b'{"user":"x"}', priority="high")
    row = platform.ledger.lookup(id, "acme")
    assert row
    assert (row.model, row.dialect, row.status, row.echo) == (
        "alpha",
        "test",
        Status.RUNNING,
        b'{"user":"x"}',
    )
    assert (row.store, row.attempts) == (True, 1)
    assert row.replica
    assert platform.ledger.lookup("resp_unknown", "acme") is None


@pytest.mark.rule("state/unloaded", "state/request-behavior")
@pytest.mark.parametrize(
    ("state", "error"),
    [
        ("loading", ModelLoading),
        ("unloading", ModelUnloading),
        ("failed", ModelFailed),
        ("unloaded", ModelNotLoaded),
    ],
)
def test_each_state_of_a_model_but_loaded_has_its_own_rejection(
    platform: SimulatedPlatform, state: str, error: type[Rejected]
) -> None:
    platform.client.hset(f"{platform.prefix}model:beta", "state", state)
    with pytest.raises(error):
        platform.admit(model="beta")
