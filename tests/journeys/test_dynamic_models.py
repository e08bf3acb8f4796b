"""A model that no configuration names: loaded by an opToken, served, recovered, unloaded and gone."""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import secrets
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from config.load import load_settings
from config.settings import ROOT
from tests.support.platform import Platform, preferred_wait, running_platform

pytestmark = [pytest.mark.engines, pytest.mark.journey]

KEY = secrets.token_hex(32)
LEASE = {"lease_ms": 3000}
NAME = "files/extra.gguf"


@pytest.fixture(scope="module")
def platform(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Platform]:
    folder = tmp_path_factory.mktemp("dynamic")
    base = folder / "models"
    (base / "files").mkdir(parents=True)
    (base / "files" / "extra.gguf").write_bytes((ROOT / "models" / "stoker-demo.gguf").read_bytes())
    cut = (ROOT / "models" / "stoker-demo.gguf").read_bytes()[:400_000]
    (base / "files" / "extra-cut.gguf").write_bytes(cut)
    (base / "files" / "other.gguf").write_bytes((ROOT / "models" / "stoker-demo.gguf").read_bytes())
    key = folder / "model-api.key"
    key.write_text(KEY)
    key.chmod(0o600)
    local = {
        "models": {"stoker-demo": {"enabled": False}},
        "api": {"processes": 2},
        "lease": LEASE,
        "model_base_path": str(base),
        "runtimes_dir": str(load_settings().runtimes_dir),
        "governance": {"models": "allow", "allow": {"llama_cpp": ["files/extra*"]}},
    }
    environment = {"CUDA_VISIBLE_DEVICES": "", "VERIFIED_OP_TOKEN_KEY_PATH": str(key)}
    with running_platform(
        folder / "up", local, "--port", "0", "--no-flower", environment=environment
    ) as running:
        yield running


def approved(operation: str, model: str, **body: Any) -> dict[str, Any]:
    """A body with its opToken, as the origin of the Model Runner API signs it in Python."""
    token = {
        "operation": operation,
        "modelId": model,
        "issuedAt": int(time.time()),
        "signers": ["admin1"],
        "nonce": secrets.token_hex(16),
    }
    text = json.dumps(token, sort_keys=True).encode()
    signature = hmac.new(KEY.encode(), text, hashlib.sha256).hexdigest()
    return {"modelId": model, **body, "verifiedOpToken": {"opToken": token, "signature": signature}}


def send(platform: Platform, verb: str, body: dict[str, Any]) -> tuple[int, Any]:
    status, answer, _ = platform.request(
        "POST", f"/v1/models/{verb}", body, platform.keys["admin_key"], Prefer=preferred_wait(60)
    )
    return status, answer


def chat(platform: Platform) -> tuple[int, Any]:
    messages = [{"role": "user", "content": "Say hello."}]
    return platform.call(
        "POST", "/v1/chat/completions", {"model": NAME, "messages": messages, "max_tokens": 8}
    )


