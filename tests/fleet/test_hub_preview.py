"""Looks at models on a hub: bounded in number, time and bytes."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from config.hub_artifact import HubArtifact
from fleet import hub_listing, hub_preview, hub_process
from fleet.hub_listing import HubFailed
from fleet.hub_preview import Wanted, fill, preview
from fleet.hub_process import MAX_AT_ONCE
from tests.support.hub_server import HubServer, Repository, serving_hub
from tests.support.waiting import scaled

FILES = {"config.json": b"{}", "model.safetensors": bytes(5_000_000), "tokenizer.json": b'{"x": 1}'}


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[HubServer]:
    monkeypatch.setattr(hub_listing, "BACKOFF_S", 0.0)
    with serving_hub({"acme/tiny": Repository(FILES)}, tmp_path / "hf", monkeypatch) as server:
        yield server


@pytest.mark.usefixtures("hub")
def test_a_preview_has_the_sizes_of_all_files_and_the_beginnings_of_some(tmp_path: Path) -> None:
    fill(Wanted(HubArtifact("acme/tiny")), tmp_path)
    assert {file.name: file.stat().st_size for file in tmp_path.iterdir()} == {
        name: len(data) for name, data in FILES.items()
    }
    assert (tmp_path / "config.json").read_bytes() == FILES["config.json"]
    assert (tmp_path / "tokenizer.json").read_bytes() == bytes(len(FILES["tokenizer.json"]))


def test_a_digest_changes_with_any_file(hub: HubServer, tmp_path: Path) -> None:
    first = fill(Wanted(HubArtifact("acme/tiny")), tmp_path)["digest"]
    hub.repositories["acme/tiny"] = Repository({**FILES, "tokenizer.json": b'{"x": 2}'})
    assert fill(Wanted(HubArtifact("acme/tiny")), tmp_path)["digest"] != first


def test_many_gguf_files_need_a_quantization(hub: HubServer, tmp_path: Path) -> None:
    names = [f"m-{kind}.gguf" for kind in ("Q2_K", "Q4_K_M", "Q5_K_M", "Q6_K", "Q8_0")]
    hub.repositories["acme/many"] = Repository({name: b"GGUF" + bytes(5000) for name in names})
    with pytest.raises(HubFailed, match="quantization") as refused:
        fill(Wanted(HubArtifact("acme/many")), tmp_path)
    assert refused.value.code == "hub_refused"
    fill(Wanted(HubArtifact("acme/many"), "q4_k_m"), tmp_path)
    assert [file.name for file in tmp_path.iterdir()] == ["m-Q4_K_M.gguf"]


@pytest.mark.usefixtures("hub")
def test_more_previews_than_allowed_at_once_are_refused_without_waiting(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    begun, go_ahead = threading.Semaphore(0), threading.Event()

    def wait(_module: str, _asked: object) -> dict[str, object]:
        begun.release()
        go_ahead.wait(scaled(30))
        return {"commit": "c" * 40, "digest": "d", "files": [], "choice": {}}

    monkeypatch.setattr(hub_preview, "ask", wait)

    def look() -> None:
        with preview(Wanted(HubArtifact("acme/tiny"))):
            pass

    threads = [threading.Thread(target=look) for _ in range(MAX_AT_ONCE)]
    for thread in threads:
        thread.start()
    for _ in threads:
        begun.acquire()
    with pytest.raises(HubFailed) as refused, preview(Wanted(HubArtifact("acme/tiny"))):
        pass
    assert refused.value.code == "hub_busy"
    go_ahead.set()
    for thread in threads:
        thread.join()
    with preview(Wanted(HubArtifact("acme/tiny"))) as found:
        assert found.commit == "c" * 40
    assert not found.folder.exists()


@pytest.mark.usefixtures("hub")
def test_a_hub_that_is_slow_is_left_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hub_process, "TIMEOUT_S", 0.2)
    with pytest.raises(HubFailed) as refused, preview(Wanted(HubArtifact("acme/tiny"))):
        pass
    assert refused.value.code == "hub_unreachable"
    monkeypatch.setattr(hub_process, "TIMEOUT_S", 30.0)
    with preview(Wanted(HubArtifact("acme/tiny"))) as found:
        assert found.commit == "c" * 40
