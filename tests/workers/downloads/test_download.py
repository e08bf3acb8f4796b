"""Loads whose files are on a hub: the download's process, its progress, its cancellation."""

from __future__ import annotations

import random
import re
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from backends.base import CancellationToken, LoadError
from config.settings import HubSettings, ModelDefinition
from fleet.hub_cache import cache_folder
from tests.support.hub_server import HubServer, Repository, serving_hub
from workers.downloads import download
from workers.downloads.download import with_local_files

pytestmark = pytest.mark.slow

CHUNK = 1024 * 1024
"""The program writes pieces of this size."""

WEIGHTS = random.Random(1).randbytes(2 * CHUNK)
HUB = HubSettings(keep_free_mib=0)


class Reports:
    """Records what a download reports."""

    def __init__(self) -> None:
        self.all: list[tuple[float, str, float | None]] = []

    def __call__(self, done: float, stage: str, left_s: float | None) -> None:
        self.all.append((done, stage, left_s))


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[HubServer]:
    with serving_hub(
        {"acme/tiny": Repository({"config.json": b"{}", "model.safetensors": WEIGHTS})},
        tmp_path / "hf",
        monkeypatch,
    ) as server:
        yield server


def model(path: str = "hf://acme/tiny", backend: str = "vllm", **more: object) -> ModelDefinition:
    return ModelDefinition("m", backend, model_path=path, **more)  # type: ignore[arg-type]


def local_path(definition: ModelDefinition, hub: HubSettings = HUB, reports: Reports | None = None) -> Path:
    found = with_local_files(definition, hub, CancellationToken(), reports or Reports(), records=records())
    assert found.model_path is not None
    return Path(found.model_path)


def records() -> Path:
    return cache_folder().parent / "downloads"


def partial_bytes() -> int:
    return sum(path.stat().st_size for path in cache_folder().rglob("*.part"))


@pytest.mark.usefixtures("hub")
def test_a_load_downloads_what_is_missing_and_reports_its_progress() -> None:
    reports = Reports()
    folder = local_path(model("acme/tiny"), reports=reports)
    assert (folder / "model.safetensors").read_bytes() == WEIGHTS
    shares = [done for done, _, _ in reports.all]
    assert shares == sorted(shares)
    assert (shares[0], shares[-1]) == (0.0, 1.0)
    assert re.fullmatch(r"downloading: 2\.10 of 2\.10 MB, \d+\.\d MB/s", reports.all[-1][1])


def test_a_cancelled_download_continues_at_the_next_load(hub: HubServer) -> None:
    hub.hold, hub.hold_after = threading.Event(), CHUNK
    cancellation = CancellationToken()

    def cancel_when_a_part_is_written() -> None:
        while partial_bytes() < CHUNK:
            threading.Event().wait(0.01)
        cancellation.cancel()

    threading.Thread(target=cancel_when_a_part_is_written, daemon=True).start()
    with pytest.raises(LoadError) as refused:
        with_local_files(model(), HUB, cancellation, Reports(), records=records())
    assert refused.value.code == "load_cancelled"
    assert partial_bytes() == CHUNK
    hub.hold.set()
    hub.hold = None
    hub.sent.clear()
    assert (local_path(model()) / "model.safetensors").read_bytes() == WEIGHTS
    assert [first for file, first in hub.sent if file == "model.safetensors"] == [CHUNK]
    assert partial_bytes() == 0


def test_a_hub_that_sends_nothing_any_more_ends_the_download(
    hub: HubServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(download, "STALL_S", 0.5)
    hub.hold = threading.Event()
    with pytest.raises(LoadError) as refused:
        local_path(model())
    assert refused.value.code == "hub_unreachable"


def test_offline_uses_what_is_there_and_asks_nothing(hub: HubServer, monkeypatch: pytest.MonkeyPatch) -> None:
    offline = HubSettings(offline=True)
    with pytest.raises(LoadError) as refused:
        local_path(model(), offline)
    assert refused.value.code == "hub_offline"
    folder = local_path(model())
    hub.statuses += [500] * 9
    assert local_path(model(), offline) == folder
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    assert local_path(model()) == folder
    assert len(hub.statuses) == 9


@pytest.mark.parametrize("file", ["", "/model.safetensors"])
def test_a_pinned_model_that_is_there_asks_the_hub_nothing(hub: HubServer, file: str) -> None:
    definition = model(f"hf://acme/tiny@{'c' * 40}{file}")
    path = local_path(definition)
    hub.statuses += [500] * 9
    assert local_path(definition) == path
    assert len(hub.statuses) == 9


@pytest.mark.usefixtures("hub")
def test_an_unreachable_hub_leaves_what_was_downloaded_before(monkeypatch: pytest.MonkeyPatch) -> None:
    folder = local_path(model())
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    assert local_path(model()) == folder


def test_a_malformed_path_fails_the_load_with_the_forms_that_are_right() -> None:
    with pytest.raises(LoadError, match="write hf://org/name"):
        local_path(model("hf://acme/evil/../../../../evil.safetensors", "llama_server"))


@pytest.mark.usefixtures("hub")
def test_a_failure_names_the_model_and_its_code() -> None:
    with pytest.raises(LoadError, match=r"hf://acme/nosuch: .* no such model") as refused:
        local_path(model("hf://acme/nosuch"))
    assert refused.value.code == "hub_not_found"


@pytest.mark.usefixtures("hub")
def test_a_model_with_a_path_of_files_is_not_looked_for_on_a_hub() -> None:
    definition = model("/models/x.gguf", "llama_server")
    assert with_local_files(definition, HUB, CancellationToken(), Reports(), records=records()) is definition


@pytest.mark.usefixtures("hub")
def test_the_files_that_options_name_are_downloaded_as_well(hub: HubServer) -> None:
    files = {"model-Q4_K_M.gguf": WEIGHTS, "mmproj-F16.gguf": WEIGHTS[:2000]}
    hub.repositories["acme/vision"] = Repository(files)
    definition = model(
        "hf://acme/vision/model-Q4_K_M.gguf",
        "llama_server",
        options={"llama_server_mmproj": f"hf://acme/vision@{'c' * 40}/mmproj-F16.gguf"},
    )
    found = with_local_files(definition, HUB, CancellationToken(), Reports(), records=records())
    projector = Path(found.options["llama_server_mmproj"])
    assert projector.read_bytes() == files["mmproj-F16.gguf"]
    assert projector.parent == Path(str(found.model_path)).parent
