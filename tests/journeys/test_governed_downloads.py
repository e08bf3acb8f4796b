"""A model that is on a hub only: loaded by an opToken, downloaded with progress, asked, unloaded and gone."""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from config.load import load_settings
from config.settings import ROOT
from governance.op_tokens.shared_keys import SharedKey
from tests.backends.comfyui.conftest import model_options
from tests.backends.whisper.speech import CLIPS
from tests.governance.op_tokens.tokens import as_object
from tests.support.hub_server import HubServer, Repository
from tests.support.platform import Platform, running_platform

pytestmark = [pytest.mark.journey, pytest.mark.slow]

KEY = secrets.token_hex(32)
NAME = "acme/demo-GGUF"
HELD_AFTER = 256 * 1024


WHISPER = "acme/faster-whisper-tiny"


@pytest.fixture
def hub() -> Iterator[HubServer]:
    demo = (ROOT / "models/stoker-demo.gguf").read_bytes()
    speech = {file.name: file.read_bytes() for file in (ROOT / "models/stoker-whisper").iterdir()}
    repositories = {
        NAME: Repository({"demo-Q8_0.gguf": demo}),
        WHISPER: Repository({**speech, "README.md": b"Speech."}),
        "acme/checkpoints": Repository({"sd15/tiny.safetensors": b"\2\0\0\0\0\0\0\0{}", "other.ckpt": b"x"}),
    }
    with HubServer(repositories) as server:
        yield server


@pytest.fixture
def governed(tmp_path: Path, hub: HubServer) -> Iterator[Platform]:
    key = tmp_path / "model-api.key"
    key.write_text(KEY)
    key.chmod(0o600)
    local = {
        "hub": {"keep_free_mib": 0},
        "governance": {
            "models": "allow",
            "allow": {"llama_server": ["acme/*"], "whisper": ["acme/faster-whisper-*"]},
        },
        "models": {
            "stub": {"enabled": False},
            "stoker-demo": {"enabled": False},
            "painter": {
                "backend": "comfyui",
                **model_options(tmp_path, comfyui_checkpoints=None),
                "comfyui_checkpoint": "hf://acme/checkpoints/sd15/tiny.safetensors",
            },
        },
    }
    environment = {
        "CUDA_VISIBLE_DEVICES": "",
        "VERIFIED_OP_TOKEN_KEY_PATH": str(key),
        "HF_ENDPOINT": hub.url,
        "HF_HOME": str(tmp_path / "hf"),
        "STOKER_RUNTIMES_DIR": str(load_settings().runtimes_dir),
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


def load_completely(platform: Platform, model: str) -> dict[str, Any]:
    """Load a model with an opToken; returns its task when it has ended."""
    status, answer = authorized(platform, "model-load", "/v1/models/load", {"modelId": model})
    assert status == 202, answer
    ended: dict[str, Any] = platform.wait_for(
        lambda: (found := task(platform, answer["taskId"]))["status"] != "loading" and found, 120, "load"
    )
    return ended


@pytest.mark.rule("runner/whisper-load")
@pytest.mark.engines
def test_a_whisper_model_on_a_hub_is_downloaded_by_its_load_and_transcribes(governed: Platform) -> None:
    assert load_completely(governed, WHISPER)["status"] == "completed"
    assert governed.model(WHISPER)["resolved_backend"] == "whisper"
    files = {file.name for file in (governed.folder.parent / "hf").glob("hub/*whisper*/snapshots/*/*")}
    assert {"model.bin", "config.json", "tokenizer.json", "vocabulary.json"} <= files
    with governed.sdk() as sdk:
        said = sdk.audio.transcriptions.create(model=WHISPER, file=CLIPS / "en-numbers.wav")
    assert said.text


@pytest.mark.rule("runner/whisper-load")
@pytest.mark.engines
def test_a_whisper_model_on_a_hub_is_added_by_its_name(governed: Platform) -> None:
    name = "acme/faster-whisper-mine"
    status, added = governed.admin("POST", "/v1/admin/models", {"source": WHISPER, "name": name})
    assert status in (200, 202), added
    governed.wait_for(
        lambda: name in {row["name"] for row in governed.admin("GET", "/v1/admin/models")[1]["models"]},
        60,
        "the added model",
    )
    assert governed.load(name)["resolved_backend"] == "whisper"
    with governed.sdk() as sdk:
        assert sdk.audio.transcriptions.create(model=name, file=CLIPS / "en-numbers.wav").text


@pytest.mark.rule("runner/comfyui-load")
def test_a_checkpoint_on_a_hub_is_downloaded_by_a_governed_load_and_makes_images(governed: Platform) -> None:
    assert load_completely(governed, "painter")["status"] == "completed"
    files = {file.name for file in (governed.folder.parent / "hf").rglob("*") if file.is_symlink()}
    assert files == {"tiny.safetensors"}
    with governed.sdk() as sdk:
        assert sdk.images.generate(model="painter", prompt="a lighthouse").data
