"""Claims: how a job is given to a worker; deaths, lost messages and cancels on the way."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
import redis

from config.settings import Settings
from scheduler.commands import decode_claim
from scheduler.job import AppendRequest, Claim, Release, Status
from store.errors import Fenced, StorageUnavailable
from streams.events import TextDelta
from tests.support.faults import two_workers
from tests.support.simulated_platform import SimulatedPlatform
from tests.support.waiting import scaled

LEASE = 5.0
MIB = 2**20


def list_of(platform: SimulatedPlatform, worker: str = "w1") -> list[str]:
    """Return the job ids of the claim messages that the worker has not taken."""
    key = platform.ledger.claims_key(platform.incarnations[worker])
    return [decode_claim(message).id for message in platform.client.lrange(key, 0, -1)]  # type: ignore[union-attr]


def ask(platform: SimulatedPlatform, *known: str, worker: str = "w1") -> list[Claim]:
    return platform.ledger.take_claims(worker, platform.incarnations[worker], known)


def completed(claim: Claim) -> Release:
    return Release(claim.id, claim.fence, Status.COMPLETED)


def words(claim: Claim, number: int, *texts: str) -> AppendRequest:
    return AppendRequest(
        claim.id, claim.replica, claim.fence, number, tuple(TextDelta(text).encode() for text in texts)
    )


# ---- the message


def test_a_claim_message_has_everything_that_the_worker_needs(platform: SimulatedPlatform) -> None:
    generation = b'{"text":"two\\nlines"}\n\x00\xff binary'
    id = platform.admit(generation=generation)
    (claim,) = platform.claims()
    assert claim == Claim(
        id, platform.field(id, "fence"), platform.field(id, "replica"), generation, last=0, attempt=1
    )


def test_claim_messages_stand_in_the_order_of_admission(platform: SimulatedPlatform) -> None:
    ids = [platform.admit(), platform.admit()]
    assert list_of(platform) == ids


def test_the_reply_to_a_step_has_the_claims_for_all_slots_of_the_worker(platform: SimulatedPlatform) -> None:
    first, second, third, fourth = [platform.admit() for _ in range(4)]
    running = [platform.run(first), platform.run(second)]
    reply = platform.step(running[0], [], [completed(claim) for claim in running])
    assert [claim.id for claim in reply.claims] == [third, fourth]
    assert list_of(platform) == [], "nothing is sent twice"


def test_the_slot_of_a_draining_worker_is_not_given_to_the_next_job(
    client: redis.Redis, settings: Settings
) -> None:
    platform, _ = two_workers(client, settings)
    ids = [platform.admit() for _ in range(3)]
    mine = next(id for id in ids[:2] if platform.field(id, "worker") == "w1")
    claim = platform.run(mine, "w1")
    platform.fleet.registry.begin_shutdown("w1", platform.incarnations["w1"])
    assert platform.step(claim, [], [completed(claim)]).claims == ()
    assert platform.status(ids[2]) == "queued", "a worker that drains gets no jobs"
    other = platform.run(next(id for id in ids[:2] if id != mine), "w2")
    assert [claim.id for claim in platform.step(other, [], [completed(other)]).claims] == [ids[2]]


def test_a_step_sends_the_claims_for_other_workers_to_their_lists(
    client: redis.Redis, settings: Settings
) -> None:
    platform, _ = two_workers(client, settings)
    ids = [platform.admit(), platform.admit()]
    claim = platform.run(next(id for id in ids if platform.field(id, "worker") == "w1"), "w1")
    other = platform.run(next(id for id in ids if platform.field(id, "worker") == "w2"), "w2")
    waiting = platform.admit()
    reply = platform.ledger.step(platform.incarnations["w1"], [], [completed(other)])
    assert reply.claims == ()
    assert list_of(platform, "w2") == [waiting]
    assert platform.status(claim.id) == "running"


def test_a_draining_worker_hands_its_retried_job_to_another_one(
    client: redis.Redis, settings: Settings
) -> None:
    platform, _ = two_workers(client, settings, slots=2)
    ids = [platform.admit() for _ in range(2)]
    id = next(id for id in ids if platform.field(id, "worker") == "w1")
    claim = platform.run(id, "w1")
    platform.claimed("w2")
    platform.fleet.registry.begin_shutdown("w1", platform.incarnations["w1"])
    retry = Release(id, claim.fence, Status.FAILED, code="worker_shutdown", retry=True)
    assert platform.step(claim, [], [retry]).claims == ()
    (again,) = platform.claims("w2")
    assert (again.id, again.attempt) == (id, 2)
    assert int(again.fence) > int(claim.fence)


# ---- the worker dies


@pytest.mark.parametrize("is_taken", [False, True], ids=["in the list", "taken"])
def test_a_job_whose_worker_dies_before_it_starts_is_given_to_the_next_incarnation(
    platform: SimulatedPlatform, is_taken: bool
) -> None:
    id = platform.admit()
    old = platform.incarnations["w1"]
    if is_taken:
        platform.take_claim_messages()
    platform.register("w1")
    assert not platform.client.exists(platform.ledger.claims_key(old))
    assert platform.status(id) == "queued"
    platform.load()
    (claim,) = platform.claims()
    assert (claim.id, claim.attempt) == (id, 2)


def test_a_job_whose_worker_dies_twice_before_it_starts_fails(platform: SimulatedPlatform) -> None:
    id = platform.admit()
    platform.register("w1")
    platform.load()
    platform.register("w1")
    assert platform.end(id).code == "worker_lost"


def test_the_claim_list_of_a_silent_worker_ends_with_its_lease(platform: SimulatedPlatform) -> None:
    id = platform.admit()
    key = platform.ledger.claims_key(platform.incarnations["w1"])
    assert list_of(platform) == [id]
    platform.run_for(LEASE + 1)
    assert not platform.client.exists(key)
    assert platform.status(id) == "queued"


def test_a_former_incarnation_gets_no_claims(platform: SimulatedPlatform) -> None:
    id = platform.admit()
    claim, old = platform.run(id), platform.incarnations["w1"]
    platform.register("w1")
    platform.load(slots=1)
    waiting = platform.admit()
    reply = platform.ledger.step(old, [words(claim, 1, "late")], [completed(claim)])
    assert (reply.stopped, reply.claims) == ({id: "fenced"}, ())
    with pytest.raises(Fenced):
        platform.ledger.take_claims("w1", old, [])
    assert list_of(platform) == [id]
    assert platform.status(waiting) == "queued"


# ---- a message or a reply is lost


def test_a_claim_whose_message_was_lost_is_returned_by_take_claims(platform: SimulatedPlatform) -> None:
    known, lost = platform.admit(), platform.admit()
    messages = platform.take_claim_messages()
    assert platform.ledger.heartbeat("w1", platform.incarnations["w1"]).running == {known, lost}
    assert ask(platform, known) == [messages[1]]
    assert ask(platform, known) == [messages[1]], "and again, since this reply may be lost, too"
    assert ask(platform, known, lost) == []
    assert platform.field(lost, "attempts") == "1"


def test_a_reply_with_lost_claims_is_limited_and_the_next_has_the_others(
    platform: SimulatedPlatform, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The replica of this test has two slots: the first claim reaches the limit of a reply."""
    # large requests take a busy machine long
    monkeypatch.setattr("store.scripts.CALL_TIMEOUT_S", scaled(10))
    ids = {platform.admit(generation=bytes(9 * MIB)) for _ in range(2)}
    (first,) = ask(platform)
    (second,) = ask(platform, first.id)
    assert {first.id, second.id} == ids
    assert ask(platform, *ids) == []


