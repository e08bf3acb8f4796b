"""The governed lifecycle of a running platform, by the specification's own client and by plain requests."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.journeys.test_model_runner import node
from tests.seeds import MODEL_RUNNER_FILE
from tests.support.gateway import Gateway
from tests.support.platform import Platform, preferred_wait, running_platform
from tests.support.waiting import scaled

pytestmark = [pytest.mark.journey, pytest.mark.slow]

CLIENT = Path(__file__).with_name("infrastructure_client.js")


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Gateway:
    return Gateway(tmp_path_factory.mktemp("gateway"))


def environment(gateway: Gateway) -> dict[str, str]:
    return {"CUDA_VISIBLE_DEVICES": "", "VERIFIED_OP_TOKEN_KEY_PATH": str(gateway.path)}


@pytest.fixture(scope="module")
def runner(tmp_path_factory: pytest.TempPathFactory, gateway: Gateway) -> Iterator[Platform]:
    """A platform behind a trusted proxy, which is this machine, with a key for opTokens."""
    local = {
        "tenancy": {"trusted_proxies": ["127.0.0.1"]},
        "models": {
            "org/slow": {"backend": "stub", "stub_load_s": scaled(1.0)},
            "org/other": {"backend": "stub", "enabled": True},
            "org/broken": {"backend": "stub", "stub_load_fail": "no such weights"},
            "stub": {"enabled": False},
            "stoker-demo": {"enabled": False},
        },
    }
    folder, options = tmp_path_factory.mktemp("lifecycle"), ("--port", "0", "--no-flower")
    with running_platform(folder, local, *options, environment=environment(gateway)) as platform:
        platform.wait_state("org/other", "loaded", 60)
        yield platform


def execute(runner: Platform, gateway: Gateway, model: str, **fields: Any) -> dict[str, Any]:
    """Run `executeModelLoad` of the specification in Node."""
    stm = {"modelId": model, "verifiedOpToken": gateway.token("model-load", modelId=model), **fields}
    run = subprocess.run(
        [node(), str(CLIENT), runner.url, str(MODEL_RUNNER_FILE), json.dumps(stm)],
        capture_output=True,
        text=True,
        timeout=scaled(60),
        check=False,
    )
    assert run.returncode == 0, run.stderr
    seen: dict[str, Any] = json.loads(run.stdout)
    return seen


def send_load(runner: Platform, body: dict[str, Any]) -> int:
    status, _ = runner.admin("POST", "/v1/models/load", body)
    return status


def unload(runner: Platform, gateway: Gateway, model: str) -> dict[str, Any]:
    key = runner.keys["admin_key"]
    status, body, _ = runner.request(
        "POST", "/v1/models/unload", gateway.unload(model), key, Prefer=preferred_wait(30)
    )
    assert status == 200, body
    answer: dict[str, Any] = body
    return answer


@pytest.mark.rule("runner/infrastructure-api")
def test_the_client_of_the_specification_loads_a_model(runner: Platform, gateway: Gateway) -> None:
    seen = execute(runner, gateway, "org/slow", evictModel="org/other")
    assert seen["result"] == {"modelId": "org/slow", "verified": True, "gpuMemoryUsedMB": 0}
    first, *polled = seen["answers"]
    assert (first["http"], first["body"]["status"]) == (202, "loading")
    assert [one["body"]["status"] for one in polled] == ["loading"] * (len(polled) - 1) + ["completed"]
    assert len(polled) > 1
    assert (runner.model("org/slow")["runtime_state"], runner.model("org/other")["runtime_state"]) == (
        "loaded",
        "unloaded",
    )
    freed = unload(runner, gateway, "org/slow")
    assert (freed["modelId"], freed["gpuMemoryFreedMB"], freed["kvCacheFlushed"]) == ("org/slow", 0, True)
    runner.load("org/other")


@pytest.mark.rule("runner/infrastructure-api")
def test_the_client_of_the_specification_sees_why_a_load_failed(runner: Platform, gateway: Gateway) -> None:
    seen = execute(runner, gateway, "org/broken")
    assert seen["error"].startswith("Model load failed: ")
    assert "no such weights" in seen["error"]
    assert seen["answers"][-1]["body"]["status"] == "failed"


@pytest.mark.rule("runner/infrastructure-api")
def test_the_client_of_the_specification_gets_a_refusal_as_it_is(runner: Platform, gateway: Gateway) -> None:
    token = gateway.token("model-load", modelId="org/other")
    seen = execute(runner, gateway, "org/slow", verifiedOpToken=token)
    assert seen["result"]["error"]["code"] == "operation_not_authorized"
    assert "opToken.modelId has to be the modelId of the request" in seen["result"]["error"]["message"]
    assert runner.model("org/slow")["runtime_state"] == "unloaded"


def test_an_unload_and_a_flush_without_a_wait_are_polled(runner: Platform, gateway: Gateway) -> None:
    body = {"scope": "model", "modelId": "org/other"}
    token = gateway.token("cache-flush", **body)
    status, task = runner.admin("POST", "/v1/cache/flush", {**body, "verifiedOpToken": token})
    assert (status, task["status"]) == (202, "flushing")
    flushed = poll(runner, "/v1/cache/flush", task)
    assert (flushed["status"], flushed["flushed"], flushed["modelId"]) == ("completed", True, "org/other")
    status, task = runner.admin("POST", "/v1/models/unload", gateway.unload("org/other"))
    assert (status, task["status"]) == (202, "unloading")
    assert poll(runner, "/v1/models/unload", task)["status"] == "completed"
    runner.load("org/other")


def poll(runner: Platform, path: str, task: dict[str, Any]) -> dict[str, Any]:
    def ended() -> dict[str, Any] | None:
        _, body = runner.admin("GET", f"{path}/{task['taskId']}")
        return None if body["status"].endswith("ing") else body

    answer: dict[str, Any] = runner.wait_for(ended, 30, "end of the task")
    return answer


@pytest.mark.rule("runner/op-token-once")
def test_a_used_token_is_refused_after_a_restart_of_the_whole_platform(
    runner: Platform, gateway: Gateway
) -> None:
    used = gateway.load("org/slow")
    assert send_load(runner, used) == 202
    runner.stop()
    local = json.loads((runner.folder / "local.json").read_text())
    options = ("--port", "0", "--no-flower")
    with running_platform(runner.folder, local, *options, environment=environment(gateway)) as again:
        assert send_load(again, used) == 403
        assert send_load(again, gateway.load("org/slow")) == 202
