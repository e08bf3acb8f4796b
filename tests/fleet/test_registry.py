"""Registered models: from the end of their download to their removal, over unloads and restarts."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from config.hub_artifact import HubArtifact
from config.settings import Settings
from fleet.dynamic_model import MAX_DYNAMIC_MODELS, DynamicModel, Origin, dynamic_model
from fleet.errors import NoWorker, StateConflict, TooManyModels
from fleet.fleet import Fleet
from fleet.load_request import LoadOutcome, LoadRequest
from fleet.operation import Operation
from fleet.registry import MAX_OPEN
from fleet.state_changes import STREAM_START, CatalogueChange
from store.errors import UnknownModel
from tests.support.simulated_platform import SimulatedPlatform

COMMIT = "0123456789" * 4
NAME = "files/extra.gguf"
ARTIFACT = HubArtifact("owner/name", COMMIT, "extra.gguf")


@pytest.fixture
def settings(settings: Settings, tmp_path: Path) -> Settings:
    return replace(settings, model_base_path=tmp_path)


def made(settings: Settings, name: str = NAME, **configuration: Any) -> DynamicModel:
    origin = Origin("hub", "extra.gguf", "owner/name", COMMIT)
    return dynamic_model(name, {"backend": "llama_cpp", **configuration}, origin, 30, settings)


def registered(platform: SimulatedPlatform) -> list[str]:
    return [*Fleet(platform.client, platform.settings).registered.read()]


def download(platform: SimulatedPlatform, name: str = NAME, **configuration: Any) -> LoadOutcome:
    model = made(platform.settings, name, **configuration)
    return platform.fleet.registered.begin_download(model, [ARTIFACT])


def operation(platform: SimulatedPlatform, outcome: LoadOutcome) -> Operation:
    assert outcome.operation is not None
    found = platform.fleet.operation(outcome.operation.id)
    assert found is not None
    return found


def end(platform: SimulatedPlatform, outcome: LoadOutcome, *failure: str) -> None:
    (item,) = outcome.assignments
    platform.fleet.download_ended(item.replica, item.worker, failure or ("", ""))  # type: ignore[arg-type]


def revision(platform: SimulatedPlatform) -> int:
    return int(platform.client.get(f"{platform.prefix}registered_revision") or 0)  # type: ignore[arg-type]


def changes(platform: SimulatedPlatform) -> list[tuple[str, str]]:
    found = platform.fleet.state_changes.read(STREAM_START)
    return [(one.change, one.status) for one in found if isinstance(one, CatalogueChange)]


def test_a_registered_model_stays_over_its_unload_and_the_start_of_the_platform(
    platform: SimulatedPlatform,
) -> None:
    platform.fleet.registered.register(made(platform.settings, enabled=True))
    platform.finish_load(platform.fleet.load(NAME))
    platform.finish_unload(platform.fleet.unload(NAME))
    assert registered(platform) == [NAME]
    platform.fleet.reset_to_configuration()
    row = Fleet(platform.client, platform.settings).row(NAME)
    assert (str(row.state), row.definition.enabled, row.wanted) == ("unloaded", True, None)


def test_a_download_registers_its_model_when_it_has_ended_and_not_before(platform: SimulatedPlatform) -> None:
    outcome = download(platform)
    (item,) = outcome.assignments
    reply = platform.ledger.heartbeat(item.worker, platform.incarnations[item.worker])
    assert reply.file_work == (item.replica,)
    work = platform.fleet.file_work(item.worker, item.replica)
    assert work is not None
    assert (work.kind, work.artifacts) == ("download", (ARTIFACT,))
    assert work.dynamic_model(platform.settings).definition == replace(
        made(platform.settings).definition, registered=True
    )
    assert platform.fleet.download_progress(item.replica, item.worker, 0.5, "half", 10.0)
    running = operation(platform, outcome)
    assert (running.kind, str(running.status), running.progress) == ("download", "running", 0.5)
    assert running.eta_s is not None
    assert 9 < running.eta_s <= 10
    assert registered(platform) == []
    end(platform, outcome)
    assert registered(platform) == [NAME]
    assert str(operation(platform, outcome).status) == "completed"
    assert not platform.fleet.download_progress(item.replica, item.worker, 0.9, "late")
    assert platform.fleet.file_work(item.worker, item.replica) is None
    assert changes(platform) == [("download", "pending"), ("registered", ""), ("download", "completed")]
    assert str(platform.fleet.row(NAME).state) == "unloaded"


def test_a_download_that_fails_or_is_cancelled_registers_nothing(platform: SimulatedPlatform) -> None:
    failed = download(platform)
    end(platform, failed, "disk_full", "no space")
    assert (operation(platform, failed).code, registered(platform)) == ("disk_full", [])
    cancelled = download(platform)
    ended = platform.fleet.registered.cancel(operation(platform, cancelled))
    assert (str(ended.status), ended.code) == ("cancelled", "download_cancelled")
    assert platform.fleet.registered.cancel(ended) == ended
    end(platform, cancelled)  # it came too late
    assert registered(platform) == []
    with pytest.raises(StateConflict) as refused:
        platform.fleet.registered.cancel(operation(platform, failed))
    assert refused.value.code == "operation_not_cancellable"


def test_the_same_model_is_downloaded_once(platform: SimulatedPlatform) -> None:
    first = download(platform)
    again = download(platform)
    assert not again.begun
    assert again.operation is not None
    assert first.operation is not None
    assert again.operation.id == first.operation.id
    with pytest.raises(StateConflict) as refused:
        download(platform, gguf_n_ctx=512)
    assert refused.value.code == "model_changing"
    end(platform, first)
    assert download(platform) == LoadOutcome("download", None)
    with pytest.raises(StateConflict) as exists:
        download(platform, gguf_n_ctx=512)
    assert exists.value.code == "model_exists"


def test_downloads_under_way_are_bounded(platform: SimulatedPlatform) -> None:
    for index in range(MAX_OPEN):
        download(platform, f"model-{index}")
    with pytest.raises(StateConflict) as refused:
        download(platform, "one-more")
    assert refused.value.code == "too_many_downloads"
    assert {item.worker for item in download(platform, "model-0").assignments} == set()


def test_a_download_goes_to_a_worker_of_the_models_device_and_then_to_another(
    platform: SimulatedPlatform,
) -> None:
    with pytest.raises(NoWorker):
        download(platform, device="cuda:7")
    outcome = download(platform)
    (item,) = outcome.assignments
    other = {"w1": "w2", "w2": "w1"}[item.worker]
    assert platform.fleet.registered.resume() == []
    platform.fleet.registry.deregister(item.worker, platform.incarnations[item.worker], "gone")
    (resumed,) = platform.fleet.registered.resume()
    assert [one.worker for one in resumed.assignments] == [other]
    assert not platform.fleet.download_progress(item.replica, item.worker, 0.5, "old worker")
    platform.fleet.download_ended(item.replica, item.worker)
    assert registered(platform) == []
    platform.fleet.download_ended(item.replica, other)
    assert registered(platform) == [NAME]


def test_a_registered_definition_is_replaced_only_while_it_is_not_loaded(platform: SimulatedPlatform) -> None:
    registry = platform.fleet.registered
    registry.register(made(platform.settings))
    before = revision(platform)
    registry.register(made(platform.settings))  # the same again
    assert revision(platform) == before
    changed = made(platform.settings, gguf_n_ctx=512)
    with pytest.raises(StateConflict) as refused:
        registry.register(changed)
    assert refused.value.code == "model_exists"
    loaded = platform.fleet.load(NAME)
    with pytest.raises(StateConflict, match="loading"):
        registry.register(changed, replace=True)
    platform.finish_load(loaded)
    platform.finish_unload(platform.fleet.unload(NAME))
    registry.register(changed, replace=True)
    assert platform.fleet.row(NAME).definition.options["gguf_n_ctx"] == 512
    assert revision(platform) > before


def test_a_removal_takes_the_model_away_at_once_and_ends_with_its_last_worker(
    platform: SimulatedPlatform,
) -> None:
    registry = platform.fleet.registered
    registry.register(made(platform.settings))
    loaded = platform.fleet.load(NAME)
    with pytest.raises(StateConflict, match="unload it first"):
        registry.begin_removal(NAME)
    platform.finish_load(loaded)
    platform.finish_unload(platform.fleet.unload(NAME))
    outcome = registry.begin_removal(NAME)
    assert registered(platform) == []
    with pytest.raises(UnknownModel):
        platform.fleet.row(NAME)
    with pytest.raises(StateConflict) as refused:
        registry.register(made(platform.settings))
    assert refused.value.code == "model_changing"
    for item, size in zip(outcome.assignments, (10, 0), strict=True):
        work = platform.fleet.file_work(item.worker, item.replica)
        assert work is not None
        assert work.artifacts == (ARTIFACT,)
        platform.fleet.removal_ended(item.replica, item.worker, int(size > 0), size)
    ended = operation(platform, outcome)
    assert (str(ended.status), ended.entries, ended.deleted_bytes) == ("completed", 1, 10)
    registry.register(made(platform.settings))


def test_a_removal_does_not_wait_for_a_worker_that_does_not_run_but_leaves_it_the_work(
    platform: SimulatedPlatform,
) -> None:
    registry = platform.fleet.registered
    registry.register(made(platform.settings))
    outcome = registry.begin_removal(NAME)
    first, second = outcome.assignments
    platform.fleet.removal_ended(first.replica, first.worker, 1, 10)
    platform.fleet.registry.deregister(second.worker, platform.incarnations[second.worker], "gone")
    registry.resume()
    assert str(operation(platform, outcome).status) == "running"
    platform.ledger.scripts.offset_us += 61_000_000
    platform.fleet.scripts.offset_us += 61_000_000
    registry.resume()
    ended = operation(platform, outcome)
    assert str(ended.status) == "completed"
    assert "does not run" in (ended.reason or "")
    assert platform.fleet.file_work(second.worker, second.replica) is not None
    platform.fleet.removal_ended(second.replica, second.worker)
    assert platform.fleet.file_work(second.worker, second.replica) is None


def test_a_model_that_this_host_cannot_use_is_removed_and_frees_its_name(
    platform: SimulatedPlatform, caplog: pytest.LogCaptureFixture
) -> None:
    registry = platform.fleet.registered
    registry.register(made(platform.settings))
    edited = made(platform.settings).to_json().replace(b'"llama_cpp"', b'"dropped"')
    edited = edited.replace(b"{", b'{"kept":true,', 1)
    stored: Any = platform.client.hset
    stored(f"{platform.prefix}dynamic_models", NAME, edited)
    platform.client.set(f"{platform.prefix}dynamic_models_version", "edited")
    assert registry.read() == {}
    assert "dropped" in platform.fleet.catalogue.unreadable[NAME].problem
    assert f"stoker models remove {NAME}` removes it" in caplog.text
    before = revision(platform)
    outcome = registry.begin_removal(NAME)
    assert outcome.assignments == (), "its files are not known"
    assert str(operation(platform, outcome).status) == "completed"
    assert revision(platform) > before
    assert platform.fleet.catalogue.unreadable == {}
    with pytest.raises(UnknownModel):
        registry.begin_removal(NAME)
    registry.register(made(platform.settings))


def test_a_name_of_the_configuration_is_not_added_or_removed(platform: SimulatedPlatform) -> None:
    with pytest.raises(StateConflict) as added:
        platform.fleet.registered.register(made(platform.settings, "alpha"))
    with pytest.raises(StateConflict) as removed:
        platform.fleet.registered.begin_removal("alpha")
    assert (added.value.code, removed.value.code) == ("set_by_configuration", "set_by_configuration")
    with pytest.raises(UnknownModel):
        platform.fleet.registered.begin_removal("unheard-of")


def test_names_that_are_only_downloaded_do_not_make_the_counters_grow_without_end(
    platform: SimulatedPlatform,
) -> None:
    for index in range(205):
        end(platform, download(platform, f"model-{index}"), "hub_not_found", "no such model")
    counters: dict[bytes, bytes] = platform.client.hgetall(f"{platform.prefix}counters")  # type: ignore[assignment]
    failed = {field: int(value) for field, value in counters.items() if b"operations download" in field}
    assert len(failed) == 201
    assert failed[b"operations download other failed"] == 5
    assert platform.client.ttl(f"{platform.prefix}model:model-204") > 0


def test_registered_models_do_not_count_as_models_that_only_a_load_defined(
    platform: SimulatedPlatform,
) -> None:
    platform.fleet.registered.register(made(platform.settings))
    for index in range(MAX_DYNAMIC_MODELS):
        model = made(platform.settings, f"model-{index}")
        assert platform.fleet.load(model.definition.name, LoadRequest(dynamic=model)).begun
    one_more = made(platform.settings, "one-more")
    with pytest.raises(TooManyModels):
        platform.fleet.load("one-more", LoadRequest(dynamic=one_more))


def test_a_load_does_not_define_a_registered_model_anew(platform: SimulatedPlatform) -> None:
    platform.fleet.registered.register(made(platform.settings))
    with pytest.raises(StateConflict, match="registered a moment ago"):
        platform.fleet.load(NAME, LoadRequest(dynamic=made(platform.settings, gguf_n_ctx=512)))
    assert platform.fleet.row(NAME).definition.registered


def test_registered_models_are_bounded_with_those_that_are_downloaded(
    platform: SimulatedPlatform, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fleet.registry.MAX_REGISTERED", 2)
    platform.fleet.registered.register(made(platform.settings))
    download(platform, "second")
    with pytest.raises(TooManyModels):
        platform.fleet.registered.register(made(platform.settings, "third"))
    with pytest.raises(TooManyModels):
        download(platform, "third")
