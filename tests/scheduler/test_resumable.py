"""Streams that can be read again: which job a conversation has, and how long."""

from __future__ import annotations

import pytest

from scheduler import commands, resumable
from scheduler.job import JobRow
from store.scripts import Scripts
from tests.support.simulated_platform import SimulatedPlatform

TTL_S = 300


def scripts(platform: SimulatedPlatform) -> Scripts:
    return platform.ledger.scripts


def job_of(platform: SimulatedPlatform, conversation: str, tenant: str = "acme") -> str | None:
    return scripts(platform).execute(resumable.stream_job(conversation, tenant))


def row_of(platform: SimulatedPlatform, id: str) -> JobRow:
    (row,) = scripts(platform).execute(commands.lookup_many([id], "acme"))
    assert row is not None
    return row


def is_stopping(platform: SimulatedPlatform, id: str) -> bool:
    return platform.client.hget(f"{scripts(platform).prefix}job:{id}", "cancel") == b"1"


def keys(platform: SimulatedPlatform) -> list[bytes]:
    return list(platform.client.scan_iter(f"{scripts(platform).prefix}resumable*"))


def test_a_new_job_takes_the_place_of_the_one_before_which_is_cancelled(platform: SimulatedPlatform) -> None:
    first = platform.admit(resume_id="talk")
    second = platform.admit(resume_id="talk")
    assert job_of(platform, "talk") == second
    assert is_stopping(platform, first)
    assert not is_stopping(platform, second)


def test_a_person_has_the_jobs_and_the_conversation_ids_that_it_has_made(platform: SimulatedPlatform) -> None:
    ids = {
        person: platform.admit(resume_id="talk::a", person=person) for person in ("", "person_a", "person_b")
    }
    run = scripts(platform).execute
    for asking, own in ids.items():
        rows = run(commands.lookup_many(list(ids.values()), "acme", asking))
        assert [row is not None for row in rows] == [asking in ("", person) for person in ids]
        assert run(resumable.ids_with_models(["talk"], "acme", asking)) == ["talk::a"]
        assert run(resumable.stream_jobs(["talk::a"], "acme", asking)) == {"talk::a": own}
    run(resumable.end_stream("talk::a", "acme", "person_a"))
    assert {person: is_stopping(platform, id) for person, id in ids.items()} == {
        "": False,
        "person_a": True,
        "person_b": False,
    }
    assert run(resumable.ids_with_models(["talk"], "acme", "person_a")) == []
    assert run(resumable.stream_job("talk::a", "acme", "person_b")) == ids["person_b"]


def test_a_waiting_job_is_cancelled_at_once_when_another_takes_its_place(
    platform: SimulatedPlatform,
) -> None:
    for _ in range(2):
        platform.run(platform.admit())
    first = platform.admit(resume_id="talk")
    second = platform.admit(resume_id="talk")
    assert platform.status(first) == "cancelled"
    assert platform.waiting() == [second]


def test_a_refused_job_takes_no_place(platform: SimulatedPlatform) -> None:
    first = platform.admit(resume_id="talk")
    with pytest.raises(Exception, match="not loaded"):
        platform.admit(model="unknown", resume_id="talk")
    assert job_of(platform, "talk") == first
    assert platform.status(first) == "running"


def test_conversations_of_tenants_and_models_are_apart(platform: SimulatedPlatform) -> None:
    own = platform.admit(resume_id="talk")
    other = platform.admit(tenant="other", resume_id="talk")
    model = platform.admit(resume_id="talk::alpha")
    assert job_of(platform, "talk", "other") == other
    assert scripts(platform).execute(resumable.ids_with_models(["talk", "tal"], "acme")) == ["talk::alpha"]
    found = scripts(platform).execute(resumable.stream_jobs(["talk", "talk::alpha", "tal"], "acme"))
    assert found == {"talk": own, "talk::alpha": model}


def test_a_stream_is_kept_after_its_end_with_what_renders_it_and_then_nothing_is_left(
    platform: SimulatedPlatform,
) -> None:
    id = platform.admit(resume_id="talk::alpha", store=False, echo=b'{"echo":{}}')
    platform.release(platform.run(id))
    platform.run_for(TTL_S - 2, "w1")
    assert row_of(platform, id).echo == b'{"echo":{}}'
    assert row_of(platform, id).conversation == "talk::alpha"
    platform.run_for(3, "w1")
    assert job_of(platform, "talk::alpha") is None
    assert keys(platform) == []


def test_the_end_of_the_retention_of_an_earlier_job_keeps_the_later_one(platform: SimulatedPlatform) -> None:
    first = platform.admit(resume_id="talk", store=False)
    platform.release(platform.run(first))
    platform.run_for(TTL_S / 2, "w1")
    second = platform.admit(resume_id="talk", store=False)
    platform.release(platform.run(second))
    platform.run_for(TTL_S / 2 + 3, "w1")
    assert job_of(platform, "talk") == second


def test_an_ended_stream_is_forgotten_and_its_job_cancelled(platform: SimulatedPlatform) -> None:
    id = platform.admit(resume_id="talk")
    assert scripts(platform).execute(resumable.end_stream("talk", "other")) is None
    assert scripts(platform).execute(resumable.end_stream("talk", "acme")) == "running"
    assert scripts(platform).execute(resumable.end_stream("talk", "acme")) is None
    assert is_stopping(platform, id)
    assert keys(platform) == []


def test_the_end_of_a_reasoning_is_sent_to_the_worker_of_a_running_job_of_the_tenant_only(
    platform: SimulatedPlatform,
) -> None:
    ids = [platform.admit() for _ in range(3)]

    def end_reasoning(id: str, tenant: str = "acme") -> bool:
        return scripts(platform).execute(commands.end_reasoning(id, tenant))

    assert not end_reasoning(ids[0]), "no worker listens"
    recorder = platform.record("notify:w1")
    assert not end_reasoning(ids[0], "other")
    assert not end_reasoning(ids[2]), "it waits"
    assert not end_reasoning("chatcmpl-unknown")
    assert end_reasoning(ids[0])
    assert end_reasoning(ids[0])
    platform.release(platform.run(ids[1]))
    assert not end_reasoning(ids[1]), "it has ended"
    assert recorder.messages() == [("notify:w1", f"end_reasoning {ids[0]}")] * 2


def test_a_detached_job_survives_its_client_and_no_other_cancel(platform: SimulatedPlatform) -> None:
    id = platform.admit()
    scripts(platform).execute(commands.detach(id, "other"))
    scripts(platform).execute(commands.detach(id, "acme"))
    scripts(platform).execute(commands.cancel(id, "acme", disconnected=True))
    assert not is_stopping(platform, id)
    id = platform.admit(detached=True)
    scripts(platform).execute(commands.cancel(id, "acme"))
    assert is_stopping(platform, id)
