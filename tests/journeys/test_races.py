"""Workers that die or freeze while they load or unload: nothing stays under way, nothing is left behind."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support import nvml
from tests.support.event_follower import Follower, following
from tests.support.platform import Platform, platform

pytestmark = [pytest.mark.journey, pytest.mark.rule("beyond/a-worker-dies-in-the")]
LEASE = {"lease_ms": 2500, "beat_ms": 500, "reap_ms": 250}
PROMISE_S = 2.5 + 0.25 + 1
MENDED_S = 20  # a worker that died several times in a row waits for seconds before it starts again


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Platform]:
    """Two workers, each with room for one replica of `twins`."""
    folder = tmp_path_factory.mktemp("races")
    one = {"backend": "stub", "target_inflight": 4, "stub_load_s": 1.0}
    twins = {**one, "replicas": 2, "replica_max": 2, "stub_memory_mib": 150}
    models = {
        "stoker-demo": {"enabled": False},
        "one": one,
        "fixed": {**one, "device": "cuda:1"},
        "twins": twins,
    }
    driver = nvml.environment(nvml.compiled(folder / "nvml"), gpus=2, total_mib=250)
    local = {"models": models, "lease": LEASE}
    with platform(folder / "up", local, "--port", "0", "--no-flower", environment=driver) as running:
        yield running


@pytest.fixture
def calm(house: Platform) -> Iterator[Platform]:
    """With both workers there and nothing loaded."""
    house.wait_for(lambda: workers(house) == ["gpu0", "gpu1"], MENDED_S, "two workers")
    yield house
    for name in ("one", "fixed", "twins"):
        house.wait_for(
            lambda name=name: house.model(name)["runtime_state"] not in ("loading", "unloading"), 20, "rest"
        )
        house.change("unload", name)


def workers(running: Platform) -> list[str]:
    """Those that are there and have read their GPU."""
    _, memory = running.admin("GET", "/v1/admin/gpu-memory")
    return [worker["name"] for worker in memory["workers"] if worker["total_mib"]]


def begin(running: Platform, verb: str, name: str) -> str:
    """Begin a load or unload; the operation's id."""
    status, row = running.admin("POST", f"/v1/admin/models/{name}/{verb}", {})
    assert status == 202, row
    return str(row["operation"]["id"])


def at_once(_running: Platform, _operation: str) -> None:
    """Before the worker may have heard of it."""


def late(running: Platform, operation: str) -> None:
    """When the load is nearly through."""
    running.wait_for(lambda: running.operation(operation)["progress"] > 0.6, 5, "nearly loaded engine")


def change_to(running: Platform, follower: Follower, model: str, state: str) -> dict[str, Any]:
    """The first change to that state which the follower hears."""

    def heard() -> dict[str, Any] | None:
        return next((e.data for e in follower.states(model) if e.data["to"] == state), None)

    answer: dict[str, Any] = running.wait_for(heard, PROMISE_S + 2, f"change of {model} to {state}")
    return answer


def has_one_engine(running: Platform, model: str) -> None:
    """Wait until the loaded model's engine is the only one."""
    running.wait_for(
        lambda: running.engines(model) == [running.engine_pid(model)], 5, "end of the orphaned engine"
    )


def is_interrupted_and_loads_again(
    running: Platform, follower: Follower, operation: str, broken_at: float
) -> None:
    failed = change_to(running, follower, "one", "failed")
    assert failed["at"] - broken_at < PROMISE_S
    assert (failed["code"], failed["operation_id"]) == ("load_interrupted", operation)
    ended = running.operation(operation)
    assert (ended["status"], ended["error_code"]) == ("failed", "load_interrupted")
    row = running.wait_state("one", "loaded")
    assert row["operation_id"] != operation
    assert row["last_error"] is None
    assert running.respond("one", "/stub tokens=2")[0] == 200


@pytest.mark.rule("beyond/a-replica-lost")
def test_a_model_that_loses_one_of_two_workers_goes_on_and_is_made_whole_again(calm: Platform) -> None:
    row = calm.change("load", "twins")
    assert (row["runtime_state"], row["loaded_replicas"]) == ("loaded", 2)
    assert calm.hosts("twins") == ["gpu0", "gpu1"]
    with following(calm) as follower:
        os.kill(calm.worker_pid("gpu1"), signal.SIGKILL)
        answers = [calm.respond("twins", "/stub tokens=2") for _ in range(4)]
        assert [status for status, _ in answers] == [200] * 4, answers
        calm.wait_for(lambda: calm.model("twins")["loaded_replicas"] == 1, PROMISE_S, "lost replica")
        assert "gpu1" in calm.model("twins")["last_error"]
        calm.wait_for(lambda: calm.model("twins")["loaded_replicas"] == 2, MENDED_S, "second replica")
        assert calm.hosts("twins") == ["gpu0", "gpu1"]
        assert follower.states("twins") == []
    answers = [calm.respond("twins", "/stub tokens=2") for _ in range(4)]
    assert [status for status, _ in answers] == [200] * 4
    assert len(calm.engines("twins")) == 2