def test_small_lost_claims_are_in_one_reply(platform: SimulatedPlatform) -> None:
    ids = {platform.admit(generation=bytes(3 * MIB)) for _ in range(2)}
    assert {claim.id for claim in ask(platform)} == ids


def test_a_claim_that_is_asked_for_has_the_number_of_the_latest_event(platform: SimulatedPlatform) -> None:
    id = platform.admit()
    claim = platform.run(id)
    platform.append_text(claim, 1, "a", "b")
    (again,) = ask(platform)
    assert (again.fence, again.last, again.attempt) == (claim.fence, 2, 1)


def test_a_claim_that_is_asked_for_has_the_attempt_of_the_run(platform: SimulatedPlatform) -> None:
    id = platform.admit()
    claim = platform.run(id)
    retry = Release(id, claim.fence, Status.FAILED, code="engine_error", retry=True)
    platform.ledger.step(platform.incarnations["w1"], [], [retry])
    assert [(again.id, again.attempt) for again in ask(platform)] == [(id, 2)]


def test_take_claims_returns_no_jobs_of_other_workers(client: redis.Redis, settings: Settings) -> None:
    platform, _ = two_workers(client, settings)
    ids = [platform.admit(), platform.admit()]
    for worker in ("w1", "w2"):
        (claim,) = ask(platform, worker=worker)
        assert platform.field(claim.id, "worker") == worker
        ids.remove(claim.id)
    assert ids == []


