"""The Model Runner API of a running platform: a client in JavaScript, and health that asks for progress."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from config.tenants import digest_of
from config.version import version
from tests.seeds import MODEL_RUNNER_API
from tests.support.freezing import freeze
from tests.support.platform import Platform, running_platform
from tests.support.waiting import scaled

pytestmark = [pytest.mark.journey, pytest.mark.slow]

CLIENT = Path(__file__).with_name("runner_client.js")
LIMITED_KEY = "sk-limited-for-tests"
MAX_DEPTH, LIMIT = 2, 2
SILENCE_S = 2.0
LEASE = {"lease_ms": 3000}
LEASE_PROMISE_S = 3 + 0.3 + 1


@pytest.fixture(scope="module")
def runner(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Platform]:
    """A platform with a fast and a slow model, short queues, and a tenant with a small limit."""
    stub = {"backend": "stub", "enabled": True}
    local = {
        "runner_id": "safebox-model-llm-1",
        "queue": {"max_depth": MAX_DEPTH},
        "lease": LEASE,
        "limits": {"first_event_timeout_s": SILENCE_S, "idle_timeout_s": SILENCE_S},
        "tenants": {
            "community-x": {"rate_limit": f"{LIMIT}req/min", "api_keys_sha256": [digest_of(LIMITED_KEY)]}
        },
        "models": {
            "fast": {**stub, "target_inflight": 8},
            "slow": {**stub, "stub_tokens_per_s": 10},
            "unused": {"backend": "stub"},
            "stub": {"enabled": False},
            "stoker-demo": {"enabled": False},
        },
    }
    environment = {"CUDA_VISIBLE_DEVICES": ""}
    with running_platform(
        tmp_path_factory.mktemp("runner"), local, "--port", "0", "--no-flower", environment=environment
    ) as platform:
        for name in ("fast", "slow"):
            platform.wait_state(name, "loaded", 60)
        # `/ready` and `/health` may be half a second older than the state of the models
        platform.wait_for(lambda: get(platform, "/ready")[0] == 200, 10, "the readiness")
        platform.wait_for(lambda: get(platform, "/health")[1].get("modelsLoaded") == 2, 10, "both models")
        yield platform


def get(platform: Platform, path: str) -> tuple[int, dict[str, Any]]:
    """Without a key."""
    try:
        with urllib.request.urlopen(platform.url + path, timeout=scaled(10)) as response:
            return response.status, json.loads(response.read())
    except urllib.error.HTTPError as error:
        return error.code, json.loads(error.read())


def node() -> str:
    found = shutil.which("node")
    if found is None:
        if os.environ.get("CI"):
            pytest.fail("no Node, and CI has to run this test")
        pytest.skip("no Node here")
    return found


@pytest.mark.rule(
    "runner/javascript-client", "runner/capabilities-health", "runner/inference-without-op-token"
)
@pytest.mark.rule("runner/queue-full", "runner/queue-full-retry-after", "runner/health")
def test_a_client_in_javascript_routes_by_the_state_and_sees_why_it_is_refused(runner: Platform) -> None:
    began = time.time()
    run = subprocess.run(
        [node(), str(CLIENT), runner.url, runner.keys["api_key"], LIMITED_KEY],
        capture_output=True,
        text=True,
        timeout=scaled(60),
        check=False,
    )
    assert run.returncode == 0, run.stderr
    seen = json.loads(run.stdout)

    capabilities = seen["capabilities"]
    loaded_at = {model["id"]: model.pop("loadedAt") for model in capabilities["loaded"]}
    assert all(began - 120 < at <= began + 1 for at in loaded_at.values())
    assert capabilities == {
        "status": 200,
        "cacheControl": "max-age=5",
        "runnerType": f"stub-{version()}",
        "runnerId": "safebox-model-llm-1",
        "loaded": [{"id": "fast", "contextLength": 4096}, {"id": "slow", "contextLength": 4096}],
        "loading": 0,
        "available": ["stoker-demo", "stub", "unused"],
        "gpus": 0,
        "room": MAX_DEPTH,
        "streaming": True,
        "health": "healthy",
        "again": 304,
    }
    health = seen["health"]
    assert health.pop("uptime") >= 0
    assert health == {"http": 200, "status": "healthy", "modelsLoaded": 2, "queueDepth": 0}
    assert set(MODEL_RUNNER_API["health"]) <= {*health, "uptime"}

    answer = seen["answer"]
    assert (answer["status"], answer["x-cache-hit"]) == (200, "false")
    assert all(
        answer[name] is not None for name in ("x-queue-wait-ms", "x-gpu-time-ms", "x-cache-tokens-reused")
    )

    full = seen["queueFull"]
    assert sorted(set(full["statuses"])) == [200, 503]
    assert full["statuses"].count(200) == 1 + MAX_DEPTH
    error, retry_s = full["refused"]["error"], full["refused"]["retryAfter"]
    assert set(MODEL_RUNNER_API["queue_full"]["error"]) <= set(error)
    assert (error["code"], error["queueDepth"]) == ("queue_full", MAX_DEPTH)
    assert retry_s >= 1
    assert isinstance(error["avgWaitMs"], int)

    limited = seen["rateLimited"]
    assert limited["statuses"] == [200] * LIMIT + [429] * (4 - LIMIT)
    error = limited["refused"]["error"]
    assert set(MODEL_RUNNER_API["rate_limit_exceeded"]["error"]) <= set(error)
    assert (error["code"], error["limit"], error["remaining"]) == ("rate_limit_exceeded", LIMIT, 0)
    assert began < error["resetAt"] <= time.time() + 61
    assert 1 <= limited["refused"]["retryAfter"] <= 60


@pytest.mark.rule("runner/health-public", "runner/live", "runner/ready")
def test_health_readiness_and_liveness_need_no_key_and_name_nothing(runner: Platform) -> None:
    assert get(runner, "/ready") == (200, {"status": "ready"})
    status, live = get(runner, "/live")
    assert (status, live["status"]) == (200, "live")
    assert isinstance(live["uptime"], int)
    status, health = get(runner, "/health")
    assert (status, set(health)) == (200, set(MODEL_RUNNER_API["health"]))


@pytest.mark.rule("runner/health-public")
def test_many_requests_for_health_cost_redis_two_reads_a_second(runner: Platform) -> None:
    with runner.redis() as client, client.pubsub() as writes:
        client.config_set("notify-keyspace-events", "K$")
        writes.psubscribe("__keyspace@*__:*:probe")  # each read of the state sets the probe first
        assert writes.get_message(timeout=5), "the confirmation"
        began, asked = time.monotonic(), 0
        while asked < 300 or time.monotonic() < began + 1.5:  # an answer holds for half a second
            assert get(runner, "/health")[0] == 200
            asked += 1
        seconds = time.monotonic() - began
        client.config_set("notify-keyspace-events", "")
        reads = list(iter(lambda: writes.get_message(timeout=0.5), None))
    assert 1 <= len(reads) <= 2 * seconds + 2


@pytest.mark.rule("runner/queue")
def test_the_waits_of_the_last_minutes_are_known(runner: Platform) -> None:
    def waits() -> dict[str, Any] | None:
        status, answer = runner.call("GET", "/v1/capabilities")
        known = status == 200 and answer["queue"]["p95WaitMs"] is not None
        return answer["queue"] if known else None

    assert runner.respond("fast", "/stub tokens=1")[0] == 200
    found = runner.wait_for(waits, 15, "waits")
    assert found["p95WaitMs"] >= 0
    assert found["avgWaitMs"] >= 0


@pytest.mark.rule("runner/health-progress")
def test_a_hung_engine_turns_health_red_at_the_limit_of_its_silence(runner: Platform) -> None:
    runner.run_operation("unload", "fast")
    asking = threading.Thread(target=runner.respond, args=("slow", "/stub tokens=50 hang_after=2"))
    began = time.monotonic()
    asking.start()
    answer = runner.wait_for(lambda: unhealthy(runner), SILENCE_S + 10, "unhealthy answer")
    assert answer["reason"] == "no_progress"
    assert time.monotonic() - began > SILENCE_S
    assert set(answer) == {*MODEL_RUNNER_API["health"], "reason"}
    asking.join()
    runner.wait_for(lambda: unhealthy(runner) is None, 30, "healthy answer")
    runner.wait_state("slow", "loaded", 30)
    runner.load("fast")


@pytest.mark.rule("runner/health-progress")
def test_a_frozen_worker_turns_health_red_within_its_lease(runner: Platform) -> None:
    (worker,) = runner.pids("stoker worker")[:1]
    freeze(worker)
    began = time.monotonic()
    try:
        answer = runner.wait_for(lambda: unhealthy(runner), 30, "unhealthy answer")
        took_s = time.monotonic() - began
    finally:
        os.kill(worker, signal.SIGCONT)
    assert answer["reason"] == "all_models_failed"
    assert took_s < LEASE_PROMISE_S + scaled(1.5), "half a second of cache, and a busy machine"
    for name in ("fast", "slow"):
        runner.wait_state(name, "loaded", 60)
    assert unhealthy(runner) is None


def unhealthy(platform: Platform) -> dict[str, Any] | None:
    status, answer = get(platform, "/health")
    return answer if status == 503 else None
