from __future__ import annotations

import pytest

from scheduler.errors import (
    Fenced,
    IdempotencyConflict,
    ModelFailed,
    ModelLoading,
    ModelNotLoaded,
    ModelUnloading,
    QueueFull,
    Rejected,
)
from scheduler.job import Entry, Release, Status
from streams.events import TextDelta
from tests.support.simulated_platform import House


def test_a_request_goes_from_admission_to_its_end(house: House) -> None:
    id = house.admit()
    assert house.bells() == [id]
    claim = house.claim(id)
    assert claim
    house.say(claim, 1, "hello", " world")
    house.release(claim, finish_reason="stop", usage=b'{"input_tokens":3,"output_tokens":2}', tokens=5)
    assert house.log(id)[:2] == [TextDelta("hello"), TextDelta(" world")]
    end = house.end(id)
    assert (end.status, end.finish_reason) == ("completed", "stop")
    assert end.usage
    assert end.usage.total_tokens == 5
    assert house.taken() == 0


def test_a_job_waits_without_a_bell_while_all_slots_are_taken(house: House) -> None:
    first, second, third = house.admit(), house.admit(), house.admit()
    assert house.bells() == [first, second]
    assert house.status(third) == "queued"
    claim = house.claim(first)
    assert claim
    house.release(claim)
    assert house.bells() == [third]


def test_the_release_of_a_slot_hands_it_over_in_the_same_call(house: House) -> None:
    ids = [house.admit() for _ in range(5)]
    served = []
    for _ in ids:
        id = next(id for id in ids if house.status(id) == "dispatched")
        claim = house.claim(id)
        assert claim
        house.release(claim)
        served.append(id)
        assert house.taken() == min(2, len(ids) - len(served))
    assert served == ids


def test_a_second_bell_claims_nothing(house: House) -> None:
    id = house.admit()
    assert house.claim(id)
    assert house.claim(id) is None


def test_a_model_that_is_not_loaded_takes_no_requests(house: House) -> None:
    with pytest.raises(ModelNotLoaded):
        house.admit(model="beta")


def test_what_may_wait_is_bounded_and_the_refusal_names_the_depth(house: House) -> None:
    limit = house.settings.queue.max_depth
    for number in range(limit + 2):
        house.admit(tenant=f"t{number}")
    with pytest.raises(QueueFull) as refusal:
        house.admit()
    assert refusal.value.details["queueDepth"] == limit
    assert refusal.value.retry_after_s
    assert house.client.zcard(f"{house.prefix}waiting:alpha") == limit


def test_one_tenant_cannot_fill_the_whole_line(house: House) -> None:
    for _ in range(house.settings.queue.max_depth_per_tenant + 2):
        house.admit(tenant="greedy")
    with pytest.raises(QueueFull):
        house.admit(tenant="greedy")
    house.admit(tenant="other")


def test_a_refused_request_leaves_nothing_behind(house: House) -> None:
    before = set(house.client.keys(f"{house.prefix}*"))
    with pytest.raises(ModelNotLoaded):
        house.admit(model="beta")
    assert set(house.client.keys(f"{house.prefix}*")) == before


def test_the_same_admission_twice_is_one_job(house: House) -> None:
    id = house.admit()
    again = house.admit(id=id)
    assert again == id
    assert house.bells() == [id]


def test_an_idempotency_key_brings_back_the_first_response(house: House) -> None:
    first = house.admit(idempotency_key="k", body_hash="b")
    assert house.admit(idempotency_key="k", body_hash="b") == first
    with pytest.raises(IdempotencyConflict):
        house.admit(idempotency_key="k", body_hash="other")
    assert house.admit(tenant="other", idempotency_key="k", body_hash="b") != first


def test_cancel_takes_a_waiting_job_out_of_line(house: House) -> None:
    ids = [house.admit() for _ in range(3)]
    assert house.ledger.cancel(ids[2], "acme") is Status.CANCELLED
    assert house.end(ids[2]).status == "cancelled"
    assert house.client.zcard(f"{house.prefix}waiting:alpha") == 0


def test_cancel_frees_the_slot_of_a_job_whose_bell_was_not_heard_yet(house: House) -> None:
    ids = [house.admit() for _ in range(3)]
    house.bells()
    assert house.ledger.cancel(ids[0], "acme") is Status.CANCELLED
    assert house.bells() == [ids[2]]
    assert house.claim(ids[0]) is None


