"""Races around the hand-over of a job to its worker: a killed worker, and cancels."""

from __future__ import annotations

import json
import os
import random
import signal
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.journeys.hostile.conftest import Target
from tests.support.freezing import freeze
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.journey, pytest.mark.hostile]


def test_a_job_whose_worker_dies_before_it_starts_runs_on_the_next_worker(target: Target) -> None:
    (worker,) = target.platform.workers_of("quick")
    pid = target.platform.worker_pid(worker)
    freeze(pid)
    try:
        # the ledger hands the jobs over, and the worker cannot take them
        created = [target.platform.respond("wide", "/stub tokens=3", background=True)[1] for _ in range(20)]
        wait_until(lambda: target.slots_taken("wide") == 20, 5)
    finally:
        os.kill(pid, signal.SIGKILL)
    for response in created:
        ended = target.platform.wait_for(
            lambda response=response: ended_response(target, response["id"]), 30, "end of the job"
        )
        assert ended["status"] == "completed", ended
        assert ended["output"][0]["content"][0]["text"] == "tok0 tok1 tok2"
        assert ends_in_log(target, response["id"]) == ["completed"]
    for model in ("quick", "wide", "narrow"):
        target.platform.wait_state(model, "loaded")
    assert target.slots_taken("wide") == 0


def test_cancels_during_the_hand_over_end_every_job_once(target: Target) -> None:
    chance = random.Random(7)
    created: list[str] = []
    with ThreadPoolExecutor(4) as pool:

        def create(number: int) -> None:
            text = f"/stub tokens={number % 3 + 1} tokens_per_s=200"
            status, body = target.platform.respond("narrow", text, background=True)
            assert status == 200, body
            created.append(body["id"])

        def cancel(_: int) -> None:
            if created:
                path = f"/v1/responses/{chance.choice(created[-8:])}/cancel"
                assert target.platform.call("POST", path, {})[0] == 200

        for future in [pool.submit(chance.choice([create, cancel]), number) for number in range(160)]:
            future.result()
    for id in created:
        target.platform.wait_for(lambda id=id: ended_response(target, id), 20, "end of the job")
    results = [ends_in_log(target, id) for id in created]
    assert {len(ends) for ends in results} == {1}
    assert {ends[0] for ends in results} == {"completed", "cancelled"}
    row = target.platform.model("narrow")
    assert (row["runtime_inflight"], row["queue_depth"], row["inflight_requests"]) == (0, 0, 0)


def ended_response(target: Target, id: str) -> dict[str, object] | None:
    _, response = target.platform.call("GET", f"/v1/responses/{id}")
    return response if response["status"] not in ("queued", "in_progress") else None


def ends_in_log(target: Target, id: str) -> list[str]:
    """The statuses of all terminal events in the log of a response."""
    with target.platform.redis() as client:
        entries = client.xrange(f"{{stoker}}:log:{id}")
    events = [json.loads(fields[b"e"]) for _, fields in entries]
    return [event["status"] for event in events if event["t"] == "end"]
