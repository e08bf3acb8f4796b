"""A model that is on a hub only: loaded by an opToken, downloaded with progress, asked, unloaded and gone."""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from config.settings import ROOT
from governance.op_tokens.shared_keys import SharedKey
from tests.governance.op_tokens.tokens import as_object
from tests.support.hub_server import HubServer, Repository
from tests.support.platform import Platform, running_platform

pytestmark = [pytest.mark.journey, pytest.mark.slow]

KEY = secrets.token_hex(32)
NAME = "acme/demo-GGUF"
HELD_AFTER = 256 * 1024


@pytest.fixture
def hub() -> Iterator[HubServer]:
    demo = (ROOT / "models/stoker-demo.gguf").read_bytes()
    with HubServer({NAME: Repository({"demo-Q8_0.gguf": demo})}) as server:
        yield server


@pytest.fixture
def governed(tmp_path: Path, hub: HubServer) -> Iterator[Platform]:
    key = tmp_path / "model-api.key"
    key.write_text(KEY)
    key.chmod(0o600)
    local = {
        "hub": {"keep_free_mib": 0},
        "governance": {"models": "allow", "allow": {"llama_server": ["acme/*"]}},
        "models": {"stub": {"enabled": False}, "stoker-demo": {"enabled": False}},
    }
    environment = {
        "CUDA_VISIBLE_DEVICES": "",
        "VERIFIED_OP_TOKEN_KEY_PATH": str(key),
        "HF_ENDPOINT": hub.url,
        "HF_HOME": str(tmp_path / "hf"),
    }
    with running_platform(
        tmp_path / "up", local, "--port", "0", "--no-flower", environment=environment
    ) as platform:
        yield platform


def authorized(platform: Platform, operation: str, path: str, body: dict[str, Any]) -> tuple[int, Any]:
    op_token = {
        "operation": operation,
        "modelId": body["modelId"],
        "issuedAt": int(time.time()),
        "signers": ["admin1"],
        "nonce": secrets.token_hex(16),
    }
    token = as_object(op_token, SharedKey("main", KEY.encode()))
    return platform.admin("POST", path, {**body, "verifiedOpToken": token})


def task(platform: Platform, id: str) -> dict[str, Any]:
    status, answer = platform.admin("GET", f"/v1/models/load/{id}")
    assert status == 200, answer
    found: dict[str, Any] = answer
    return found


def test_a_model_on_a_hub_is_downloaded_by_its_load_and_answers(governed: Platform, hub: HubServer) -> None:
    hub.hold, hub.hold_after = threading.Event(), HELD_AFTER
    status, _ = governed.admin("GET", f"/v1/models/load/plan?modelId={NAME}")
    assert status == 200
    status, answer = authorized(governed, "model-load", "/v1/models/load", {"modelId": NAME})
    assert status == 202, answer
    cache = governed.folder.parent / "hf"
    governed.wait_for(lambda: any(cache.rglob("*.part")), 20, "download")
    assert task(governed, answer["taskId"])["status"] == "loading"
    hub.hold.set()
    ended = governed.wait_for(
        lambda: (found := task(governed, answer["taskId"]))["status"] != "loading" and found, 60, "load"
    )
    assert ended["status"] == "completed", ended
    row = governed.model(NAME)
    assert row["dynamic"]
    assert row["origin"]["revision"] == "c" * 40
    status, response = governed.respond(NAME, "Hi", max_output_tokens=8)
    assert status == 200, response
    status, answer = authorized(governed, "model-unload", "/v1/models/unload", {"modelId": NAME})
    assert status in (200, 202), answer
    governed.wait_for(
        lambda: NAME not in {row["name"] for row in governed.admin("GET", "/v1/admin/models")[1]["models"]},
        30,
        "end of the model",
    )