def test_cancel_of_a_running_job_is_heard_at_the_next_append(house: House) -> None:
    id = house.admit()
    claim = house.claim(id)
    assert claim
    ear = house.listen("notify:w1")
    assert house.ledger.cancel(id, "acme") is Status.RUNNING
    assert ear.heard() == [("notify:w1", f"cancel {id}")]
    assert house.say(claim, 1, "more") == {id: "cancel"}
    house.release(claim, Status.CANCELLED, code="cancelled")
    assert house.end(id).status == "cancelled"


def test_cancel_after_the_end_changes_nothing(house: House) -> None:
    id = house.admit()
    claim = house.claim(id)
    assert claim
    house.release(claim)
    assert house.ledger.cancel(id, "acme") is Status.COMPLETED
    assert house.end(id).status == "completed"


def test_another_tenant_can_neither_see_nor_cancel_a_job(house: House) -> None:
    id = house.admit()
    assert house.ledger.lookup(id, "other") is None
    assert house.ledger.cancel(id, "other") is None
    assert house.ledger.delete(id, "other") is False
    row = house.ledger.lookup(id, "acme")
    assert row
    assert row.status is Status.DISPATCHED


def test_an_append_that_is_repeated_says_nothing_twice(house: House) -> None:
    id = house.admit()
    claim = house.claim(id)
    assert claim
    house.say(claim, 1, "a", "b")
    house.say(claim, 1, "a", "b", "c")
    assert house.log(id) == [TextDelta("a"), TextDelta("b"), TextDelta("c")]


def test_an_old_fence_can_neither_speak_nor_end(house: House) -> None:
    id = house.admit()
    old = house.claim(id)
    assert old
    house.pass_time(1)
    house.ledger.expire()
    house.register("w1")  # the same worker, restarted
    house.load()
    new = house.claim(id)
    assert new
    assert new.fence > old.fence
    assert house.say(old, 1, "zombie") == {id: "fenced"}
    house.release(old, Status.FAILED)
    assert house.status(id) == "running"
    assert house.log(id) == []


def test_a_response_that_says_too_much_is_told_to_stop(house: House) -> None:
    id = house.admit()
    claim = house.claim(id)
    assert claim
    verdict = house.say(claim, 1, "x" * (house.settings.limits.max_log_bytes + 1))
    assert verdict == {id: "full"}


def test_a_response_that_is_not_stored_forgets_its_prompt_at_its_end(house: House) -> None:
    id = house.admit(store=False, generation=b'{"secret":1}')
    claim = house.claim(id)
    assert claim
    assert claim.generation == b'{"secret":1}'
    house.release(claim)
    assert house.client.hget(f"{house.prefix}job:{id}", "generation") is None
    assert 0 < house.client.ttl(f"{house.prefix}job:{id}") <= 60


def test_delete_forgets_an_ended_response_and_cancels_a_live_one(house: House) -> None:
    ended, live = house.admit(), house.admit()
    claim = house.claim(ended)
    assert claim
    house.release(claim)
    assert house.ledger.delete(ended, "acme") is True
    assert house.status(ended) == "gone"
    assert house.ledger.delete(live, "acme") is True
    assert house.status(live) == "cancelled"
    assert house.ledger.delete("resp_unknown", "acme") is False


def test_a_worker_whose_name_was_taken_is_fenced(house: House) -> None:
    old = house.incarnations["w1"]
    house.register("w1")
    with pytest.raises(Fenced):
        house.ledger.heartbeat("w1", old)
    with pytest.raises(Fenced):
        house.ledger.claim("w1", old, "resp_x")


def test_the_scripts_come_back_after_redis_lost_them(house: House) -> None:
    id = house.admit()
    claim = house.claim(id)
    assert claim
    house.client.script_flush()
    house.say(claim, 1, "still here")
    house.client.script_flush()
    house.release(claim)
    assert house.end(id).status == "completed"


def test_what_is_said_and_how_it_ends_is_told_to_everybody_who_listens(house: House) -> None:
    ear = house.listen("subscriber:here", "subscriber:there", "subscriber:gone")
    id = house.admit(subscriber="here")
    claim = house.run(id)
    house.say(claim, 1, "a", "b")
    house.ledger.subscribe(id, "there")
    house.ledger.subscribe(id, "gone")
    house.ledger.unsubscribe(id, "gone")
    house.say(claim, 3, "c")
    house.release(claim)
    heard: dict[str, list[str]] = {}
    for channel, copy in ear.heard():
        heard.setdefault(channel, []).extend(copy.split("\n"))
    log = [fields[b"e"].decode() for _, fields in house.client.xrange(f"{house.prefix}log:{id}")]
    assert heard["subscriber:here"] == [f"{id} {number} {event}" for number, event in enumerate(log, 1)]
    assert heard["subscriber:there"] == heard["subscriber:here"][2:]
    assert "subscriber:gone" not in heard
    assert house.ledger.subscribe(id, "late") is Status.COMPLETED
    assert house.ledger.subscribe("resp_unknown", "late") is None