class LosesOneReply:
    """Runs the commands, and then loses the first reply."""

    def __init__(self, connections: Any) -> None:
        self._connections = connections
        self._has_lost = False

    def exchange(self, commands: Sequence[Sequence[Any]], within_s: float | None = None) -> list[Any]:
        replies: list[Any] = self._connections.exchange(commands, within_s)
        if not self._has_lost:
            self._has_lost = True
            raise redis.ConnectionError("the reply was lost")
        return replies


def test_a_step_whose_reply_was_lost_is_repeated_and_its_claims_are_asked_for(
    platform: SimulatedPlatform,
) -> None:
    ids = [platform.admit() for _ in range(3)]
    claim, other = platform.run(ids[0]), platform.run(ids[1])
    call = (platform.incarnations["w1"], [words(claim, 1, "all")], [completed(claim)])
    scripts = platform.ledger.scripts
    scripts.load()
    scripts._connections = LosesOneReply(scripts._connections)  # type: ignore[assignment]
    with pytest.raises(StorageUnavailable):
        platform.ledger.step(*call)
    assert platform.end(ids[0]).status == "completed"
    reply = platform.ledger.step(*call)
    assert (reply.stopped, reply.claims) == ({ids[0]: "fenced"}, ())
    assert len(platform.log(ids[0])) == 2
    (handed_over,) = ask(platform, other.id)
    assert handed_over.id == ids[2]
    assert platform.slots_taken() == 2


# ---- a cancel meets the hand-over


def test_a_job_that_is_cancelled_before_it_starts_is_stopped_at_its_first_step(
    platform: SimulatedPlatform,
) -> None:
    id = platform.admit()
    recorder = platform.record("notify:w1")
    assert platform.ledger.cancel(id, "acme") is Status.RUNNING
    assert recorder.messages() == [("notify:w1", f"cancel {id}")]
    claim = platform.run(id)
    assert platform.ledger.heartbeat("w1", platform.incarnations["w1"]).cancelled == (id,)
    assert platform.append_text(claim, 1, "first") == {id: "cancel"}
    platform.release(claim, Status.CANCELLED, tokens=0)
    assert platform.log(id) == [platform.end(id)]
    assert platform.end(id).status == "cancelled"


def test_a_new_subscriber_of_a_cancelled_job_leaves_it_cancelled(platform: SimulatedPlatform) -> None:
    id = platform.admit()
    claim = platform.run(id)
    platform.ledger.cancel(id, "acme")
    platform.ledger.subscribe(id, "here")
    assert platform.append_text(claim, 1, "late") == {id: "cancel"}


def test_a_cancelled_job_whose_worker_dies_before_it_starts_is_cancelled(platform: SimulatedPlatform) -> None:
    id = platform.admit()
    platform.ledger.cancel(id, "acme")
    platform.register("w1")
    assert platform.end(id).status == "cancelled"
    assert platform.slots_taken() == 0


def test_a_cancel_before_the_hand_over_leaves_the_slot_to_the_next_job(platform: SimulatedPlatform) -> None:
    first, _, third, fourth = [platform.admit() for _ in range(4)]
    claim = platform.run(first)
    assert platform.ledger.cancel(third, "acme") is Status.CANCELLED
    reply = platform.step(claim, [], [completed(claim)])
    assert [claim.id for claim in reply.claims] == [fourth]


# ---- Redis lost a part of the log


