"""llama-server's router over a running platform: loads, downloads, removals, presets, and their events."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from config.settings import ROOT
from tests.support.hub_server import HubServer, Repository
from tests.support.platform import Platform, running_platform
from tests.support.resumed_streams import answering
from tests.support.waiting import scaled, wait_until
from workers.downloads.program import CHUNK_BYTES

pytestmark = [pytest.mark.journey, pytest.mark.timeout(180), pytest.mark.slow]

DEMO = ROOT / "models" / "stoker-demo.gguf"
NAME, OTHER = "acme/demo-GGUF:Q8_0", "acme/held-GGUF:Q8_0"
HELD_AFTER = 2 * CHUNK_BYTES


@pytest.fixture(scope="module")
def hub() -> Iterator[HubServer]:
    demo = DEMO.read_bytes() + bytes(4 * CHUNK_BYTES)  # of several chunks, each of which is progress
    repositories = {
        "acme/demo-GGUF": Repository({"demo-Q8_0.gguf": demo}),
        "acme/held-GGUF": Repository({"held-Q8_0.gguf": demo + b"x"}),
    }
    with HubServer(repositories) as server:
        yield server


@pytest.fixture(scope="module")
def presets(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("presets") / "models.ini"
    path.write_text(f"[*]\nc = 512\n[from-file]\nmodel = {DEMO}\n")
    return path


@pytest.fixture(scope="module")
def platform(tmp_path_factory: pytest.TempPathFactory, hub: HubServer, presets: Path) -> Iterator[Platform]:
    folder = tmp_path_factory.mktemp("up")
    local = {
        "hub": {"keep_free_mib": 0},
        "models_preset": str(presets),
        "models": {"stoker-demo": {"enabled": False}, "stub": {"enabled": False}},
    }
    environment = {
        "CUDA_VISIBLE_DEVICES": "",
        "HF_ENDPOINT": hub.url,
        "HF_HOME": str(folder / "hf"),
    }
    options = ("--port", "0", "--no-flower")
    with running_platform(folder, local, *options, environment=environment) as platform:
        yield platform


def ask(platform: Platform, method: str, path: str, body: object = None) -> tuple[int, Any]:
    return platform.admin(method, path, body)


def listed(platform: Platform, query: str = "") -> dict[str, Any]:
    status, body = ask(platform, "GET", f"/models{query}")
    assert status == 200, body
    return {one["id"]: one["status"] for one in body["data"]}


class Events:
    """The events that a client of /models/sse has received."""

    def __init__(self) -> None:
        self.received: list[dict[str, Any]] = []

    def named(self, event: str, model: str) -> list[dict[str, Any]]:
        return [one for one in list(self.received) if (one["event"], one["model"]) == (event, model)]

    def wait(self, event: str, model: str) -> None:
        wait_until(lambda: self.named(event, model), 30)


def statuses(events: Events, model: str) -> list[str]:
    return [one["data"]["status"] for one in events.named("model_status", model)]


@contextmanager
def following(platform: Platform) -> Iterator[Events]:
    events, ready, left = Events(), threading.Event(), threading.Event()
    host = platform.url.removeprefix("http://")
    headers = {"Authorization": f"Bearer {platform.keys['admin_key']}"}

    def read() -> None:
        with answering(host, "GET", "/models/sse", None, headers) as answer:
            while not left.is_set() and (line := answer.readline()):
                ready.set()  # the first line is a comment
                if line.startswith(b"data: "):
                    events.received.append(json.loads(line.removeprefix(b"data: ")))

    thread = threading.Thread(target=read, daemon=True)
    thread.start()
    assert ready.wait(scaled(20))
    yield events
    left.set()


@pytest.mark.rule("llama-server/router-load", "llama-server/router-events")
def test_a_model_is_loaded_and_unloaded_with_events(platform: Platform) -> None:
    with following(platform) as events:
        assert ask(platform, "POST", "/models/load", {"model": "stub"}) == (200, {"success": True})
        wait_until(lambda: listed(platform)["stub"]["value"] == "loaded", 30)
        assert ask(platform, "POST", "/models/unload", {"model": "stub"}) == (200, {"success": True})
        wait_until(lambda: listed(platform)["stub"]["value"] == "unloaded", 30)
        wait_until(lambda: "unloaded" in statuses(events, "stub"), 30)
        # a status comes again with the progress of its operation
        assert list(dict.fromkeys(statuses(events, "stub"))) == ["loading", "loaded", "unloaded"]


@pytest.mark.rule("llama-server/router-add", "llama-server/router-events")
def test_a_model_is_downloaded_and_removed_with_events(platform: Platform, hub: HubServer) -> None:
    hub.hold, hub.hold_after = threading.Event(), HELD_AFTER
    with following(platform) as events:
        assert ask(platform, "POST", "/models", {"model": NAME}) == (200, {"success": True})
        events.wait("download_progress", NAME)
        assert listed(platform)[NAME]["value"] == "downloading"
        assert ask(platform, "POST", "/models", {"model": NAME})[0] == 400
        hub.hold.set()
        events.wait("download_finished", NAME)
        events.wait("models_reload", "*")
        assert listed(platform)[NAME]["value"] == "unloaded"
        assert ask(platform, "DELETE", f"/models?model={NAME}") == (200, {"success": True})
        events.wait("model_remove", NAME)
    assert NAME not in listed(platform)
    (address,) = events.named("download_progress", NAME)[0]["data"]
    assert address.startswith("hf://acme/demo-GGUF@")


@pytest.mark.rule("llama-server/router-add")
def test_an_unload_cancels_a_download(platform: Platform, hub: HubServer) -> None:
    hub.hold, hub.hold_after = threading.Event(), HELD_AFTER
    with following(platform) as events:
        ask(platform, "POST", "/models", {"model": OTHER})
        events.wait("download_progress", OTHER)
        assert ask(platform, "POST", "/models/unload", {"model": OTHER}) == (200, {"success": True})
        events.wait("download_failed", OTHER)
    hub.hold.set()
    assert OTHER not in listed(platform)


@pytest.mark.rule("llama-server/presets", "llama-server/router-reload")
def test_the_models_of_a_presets_file_follow_it(platform: Platform, presets: Path) -> None:
    wait_until(lambda: "from-file" in listed(platform), 20)
    presets.write_text(f"[new]\nmodel = {DEMO}\nc = 256\n")
    names = listed(platform, "?reload=1")
    assert ("from-file" in names, "new" in names) == (False, True)
    assert "new" in names
    status, model = platform.admin("GET", "/v1/admin/models/new")
    assert (status, model["definition"]["model_path"].endswith(DEMO.name)) == (200, True)


@pytest.mark.rule("llama-server/router-autoload")
def test_a_request_decides_whether_its_model_is_loaded(platform: Platform) -> None:
    body = {"model": "stub", "input": "/stub tokens=3", "store": False}
    wait_until(lambda: listed(platform)["stub"]["value"] == "unloaded", 30)
    path = "/v1/responses?autoload="
    admin_key = platform.keys["admin_key"]
    assert platform.call("POST", path + "false", body, admin_key)[0] == 409
    assert platform.call("POST", path + "true", body)[0] == 409  # the tenant may not load models
    status, answer = platform.call("POST", path + "true", body, admin_key)
    assert (status, answer["status"]) == (200, "completed"), answer
    assert listed(platform)["stub"]["value"] == "loaded"
