"""Downloads and removals of a worker, with the program that downloads, a hub, and a real Redis."""

from __future__ import annotations

import random
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import redis

from config.hub_artifact import HubArtifact
from config.settings import HubSettings, Settings
from fleet.dynamic_model import Origin, dynamic_model
from fleet.hub_cache import cache_folder, cached_path
from fleet.load_request import LoadOutcome
from fleet.operation import Operation
from tests.support.hub_server import HubServer, Repository, serving_hub
from tests.support.simulated_platform import SimulatedPlatform
from tests.support.waiting import wait_until
from workers.file_operations import FileOperations

CHUNK = 1024 * 1024
COMMIT = "c" * 40
FILES = {f"{name}.gguf": random.Random(name).randbytes(2 * CHUNK) for name in ("one", "two")}


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[HubServer]:
    with serving_hub({"acme/many": Repository(FILES)}, tmp_path / "hf", monkeypatch) as server:
        yield server


@pytest.fixture
def platform(client: redis.Redis, settings: Settings, tmp_path: Path) -> SimulatedPlatform:
    settings = replace(settings, hub=HubSettings(keep_free_mib=0), data_dir=tmp_path / "data")
    platform = SimulatedPlatform(client, settings)
    platform.register("w1")
    return platform


@pytest.fixture
def files(platform: SimulatedPlatform) -> Iterator[FileOperations]:
    files = FileOperations("w1", platform.settings, platform.fleet)
    yield files
    files.stop()


def artifact(name: str) -> HubArtifact:
    return HubArtifact("acme/many", COMMIT, f"{name}.gguf")


def begun(platform: SimulatedPlatform, name: str = "one") -> str:
    origin = Origin("hub", f"{name}.gguf", "acme/many", COMMIT)
    model = dynamic_model(name, {"backend": "llama_cpp"}, origin, 2, platform.settings)
    return operation_of(platform.fleet.registered.begin_download(model, [artifact(name)]))


def operation_of(outcome: LoadOutcome) -> str:
    assert outcome.operation is not None
    return outcome.operation.id


def operation(platform: SimulatedPlatform, id: str) -> Operation:
    found = platform.fleet.operation(id)
    assert found is not None
    return found


def part_bytes() -> int:
    return sum(path.stat().st_size for path in cache_folder().rglob("*.part"))


@pytest.mark.usefixtures("hub")
def test_a_heartbeat_begins_a_download_whose_message_was_lost(
    platform: SimulatedPlatform, files: FileOperations
) -> None:
    id = begun(platform)
    reply = platform.ledger.heartbeat("w1", platform.incarnations["w1"])
    assert reply.file_work == (id,)
    files.reconcile(reply.file_work, 2.0)
    files.begin(id)  # the message comes after all
    wait_until(lambda: str(operation(platform, id).status) == "completed", 20)
    assert [*platform.fleet.registered.read()] == ["one"]
    path = cached_path(artifact("one"))
    assert path is not None
    assert path.read_bytes() == FILES["one.gguf"]


def test_a_worker_that_stops_leaves_its_part_to_the_next_one(
    platform: SimulatedPlatform, files: FileOperations, hub: HubServer
) -> None:
    hub.hold, hub.hold_after = threading.Event(), CHUNK
    id = begun(platform)
    files.begin(id)
    wait_until(lambda: part_bytes() == CHUNK, 20)
    files.stop()
    assert files.begin(id) == "already here"
    assert str(operation(platform, id).status) == "running"
    platform.fleet.registry.deregister("w1", platform.incarnations["w1"], "stopped")
    platform.register("w2")
    (outcome,) = platform.fleet.registered.resume()
    assert [(item.replica, item.worker) for item in outcome.assignments] == [(id, "w2")]
    hub.hold.set()
    hub.sent.clear()
    second = FileOperations("w2", platform.settings, platform.fleet)
    second.begin(id)
    wait_until(lambda: str(operation(platform, id).status) == "completed", 20)
    assert hub.sent == [("one.gguf", CHUNK)]


def test_a_download_that_a_heartbeat_does_not_list_any_more_ends(
    platform: SimulatedPlatform, files: FileOperations, hub: HubServer
) -> None:
    hub.hold, hub.hold_after = threading.Event(), CHUNK
    id = begun(platform)
    files.begin(id)
    wait_until(lambda: part_bytes() == CHUNK, 20)
    platform.fleet.registered.cancel(operation(platform, id))
    files.reconcile((), 1000.0)  # the reply may be older than the begin
    files.reconcile((), 0.0)
    wait_until(lambda: files.begin(id) == "begun", 20)
    assert [*platform.fleet.registered.read()] == []
    assert part_bytes() == CHUNK


def test_a_failure_of_the_hub_is_that_of_the_operation(
    platform: SimulatedPlatform, files: FileOperations, hub: HubServer
) -> None:
    del hub.repositories["acme/many"]
    id = begun(platform)
    files.begin(id)
    wait_until(lambda: operation(platform, id).finished_at is not None, 20)
    assert operation(platform, id).code == "hub_not_found"
    assert [*platform.fleet.registered.read()] == []


@pytest.mark.usefixtures("hub")
def test_a_removal_spares_what_another_model_and_a_download_use(
    platform: SimulatedPlatform, files: FileOperations
) -> None:
    for name in ("one", "two"):
        id = begun(platform, name)
        files.begin(id)
        wait_until(lambda id=id: operation(platform, id).finished_at is not None, 20)  # type: ignore[misc]
    model = dynamic_model(
        "same", {"backend": "llama_cpp"}, Origin("hub", "one.gguf", "acme/many", COMMIT), 2, platform.settings
    )
    platform.fleet.registered.begin_download(model, [artifact("one")])
    for name, kept in (("one", True), ("two", False)):
        id = operation_of(platform.fleet.registered.begin_removal(name))
        files.begin(id)
        wait_until(lambda id=id: operation(platform, id).finished_at is not None, 20)  # type: ignore[misc]
        assert (cached_path(artifact(name)) is not None) == kept
        assert (operation(platform, id).entries == 0) == kept


def test_the_work_of_another_version_fails(platform: SimulatedPlatform, files: FileOperations) -> None:
    id = begun(platform)
    platform.client.hset(f"{platform.prefix}file_work:w1", id, b'{"kind": "later"}')
    files.begin(id)
    wait_until(lambda: operation(platform, id).finished_at is not None, 20)
    assert operation(platform, id).code == "load_failed"
