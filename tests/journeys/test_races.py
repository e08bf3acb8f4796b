"""Workers that die or freeze while they load or unload: operations end, and no processes are left behind."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.backends.conftest import has_ended
from tests.support import nvml
from tests.support.event_follower import Follower, following
from tests.support.freezing import freeze
from tests.support.platform import Platform, running_platform
from tests.support.waiting import scaled

pytestmark = [pytest.mark.journey, pytest.mark.hostile, pytest.mark.rule("beyond/a-worker-dies-in-the")]
LEASE = {"lease_ms": 2500}
PROMISE_S = 2.5 + 0.25 + 1
RECOVERED_S = 20  # a worker that died several times in a row waits for seconds before it starts again


@pytest.fixture(scope="module")
def platform(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Platform]:
    """A platform with two workers, each with memory for one replica of `twins`."""
    folder = tmp_path_factory.mktemp("races")
    one = {"backend": "stub", "target_inflight": 4, "stub_load_s": 1.6}
    twins = {**one, "replicas": 2, "replica_max": 2, "stub_memory_mib": 150}
    models = {
        "stoker-demo": {"enabled": False},
        "one": one,
        "fixed": {**one, "device": "cuda:1"},
        "twins": twins,
    }
    driver = nvml.environment(nvml.compiled(folder / "nvml"), gpus=2, total_mib=250)
    local = {"models": models, "lease": LEASE}
    with running_platform(folder / "up", local, "--port", "0", "--no-flower", environment=driver) as platform:
        yield platform


@pytest.fixture
def idle(platform: Platform) -> Iterator[Platform]:
    """The platform with both workers running and no model loaded."""
    platform.wait_for(lambda: workers(platform) == ["gpu0", "gpu1"], RECOVERED_S, "two workers")
    yield platform
    for name in ("one", "fixed", "twins"):
        platform.wait_for(
            lambda name=name: platform.model(name)["runtime_state"] not in ("loading", "unloading"),
            20,
            "end of the operation",
        )
        platform.run_operation("unload", name)


def workers(platform: Platform) -> list[str]:
    """The workers that have reported the memory of their GPU."""
    _, memory = platform.admin("GET", "/v1/admin/gpu-memory")
    return [worker["name"] for worker in memory["workers"] if worker["total_mib"]]


def begin(platform: Platform, verb: str, name: str) -> str:
    """Begin a load or unload; returns the operation's id."""
    status, row = platform.admin("POST", f"/v1/admin/models/{name}/{verb}", {})
    assert status == 202, row
    return str(row["operation"]["id"])


def immediately(_running: Platform, _operation: str) -> None:
    """Do not wait: the worker is killed perhaps before it has received the load."""


def in_the_second_half(platform: Platform, operation: str) -> None:
    """Wait until more than half of the load is done; 0.8 s are left for the kill."""
    platform.wait_for(lambda: platform.operation(operation)["progress"] > 0.5, 5, "half-loaded engine")


def wait_for_change(platform: Platform, follower: Follower, model: str, state: str) -> dict[str, Any]:
    """Wait for the first change to that state that the follower receives; returns the event's data."""

    def received() -> dict[str, Any] | None:
        return next((e.data for e in follower.states(model) if e.data["to"] == state), None)

    answer: dict[str, Any] = platform.wait_for(received, PROMISE_S + 2, f"change of {model} to {state}")
    return answer


def wait_for_one_engine(platform: Platform, model: str) -> None:
    """Wait until the loaded model's engine is the only one."""
    platform.wait_for(
        lambda: platform.engine_pids(model) == [platform.engine_pid(model)], 5, "end of the orphaned engine"
    )


def check_interruption_and_reload(
    platform: Platform, follower: Follower, operation: str, broken_at: float
) -> None:
    failed = wait_for_change(platform, follower, "one", "failed")
    assert failed["at"] - broken_at < PROMISE_S
    assert (failed["code"], failed["operation_id"]) == ("load_interrupted", operation)
    ended = platform.operation(operation)
    assert (ended["status"], ended["error_code"]) == ("failed", "load_interrupted")
    row = platform.wait_state("one", "loaded")
    assert row["operation_id"] != operation
    assert row["last_error"] is None
    assert platform.respond("one", "/stub tokens=2")[0] == 200