@pytest.mark.parametrize("moment", [at_once, late])
def test_a_worker_killed_while_it_loads_interrupts_the_load_which_another_takes_over(
    calm: Platform, moment: Callable[[Platform, str], None]
) -> None:
    with following(calm) as follower:
        operation = begin(calm, "load", "one")
        moment(calm, operation)
        (worker,) = calm.hosts("one")
        os.kill(calm.worker_pid(worker), signal.SIGKILL)
        is_interrupted_and_loads_again(calm, follower, operation, time.time())
    has_one_engine(calm, "one")


def test_a_worker_frozen_while_it_loads_is_given_up_and_leaves_no_engine(calm: Platform) -> None:
    with following(calm) as follower:
        operation = begin(calm, "load", "one")
        (orphan,) = calm.wait_for(lambda: calm.engines("one"), 5, "engine")
        (worker,) = calm.hosts("one")
        pid = calm.worker_pid(worker)
        os.kill(pid, signal.SIGSTOP)
        try:
            is_interrupted_and_loads_again(calm, follower, operation, time.time())
            assert calm.hosts("one") != [worker]
        finally:
            os.kill(pid, signal.SIGCONT)
    # it finds itself given up, and ends with all that it held
    calm.wait_for(lambda: not Path(f"/proc/{orphan}").exists(), 5, "end of the orphaned engine")
    has_one_engine(calm, "one")
    assert calm.model("one")["runtime_state"] == "loaded"


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGSTOP], ids=["killed", "frozen"])
def test_a_worker_lost_while_it_unloads_leaves_the_model_unloaded(
    calm: Platform, how: signal.Signals
) -> None:
    calm.change("load", "fixed")
    (engine,), pid = calm.engines("fixed"), calm.worker_pid("gpu1")
    status, response = calm.respond("fixed", "/stub tokens=1000 tokens_per_s=20", background=True)
    assert status == 200
    calm.wait_for(lambda: calm.model("fixed")["runtime_inflight"] == 1, 5, "running request")
    with following(calm) as follower:
        operation = begin(calm, "unload", "fixed")
        os.kill(pid, how)
        broken_at = time.time()
        try:
            unloaded = change_to(calm, follower, "fixed", "unloaded")
            assert unloaded["at"] - broken_at < PROMISE_S
        finally:
            if how is signal.SIGSTOP:
                os.kill(pid, signal.SIGCONT)
    assert calm.operation(operation)["status"] == "completed"
    _, response = calm.call("GET", f"/v1/responses/{response['id']}")
    assert response["status"] == "failed"
    assert "worker_lost" in response["error"]["message"]
    calm.wait_for(lambda: not Path(f"/proc/{engine}").exists(), 5, "end of the orphaned engine")
    calm.wait_for(lambda: workers(calm) == ["gpu0", "gpu1"], MENDED_S, "two workers")
    row = calm.model("fixed")  # nobody brings it back
    assert (row["runtime_state"], row["loaded_replicas"], row["operation_id"]) == ("unloaded", 0, operation)
    assert calm.engines("fixed") == []


@pytest.mark.rule("beyond/evictmodel")
def test_a_load_goes_on_when_the_worker_dies_that_should_make_room_for_it(calm: Platform) -> None:
    calm.change("load", "fixed")
    status, _ = calm.respond("fixed", "/stub tokens=1000 tokens_per_s=20", background=True)
    assert status == 200
    calm.wait_for(lambda: calm.model("fixed")["runtime_inflight"] == 1, 5, "running request")
    status, row = calm.admin("POST", "/v1/admin/models/one/load", {"evictModel": "fixed"})
    assert (status, row["operation"]["stage"]) == (202, "unloading fixed")
    assert calm.model("fixed")["runtime_state"] == "unloading"
    os.kill(calm.worker_pid("gpu1"), signal.SIGKILL)
    loaded = calm.wait_state("one", "loaded")
    assert loaded["operation_id"] == row["operation"]["id"]
    assert calm.operation(loaded["operation_id"])["status"] == "completed"
    assert calm.model("fixed")["runtime_state"] == "unloaded"