def test_one_step_of_many_requests_is_told_in_one_copy_for_each_subscriber(house: House) -> None:
    ear = house.listen("subscriber:here")
    claims = [house.run(house.admit(subscriber="here")) for _ in range(2)]
    entries = [Entry(claim.id, claim.fence, 1, (TextDelta("x").encode(),)) for claim in claims]
    assert house.ledger.write(entries, []) == {}
    ((_, copy),) = ear.heard()
    assert [line.split(" ")[:2] for line in copy.split("\n")] == [[claim.id, "1"] for claim in claims]


def test_delete_hands_the_slot_of_a_dispatched_job_over(house: House) -> None:
    ids = [house.admit() for _ in range(3)]
    house.bells()
    assert house.ledger.delete(ids[0], "acme")
    assert house.end(ids[0]).status == "cancelled"
    assert house.bells() == [ids[2]]


def test_delete_of_a_running_response_asks_its_worker_to_stop(house: House) -> None:
    id = house.admit()
    claim = house.run(id)
    ear = house.listen("notify:w1")
    assert house.ledger.delete(id, "acme")
    assert ear.heard() == [("notify:w1", f"cancel {id}")]
    assert house.say(claim, 1, "more") == {id: "cancel"}
    house.release(claim, Status.CANCELLED, code="cancelled")
    assert house.end(id).status == "cancelled"
    assert 0 < house.client.ttl(f"{house.prefix}job:{id}") <= 60
    assert house.ledger.delete(id, "acme") is False, "it is not stored any more"


def test_a_response_that_is_not_stored_cannot_be_deleted(house: House) -> None:
    id = house.admit(store=False)
    assert house.ledger.delete(id, "acme") is False
    assert house.status(id) == "dispatched"


def test_a_stored_response_keeps_its_prompt_and_goes_when_its_retention_ends(house: House) -> None:
    id = house.admit(generation=b'{"kept":1}')
    house.release(house.run(id))
    assert house.field(id, "generation") == '{"kept":1}'
    for key in ("job", "log"):
        left = house.client.ttl(f"{house.prefix}{key}:{id}")
        assert 0 < left <= house.settings.responses.retention_s


def test_the_end_says_how_long_it_waited_and_ran(house: House) -> None:
    id = house.admit()
    house.pass_time(2)
    claim = house.run(id)
    house.pass_time(3)
    house.release(claim)
    assert house.end(id).queue_ms == pytest.approx(2000, abs=100)
    assert house.end(id).run_ms == pytest.approx(3000, abs=100)


def test_a_message_may_hold_anything_and_stays_one_event(house: House) -> None:
    id = house.admit()
    message = 'it said "no"\n\\ \u2028 \U0001f525'
    house.release(house.run(id), Status.FAILED, code="engine_error", message=message)
    assert house.end(id).message == message


def test_a_write_that_is_repeated_as_a_whole_changes_nothing(house: House) -> None:
    id = house.admit()
    claim = house.run(id)
    entries = [Entry(id, claim.fence, 1, (TextDelta("a").encode(),))]
    releases = [Release(id, claim.fence, Status.COMPLETED)]
    assert house.ledger.write(entries, releases) == {}
    assert house.ledger.write(entries, releases) == {id: "fenced"}
    assert len(house.log(id)) == 2
    assert house.end(id).status == "completed"


def test_lookup_tells_what_the_ledger_has(house: House) -> None:
    id = house.admit(echo=b'{"user":"x"}', priority="high")
    row = house.ledger.lookup(id, "acme")
    assert row
    assert (row.model, row.dialect, row.status, row.echo) == (
        "alpha",
        "test",
        Status.DISPATCHED,
        b'{"user":"x"}',
    )
    assert (row.store, row.attempts) == (True, 0)
    assert row.replica
    house.run(id)
    again = house.ledger.lookup(id, "acme")
    assert again
    assert again.attempts == 1
    assert house.ledger.lookup("resp_unknown", "acme") is None


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
def test_a_model_in_each_state_says_why_it_takes_nothing(
    house: House, state: str, error: type[Rejected]
) -> None:
    house.client.hset(f"{house.prefix}model:beta", "state", state)
    with pytest.raises(error):
        house.admit(model="beta")
