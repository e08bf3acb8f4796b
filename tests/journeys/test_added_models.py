"""Models that are added while the platform runs: downloaded, registered, loaded, kept, removed."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from config.settings import ROOT
from tests.support.hub_server import HubServer, Repository
from tests.support.platform import Platform, running_platform

pytestmark = [pytest.mark.journey, pytest.mark.slow]

SOURCE = "acme/demo-GGUF"
CHUNK = 1024 * 1024
"""The program that downloads writes pieces of this size."""
DEMO = (ROOT / "models/stoker-demo.gguf").read_bytes()


@pytest.fixture
def hub() -> Iterator[HubServer]:
    files = {"demo-Q8_0.gguf": DEMO, "demo-Q4_K_M.gguf": DEMO + bytes(2 * CHUNK)}
    with HubServer({SOURCE: Repository(files)}) as server:
        yield server


def started(tmp_path: Path, hub: HubServer) -> Any:
    local = {
        "hub": {"keep_free_mib": 0},
        "models": {"stub": {"enabled": False}, "stoker-demo": {"enabled": False}},
    }
    environment = {"CUDA_VISIBLE_DEVICES": "", "HF_ENDPOINT": hub.url, "HF_HOME": str(tmp_path / "hf")}
    return running_platform(tmp_path / "up", local, "--port", "0", "--no-flower", environment=environment)


def ended(platform: Platform, operation: dict[str, Any]) -> dict[str, Any]:
    def look() -> dict[str, Any] | None:
        _, found = platform.admin("GET", f"/v1/admin/operations/{operation['id']}")
        return found if found["finished_at"] else None

    found: dict[str, Any] = platform.wait_for(look, 60, "end of the operation")
    return found


def names(platform: Platform) -> dict[str, bool]:
    _, answer = platform.admin("GET", "/v1/admin/models")
    return {row["name"]: row["registered"] for row in answer["models"]}


def cached(tmp_path: Path) -> list[str]:
    found = (path.relative_to(tmp_path / "hf") for path in (tmp_path / "hf").rglob("*"))
    return sorted(path.name for path in found if (tmp_path / "hf" / path).is_file())


def stored(tmp_path: Path) -> list[str]:
    path = tmp_path / "up/data/models.json"
    return [*json.loads(path.read_text())["models"]] if path.exists() else []


def part_bytes(tmp_path: Path) -> int:
    return sum(path.stat().st_size for path in (tmp_path / "hf").rglob("*.part"))


def test_a_model_is_added_with_its_files_survives_a_restart_and_is_removed_with_them(
    tmp_path: Path, hub: HubServer
) -> None:
    body = {"source": f"{SOURCE}:Q8_0", "name": "demo", "configuration": {"enabled": True}}
    with started(tmp_path, hub) as platform:
        hub.hold, hub.hold_after = threading.Event(), CHUNK // 4
        status, plan = platform.admin("POST", "/v1/admin/models/plan", body)
        assert status == 200, plan
        assert (plan["model"], plan["download_bytes"]) == ("demo", len(DEMO))
        status, answer = platform.admin("POST", "/v1/admin/models", body)
        assert (status, answer["operation"]["kind"]) == (202, "download"), answer
        status, again = platform.admin("POST", "/v1/admin/models", body)
        assert (status, again["operation"]["id"]) == (202, answer["operation"]["id"])
        platform.wait_for(lambda: any((tmp_path / "hf").rglob("*.part")), 20, "a part")
        assert "demo" not in names(platform)
        hub.hold.set()
        assert ended(platform, answer["operation"])["status"] == "completed"
        assert names(platform)["demo"]
        platform.wait_state("demo", "loaded", 60)
        status, response = platform.respond("demo", "Hi", max_output_tokens=8)
        assert status == 200, response
        status, refused = platform.admin("DELETE", "/v1/admin/models/demo")
        assert (status, refused["error"]["code"]) == (409, "model_busy")
        platform.wait_for(lambda: stored(tmp_path) == ["demo"], 10, "the file")
    with started(tmp_path, hub) as platform:
        assert names(platform)["demo"]
        platform.wait_state("demo", "loaded", 60)
        platform.run_operation("unload", "demo")
        status, answer = platform.admin("DELETE", "/v1/admin/models/demo")
        assert (status, answer["operation"]["kind"]) == (202, "remove"), answer
        result = ended(platform, answer["operation"])["result"]
        assert (result["entries_removed"], result["deleted_bytes"]) == (1, len(DEMO))
        assert "demo" not in names(platform)
        assert cached(tmp_path) == []
        platform.wait_for(lambda: stored(tmp_path) == [], 10, "the file")


def test_a_cancelled_download_registers_nothing_and_continues_when_it_is_added_again(
    tmp_path: Path, hub: HubServer
) -> None:
    body = {"source": f"{SOURCE}:Q4_K_M"}
    hub.hold, hub.hold_after = threading.Event(), CHUNK
    with started(tmp_path, hub) as platform:
        _, answer = platform.admin("POST", "/v1/admin/models", body)
        platform.wait_for(lambda: part_bytes(tmp_path) >= CHUNK, 20, "a part")
        status, cancelled = platform.admin("DELETE", f"/v1/admin/operations/{answer['operation']['id']}")
        assert (status, cancelled["operation"]["status"]) == (200, "cancelled")
        assert answer["model"] not in names(platform)
        hub.sent.clear()
        _, answer = platform.admin("POST", "/v1/admin/models", body)
        # the first program has to end before the second one gets its lock
        platform.wait_for(lambda: [first for _, first in hub.sent if first > 0], 30, "the second request")
        hub.hold.set()
        assert ended(platform, answer["operation"])["status"] == "completed"
        assert names(platform)[answer["model"]]