@pytest.mark.rule("runner/load-by-path-or-id", "runner/load-parameters")
def test_a_dynamic_model_is_loaded_served_recovered_and_unloaded(platform: Platform) -> None:
    status, answer = chat(platform)
    assert (status, answer["error"]["code"]) == (404, "unknown_model")

    status, task = send(platform, "load", approved("model-load", NAME, maxContextLength=512))
    assert status == 200, f"{task}\n{platform.logs()}"
    assert (task["status"], task["modelId"]) == ("completed", NAME), f"{task}\n{platform.logs()}"
    for _ in range(4):  # whichever process answers
        status, answer = chat(platform)
        assert status == 200, answer
        assert answer["usage"]["completion_tokens"] > 0

    row = platform.model(NAME)
    assert (row["dynamic"], row["definition"]["backend"]) == (True, "llama_cpp")
    assert row["origin"]["kind"] == "path"
    assert row["load_override"] == {"gguf_n_ctx": 512}
    assert not platform.model("stub")["dynamic"]
    status, listed = platform.call("GET", "/v1/models")
    assert NAME in [model["id"] for model in listed["data"]]
    status, one = platform.call("GET", f"/v1/models/{NAME}")
    assert (status, one["state"]) == (200, "loaded")
    _, capabilities = platform.admin("GET", "/v1/capabilities")
    assert (
        NAME
        in [model["id"] for model in capabilities["models"]["loaded"]] + capabilities["models"]["available"]
    )

    (worker,) = platform.workers_of(NAME)
    os.kill(platform.worker_pid(worker), signal.SIGKILL)
    platform.wait_for(lambda: platform.model(NAME)["runtime_state"] != "loaded", 20, "loss of the model")
    platform.wait_state(NAME, "loaded", 60)
    status, answer = chat(platform)
    assert status == 200, answer
    assert platform.model(NAME)["load_override"] == {"gguf_n_ctx": 512}

    status, task = send(platform, "unload", approved("model-unload", NAME))
    assert (status, task["status"]) == (200, "completed")
    platform.wait_for(lambda: chat(platform)[0] == 404, 5, "end of the model in every process")
    _, rows = platform.admin("GET", "/v1/admin/models")
    assert NAME not in [row["name"] for row in rows["models"]]
    status, answer = send(platform, "unload", approved("model-unload", NAME))
    assert (status, answer["error"]["code"]) == (404, "unknown_model")


def test_a_model_without_a_pattern_is_refused_and_nothing_is_changed(platform: Platform) -> None:
    status, answer = send(platform, "load", approved("model-load", "files/other.gguf"))
    assert (status, answer["error"]["code"], answer["error"]["param"]) == (
        403,
        "model_not_allowed",
        "modelId",
    )
    _, rows = platform.admin("GET", "/v1/admin/models")
    assert [row["name"] for row in rows["models"]] == ["stoker-demo", "stub"]


def test_a_parameter_that_the_file_does_not_fit_is_refused(platform: Platform) -> None:
    body = approved("model-load", NAME, quantization="awq-4bit")
    status, answer = send(platform, "load", body)
    assert (status, answer["error"]["param"]) == (400, "quantization")
    assert "q8_0" in answer["error"]["message"]


def test_a_model_that_does_not_load_stays_failed_until_it_is_unloaded(platform: Platform) -> None:
    name = "files/extra-cut.gguf"
    status, task = send(platform, "load", approved("model-load", name))
    assert (status, task["status"], task["errorCode"]) == (200, "failed", "load_failed")
    row = platform.model(name)
    assert (row["runtime_state"], row["dynamic"]) == ("failed", True)
    status, task = send(platform, "unload", approved("model-unload", name))
    assert (status, task["status"]) == (200, "completed")
    status, _ = platform.admin("GET", f"/v1/admin/models/{name}")
    assert status == 404


def test_an_admin_unloads_a_dynamic_model_and_gets_its_last_row(platform: Platform) -> None:
    status, _ = send(platform, "load", approved("model-load", NAME))
    assert status == 200
    row = platform.run_operation("unload", NAME)
    assert (row["name"], row["runtime_state"], row["dynamic"]) == (NAME, "unloaded", True)
    status, answer = platform.admin("GET", f"/v1/admin/models/{NAME}")
    assert (status, answer["error"]["code"]) == (404, "unknown_model")


def test_a_platform_that_starts_again_has_no_dynamic_model(platform: Platform, tmp_path: Path) -> None:
    status, _ = send(platform, "load", approved("model-load", NAME))
    assert status == 200
    assert tmp_path.exists()
    platform.stop()
    with running_platform(
        platform.folder,
        json.loads((platform.folder / "local.json").read_text()),
        "--port",
        "0",
        "--no-flower",
        environment={
            name: platform.environment[name]
            for name in ("CUDA_VISIBLE_DEVICES", "VERIFIED_OP_TOKEN_KEY_PATH")
        },
    ) as again:
        _, rows = again.admin("GET", "/v1/admin/models")
        assert [row["name"] for row in rows["models"]] == ["stoker-demo", "stub"]
