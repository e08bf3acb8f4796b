"""Twenty kills during downloads and removals: nothing is half-registered, left behind or stuck."""

from __future__ import annotations

import json
import os
import random
import signal
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from config.settings import ROOT
from tests.support.hub_server import HubServer, Repository
from tests.support.platform import Platform, running_platform

pytestmark = [pytest.mark.journey, pytest.mark.hostile, pytest.mark.timeout(420)]

KILLS = 20
MODELS = 5
CHUNK = 1024 * 1024
DEMO = (ROOT / "models/stoker-demo.gguf").read_bytes()
VICTIMS = ("stoker worker", "stoker api", "valkey-server", "redis-server", "workers.downloads.program")


def test_kills_during_downloads_and_removals_leave_nothing_behind(tmp_path: Path) -> None:
    drawn = random.Random(30)
    files = {f"m{number}-Q8_0.gguf": DEMO + drawn.randbytes(3 * CHUNK) for number in range(MODELS)}
    repositories = {
        f"acme/m{number}-GGUF": Repository({name: files[name]}) for number, name in enumerate(files)
    }
    with HubServer(repositories) as hub, started(tmp_path, hub) as platform:
        for _ in range(KILLS):
            name = f"m{drawn.randrange(MODELS)}"
            if name in names(platform):
                patiently(platform, "DELETE", f"/v1/admin/models/{name}")
                time.sleep(drawn.uniform(0, 0.3))
                kill(platform, drawn)
            else:
                hub.hold, hub.hold_after = threading.Event(), drawn.choice((CHUNK, 2 * CHUNK))
                patiently(platform, "POST", "/v1/admin/models", {"source": f"acme/{name}-GGUF", "name": name})
                time.sleep(drawn.uniform(0, 1.0))
                kill(platform, drawn)
                time.sleep(drawn.uniform(0, 1.0))
                hub.hold.set()
            if drawn.random() < 0.5:
                settle(platform)
        settle(platform)
        found = names(platform)
        platform.wait_for(lambda: stored(tmp_path) == found, 20, "the same models in the file")
        assert registered_in_redis(platform) == found
        for name in (f"m{number}" for number in range(MODELS)):  # continues what was given up
            if name not in found:
                patiently(platform, "POST", "/v1/admin/models", {"source": f"acme/{name}-GGUF", "name": name})
        settle(platform)
        assert names(platform) == {f"m{number}" for number in range(MODELS)}
        assert sorted(contents(tmp_path)) == sorted(files.values())
        for name in names(platform):
            patiently(platform, "DELETE", f"/v1/admin/models/{name}")
        settle(platform)
        assert names(platform) == set()
        assert contents(tmp_path) == []
        keys = platform.redis().keys("{stoker}:file_*")
        assert keys == [], "no work is left"


def started(tmp_path: Path, hub: HubServer) -> Any:
    local = {
        "hub": {"keep_free_mib": 0},
        "lease": {"lease_ms": 3000},
        "models": {"stub": {"enabled": False}, "stoker-demo": {"enabled": False}},
    }
    environment = {"CUDA_VISIBLE_DEVICES": "", "HF_ENDPOINT": hub.url, "HF_HOME": str(tmp_path / "hf")}
    return running_platform(tmp_path / "up", local, "--port", "0", "--no-flower", environment=environment)


def kill(platform: Platform, drawn: random.Random) -> None:
    """Kill one of the platform's processes."""
    running = [pids for part in VICTIMS if (pids := platform.pids(part))]
    with suppress(ProcessLookupError):
        os.kill(drawn.choice(drawn.choice(running)), signal.SIGKILL)


def patiently(platform: Platform, method: str, path: str, body: object = None) -> Any:
    """The answer to a request that is repeated until it was taken, or was taken before."""

    def call() -> Any:
        with suppress(OSError, ValueError):
            status, answer = platform.admin(method, path, body)
            if status < 300 or (method == "DELETE" and status == 404):
                return answer or True
            assert status in (409, 503), answer
        time.sleep(0.2)
        return None

    return platform.wait_for(call, 60, f"{method} {path}")


def settle(platform: Platform) -> None:
    """Wait until no download or removal is under way."""

    def ended() -> bool:
        with suppress(OSError, ValueError):
            status, answer = platform.admin("GET", "/v1/admin/operations?status=open")
            return status == 200 and answer["data"] == [] and not answer["has_more"]
        return False

    platform.wait_for(ended, 90, "end of all operations")


def names(platform: Platform) -> set[str]:
    answer = patiently(platform, "GET", "/v1/admin/models")
    return {row["name"] for row in answer["models"] if row["registered"]}


def registered_in_redis(platform: Platform) -> set[str]:
    members = platform.redis().smembers("{stoker}:registered_models")
    return {name.decode() for name in members}  # type: ignore[union-attr]


def stored(tmp_path: Path) -> set[str]:
    path = tmp_path / "up/data/models.json"
    return {*json.loads(path.read_text())["models"]} if path.exists() else set()


def contents(tmp_path: Path) -> list[bytes]:
    """What is in the cache's files, without their names in snapshots; locks are empty."""
    found = (tmp_path / "hf/hub").rglob("*")
    return [
        path.read_bytes()
        for path in found
        if path.is_file() and not path.is_symlink() and path.stat().st_size
    ]