def lose_last_event(platform: SimulatedPlatform, id: str) -> None:
    """Roll a job's log back by one event, as a Redis that is restored from its disk may do."""
    entries = platform.client.xrange(f"{platform.prefix}log:{id}")
    platform.client.delete(f"{platform.prefix}log:{id}")
    for at, fields in entries[:-1]:  # type: ignore[index]
        platform.client.xadd(f"{platform.prefix}log:{id}", fields, id=at)


def test_events_after_a_gap_in_the_log_end_the_job(platform: SimulatedPlatform) -> None:
    id, _, waiting = [platform.admit() for _ in range(3)]
    claim = platform.run(id)
    platform.append_text(claim, 1, "a", "b", "c")
    lose_last_event(platform, id)
    recorder = platform.record("subscriber:here")
    platform.ledger.subscribe(id, "here")
    reply = platform.step(claim, [words(claim, 4, "d")], [completed(claim)])
    assert reply.stopped == {id: "log_lost"}
    assert platform.log(id)[:-1] == [TextDelta("a"), TextDelta("b")]
    assert (platform.end(id).status, platform.end(id).code) == ("failed", "log_lost")
    assert [copy.split()[1] for _, copy in recorder.messages()] == ["3"]
    assert [claim.id for claim in reply.claims] == [waiting]


def test_a_repeated_event_closes_the_gap_in_the_log(platform: SimulatedPlatform) -> None:
    id = platform.admit()
    claim = platform.run(id)
    platform.append_text(claim, 1, "a", "b", "c")
    lose_last_event(platform, id)
    assert platform.append_text(claim, 3, "c", "d") == {}
    assert platform.log(id) == [TextDelta(text) for text in "abcd"]


@pytest.mark.parametrize("retry", [False, True], ids=["completed", "retried"])
def test_an_end_without_the_last_event_is_no_success_and_no_retry(
    platform: SimulatedPlatform, retry: bool
) -> None:
    id = platform.admit()
    claim = platform.run(id)
    platform.append_text(claim, 1, "all")
    lose_last_event(platform, id)
    status = Status.FAILED if retry else Status.COMPLETED
    platform.step(claim, [], [Release(id, claim.fence, status, retry=retry, last=1)])
    assert (platform.end(id).status, platform.end(id).code) == ("failed", "log_lost")
    assert len(platform.log(id)) == 1


def test_a_run_that_ends_in_the_step_that_refuses_its_events_is_cancelled(
    platform: SimulatedPlatform,
) -> None:
    id = platform.admit()
    claim = platform.run(id)
    platform.ledger.cancel(id, "acme")
    end = Release(id, claim.fence, Status.COMPLETED, tokens=3, last=1)
    assert platform.step(claim, [words(claim, 1, "all")], [end]).stopped == {id: "cancel"}
    assert (platform.end(id).status, platform.end(id).code) == ("cancelled", "cancelled")
    assert len(platform.log(id)) == 1


def test_events_before_the_gap_in_the_same_step_are_kept(platform: SimulatedPlatform) -> None:
    id = platform.admit()
    claim = platform.run(id)
    reply = platform.step(claim, [words(claim, 1, "a", "b"), words(claim, 4, "d")], [])
    assert reply.stopped == {id: "log_lost"}
    assert platform.log(id)[:-1] == [TextDelta("a"), TextDelta("b")]
    assert platform.end(id).code == "log_lost"


# ---- copies


def test_the_copies_of_a_step_are_one_message_in_the_order_of_the_logs(platform: SimulatedPlatform) -> None:
    recorder = platform.record("subscriber:here", "subscriber:there")
    ids = [platform.admit(subscriber="here"), platform.admit(subscriber="here")]
    claims = [platform.run(id) for id in ids]
    platform.ledger.subscribe(ids[1], "there")
    platform.step(claims[0], [words(claim, 1, "a", "b") for claim in claims], [completed(claims[1])])
    messages = recorder.messages()
    assert len(messages) == 2
    assert {name: [line.split(" ")[:2] for line in copy.split("\n")] for name, copy in messages} == {
        "subscriber:here": [[ids[0], "1"], [ids[0], "2"], [ids[1], "1"], [ids[1], "2"], [ids[1], "3"]],
        "subscriber:there": [[ids[1], "1"], [ids[1], "2"], [ids[1], "3"]],
    }