@pytest.mark.rule("beyond/a-replica-lost")
def test_a_model_that_loses_one_of_two_workers_stays_loaded_and_regains_its_replica(idle: Platform) -> None:
    row = idle.run_operation("load", "twins")
    assert (row["runtime_state"], row["loaded_replicas"]) == ("loaded", 2)
    assert idle.workers_of("twins") == ["gpu0", "gpu1"]
    with following(idle) as follower:
        os.kill(idle.worker_pid("gpu1"), signal.SIGKILL)
        answers = [idle.respond("twins", "/stub tokens=2") for _ in range(4)]
        assert [status for status, _ in answers] == [200] * 4, answers
        idle.wait_for(lambda: idle.model("twins")["loaded_replicas"] == 1, PROMISE_S, "lost replica")
        assert "gpu1" in idle.model("twins")["last_error"]
        idle.wait_for(lambda: idle.model("twins")["loaded_replicas"] == 2, RECOVERED_S, "second replica")
        assert idle.workers_of("twins") == ["gpu0", "gpu1"]
        assert follower.states("twins") == []
    answers = [idle.respond("twins", "/stub tokens=2") for _ in range(4)]
    assert [status for status, _ in answers] == [200] * 4
    assert len(idle.engine_pids("twins")) == 2


@pytest.mark.parametrize("moment", [immediately, in_the_second_half])
def test_a_load_interrupted_by_a_killed_worker_is_repeated_by_another_worker(
    idle: Platform, moment: Callable[[Platform, str], None]
) -> None:
    with following(idle) as follower:
        operation = begin(idle, "load", "one")
        moment(idle, operation)
        (worker,) = idle.workers_of("one")
        os.kill(idle.worker_pid(worker), signal.SIGKILL)
        check_interruption_and_reload(idle, follower, operation, time.time())
    wait_for_one_engine(idle, "one")


def test_a_worker_frozen_while_it_loads_loses_its_lease_and_leaves_no_engine(idle: Platform) -> None:
    with following(idle) as follower:
        operation = begin(idle, "load", "one")
        (orphan,) = idle.wait_for(lambda: idle.engine_pids("one"), 5, "engine")
        (worker,) = idle.workers_of("one")
        pid = idle.worker_pid(worker)
        freeze(pid)
        try:
            check_interruption_and_reload(idle, follower, operation, time.time())
            assert idle.workers_of("one") != [worker]
        finally:
            os.kill(pid, signal.SIGCONT)
    # it is fenced, and exits with its engines
    assert has_ended(orphan, scaled(5)), "the orphaned engine lives"
    wait_for_one_engine(idle, "one")
    assert idle.model("one")["runtime_state"] == "loaded"


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGSTOP], ids=["killed", "frozen"])
def test_a_worker_lost_while_it_unloads_leaves_the_model_unloaded(
    idle: Platform, how: signal.Signals
) -> None:
    idle.run_operation("load", "fixed")
    (engine,), pid = idle.engine_pids("fixed"), idle.worker_pid("gpu1")
    status, response = idle.respond("fixed", "/stub tokens=1000 tokens_per_s=20", background=True)
    assert status == 200
    idle.wait_for(lambda: idle.model("fixed")["runtime_inflight"] == 1, 5, "running request")
    with following(idle) as follower:
        operation = begin(idle, "unload", "fixed")
        os.kill(pid, how)
        broken_at = time.time()
        try:
            unloaded = wait_for_change(idle, follower, "fixed", "unloaded")
            assert unloaded["at"] - broken_at < PROMISE_S
        finally:
            if how is signal.SIGSTOP:
                os.kill(pid, signal.SIGCONT)
    assert idle.operation(operation)["status"] == "completed"
    _, response = idle.call("GET", f"/v1/responses/{response['id']}")
    assert response["status"] == "failed"
    assert "worker_lost" in response["error"]["message"]
    assert has_ended(engine, scaled(5)), "the orphaned engine lives"
    idle.wait_for(lambda: workers(idle) == ["gpu0", "gpu1"], RECOVERED_S, "two workers")
    row = idle.model("fixed")  # no worker loads it again
    assert (row["runtime_state"], row["loaded_replicas"], row["operation_id"]) == ("unloaded", 0, operation)
    assert idle.engine_pids("fixed") == []


@pytest.mark.rule("beyond/evictmodel")
def test_a_load_with_eviction_completes_when_the_worker_of_the_evicted_model_dies(idle: Platform) -> None:
    idle.run_operation("load", "fixed")
    status, _ = idle.respond("fixed", "/stub tokens=1000 tokens_per_s=20", background=True)
    assert status == 200
    idle.wait_for(lambda: idle.model("fixed")["runtime_inflight"] == 1, 5, "running request")
    status, row = idle.admin("POST", "/v1/admin/models/one/load", {"evictModel": "fixed"})
    assert (status, row["operation"]["stage"]) == (202, "unloading fixed")
    assert idle.model("fixed")["runtime_state"] == "unloading"
    os.kill(idle.worker_pid("gpu1"), signal.SIGKILL)
    loaded = idle.wait_state("one", "loaded")
    assert loaded["operation_id"] == row["operation"]["id"]
    assert idle.operation(loaded["operation_id"])["status"] == "completed"
    assert idle.model("fixed")["runtime_state"] == "unloaded"
