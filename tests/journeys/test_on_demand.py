"""Two models that fit only one at a time, on real processes: requests wait, models switch, none fails."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import random
import threading
import time
import urllib.request
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.platform import Platform, running_platform
from tests.support.waiting import scaled

pytestmark = [pytest.mark.journey, pytest.mark.hostile]

MODEL = {
    "backend": "stub",
    "on_demand": "load",
    "target_inflight": 4,
    "stub_tokens": 10,
    "stub_tokens_per_s": 50,
    "stub_load_s": 0.5,
}
HEAVY = {**MODEL, "stub_load_s": 7.0}
BROKEN = {**MODEL, "stub_load_fail": "no such weights"}
LOCAL = {
    "models": {
        "left": MODEL,
        "right": MODEL,
        "broken": BROKEN,
        "heavy": HEAVY,
        "stoker-demo": {"enabled": False},
    },
    "on_demand": {"max_loaded": 1, "min_residency_s": 0.5},
    "lease": {"lease_ms": 3000},
}
DURATION_S = float(os.environ.get("STOKER_ON_DEMAND_S", "12"))
"""How long the mixed load lasts; the report in docs/scheduling.md is of 180 s."""

KILLS = int(os.environ.get("STOKER_ON_DEMAND_KILLS", "4"))


@pytest.fixture(scope="module")
def platform(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Platform]:
    folder = tmp_path_factory.mktemp("on_demand")
    with running_platform(
        folder, LOCAL, "--port", "0", "--no-flower", environment={"CUDA_VISIBLE_DEVICES": ""}
    ) as platform:
        yield platform


def ask(platform: Platform, model: str) -> tuple[int, Any]:
    return platform.call("POST", "/v1/responses", {"model": model, "input": "hello"})


def switches(platform: Platform) -> Counter[str]:
    """The loads that have ended, by status."""
    _, page = platform.admin("GET", "/v1/admin/operations?kind=load&limit=100")
    return Counter(row["status"] for row in page["data"])


def test_a_stream_loads_the_model_that_it_asks_for(platform: Platform) -> None:
    platform.admin("POST", "/v1/admin/models/left/unload")
    platform.wait_state("left", "unloaded")
    assert "response.completed" in stream(platform, "left")
    assert platform.model("left")["runtime_state"] == "loaded"
    (record,) = history(platform, "model=left&limit=1")
    assert (record["status"], record["api"], record["httpStatus"]) == ("completed", "responses", 200)
    assert 400 <= record["loadMs"] <= record["waitedMs"]  # the load takes half a second
    assert record["waitedMs"] + record["firstTokenMs"] <= record["totalMs"]
    assert record["tokens"]["output"] == 10
    assert record["client"]["path"] == "/v1/responses"
    assert record["client"]["userAgent"].startswith("Python-urllib")
    assert platform.admin("GET", f"/v1/admin/requests/{record['id']}")[1] == record


def history(platform: Platform, query: str) -> list[dict[str, Any]]:
    """The latest requests that the history has: the last one is there about a second after its end."""

    def find() -> list[dict[str, Any]] | None:
        found: list[dict[str, Any]] = platform.admin("GET", f"/v1/admin/requests?{query}")[1]["data"]
        return found or None

    return platform.wait_for(find, 10, f"requests with {query}")


def test_the_queue_and_the_comments_of_a_stream_show_the_load(platform: Platform) -> None:
    body = {"model": "heavy", "input": "hello", "background": True}
    _, waiting = platform.call("POST", "/v1/responses", body)

    def place() -> dict[str, Any] | None:
        _, answer = platform.call("GET", f"/v1/queue/{waiting['id']}")
        return answer if "model is loading" in (answer["reason"] or "") else None

    shown = platform.wait_for(place, 20, "load in the queue")
    assert (shown["status"], shown["position"], shown["queueDepth"]) == ("queued", 1, 1)
    text = stream(platform, "heavy")
    assert ": queue position 1 of 2" in text, "it goes before the background response"
    assert "model is loading" in text
    assert "response.completed" in text


def stream(platform: Platform, model: str) -> str:
    body = json.dumps({"model": model, "input": "hello", "stream": True}).encode()
    headers = {"Authorization": f"Bearer {platform.keys['api_key']}", "Content-Type": "application/json"}
    request = urllib.request.Request(platform.url + "/v1/responses", data=body, headers=headers)
    with urllib.request.urlopen(request, timeout=scaled(60)) as response:
        return str(response.read().decode())


def test_a_failed_load_answers_with_its_reason_and_then_refuses_for_a_while(platform: Platform) -> None:
    status, answer = ask(platform, "broken")
    assert (status, answer["error"]["code"]) == (409, "model_failed")
    assert "load_failed" in answer["error"]["message"]
    status, answer, headers = platform.request("POST", "/v1/responses", {"model": "broken", "input": "x"})
    assert (status, answer["error"]["code"]) == (409, "model_failed")
    assert 0 < int(headers["Retry-After"]) <= 5
    refused = history(platform, "model=broken&status=refused&code=model_failed")[0]
    assert refused["id"] == headers["x-request-id"]
    assert (refused["httpStatus"], refused["dispatchedAt"], refused["tokens"]) == (409, None, None)


@pytest.mark.timeout(int(DURATION_S) + 240)
def test_two_models_share_one_place_under_mixed_load_and_no_request_fails(platform: Platform) -> None:
    outcomes: Counter[str] = Counter()
    waits: list[float] = []
    before = switches(platform)
    ends = time.monotonic() + DURATION_S

    def client(seed: int) -> None:
        chance = random.Random(seed)
        while time.monotonic() < ends:
            began = time.monotonic()
            status, answer = ask(platform, chance.choice(["left", "right"]))
            outcomes["completed" if status == 200 else answer["error"]["message"]] += 1
            waits.append(time.monotonic() - began)

    threads = [threading.Thread(target=client, args=(seed,)) for seed in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert set(outcomes) == {"completed"}, outcomes
    loads = switches(platform) - before
    assert loads["completed"] >= 2, loads
    print(f"{sum(outcomes.values())} requests, {loads} loads, longest wait {max(waits):.1f} s")


@pytest.mark.timeout(KILLS * 30 + 240)
def test_killed_processes_leave_no_state_stuck_during_switches(platform: Platform) -> None:
    chance = random.Random(7)

    def ask_quietly(model: str) -> None:
        with contextlib.suppress(OSError, http.client.HTTPException):
            ask(platform, model)

    def kill_one() -> None:
        platform.kill_part(chance.choice(["stoker worker", "stoker api"]))

    for _ in range(KILLS):
        for model in ("left", "right"):
            threading.Thread(target=ask_quietly, args=(model,), daemon=True).start()
        threading.Event().wait(chance.uniform(0.0, 1.2))
        kill_one()
        platform.wait_for(lambda: _is_up(platform), 30, "the killed process")

    def serves(model: str) -> bool:
        with contextlib.suppress(OSError, http.client.HTTPException):
            return ask(platform, model)[0] == 200
        return False

    for model in ("left", "right"):
        platform.wait_for(lambda name=model: serves(name), 60, f"answer of {model}")
    leftovers = [
        row["name"]
        for row in platform.admin("GET", "/v1/admin/models")[1]["models"]
        if row["runtime_state"] in ("loading", "unloading")
    ]
    assert leftovers == []


def _is_up(platform: Platform) -> bool:
    """Whether the API answers and the worker is registered."""
    with contextlib.suppress(OSError, http.client.HTTPException, KeyError, TypeError):
        _, page = platform.admin("GET", "/v1/admin/workers")
        return any(one["name"] == "cpu0" and one["state"] != "lost" for one in page["data"])
    return False
