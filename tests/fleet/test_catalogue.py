"""Dynamic models: from the load that defines them to the end of their unload, as every process sees them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import redis

from config.settings import GovernanceSettings, ModelDefinition, Settings
from fleet.catalogue import ModelCatalogue
from fleet.dynamic_model import MAX_DYNAMIC_MODELS, DynamicModel, Origin, dynamic_model, is_name
from fleet.errors import InsufficientMemory, InvalidLoadRequest, TooManyModels
from fleet.fleet import Fleet
from fleet.load_request import LoadRequest
from store.errors import StorageUnavailable, UnknownModel
from tests.conftest import free_port
from tests.support.simulated_platform import SimulatedPlatform

NAME = "files/extra.gguf"


@pytest.fixture
def settings(settings: Settings, tmp_path: Path) -> Settings:
    allowed = GovernanceSettings(models="allow", allow={"llama_cpp": ("*",)})
    return replace(settings, model_base_path=tmp_path, governance=allowed)


def made(settings: Settings, name: str = NAME, **configuration: Any) -> DynamicModel:
    return dynamic_model(name, {"backend": "llama_cpp", **configuration}, Origin("path", name), 30, settings)


def other_process(platform: SimulatedPlatform) -> Fleet:
    return Fleet(platform.client, platform.settings)


def load(platform: SimulatedPlatform, model: DynamicModel | None = None, *, up: bool = True) -> None:
    model = model or made(platform.settings)
    outcome = platform.fleet.load(model.definition.name, LoadRequest(dynamic=model))
    assert outcome.begun
    if up:
        platform.finish_load(outcome)


def version(platform: SimulatedPlatform) -> bytes | None:
    return platform.client.get(f"{platform.prefix}dynamic_models_version")  # type: ignore[return-value]


def test_a_load_adds_its_model_to_the_catalogue_of_every_process_when_it_begins(
    platform: SimulatedPlatform,
) -> None:
    other = other_process(platform)
    assert NAME not in [row.name for row in other.rows()]
    load(platform, up=False)
    row = other.row(NAME)
    assert (str(row.state), row.artifact_mib) == ("loading", 30)
    assert row.definition == made(platform.settings).definition
    assert row.definition.model_path == str(platform.settings.model_base_path / NAME)  # type: ignore[operator]
    assert row.definition.origin == {"kind": "path", "file": NAME}
    assert [model.name for model in other.summaries()] == [*platform.settings.models, NAME]


def test_an_unload_removes_the_model_when_its_last_replica_has_ended(platform: SimulatedPlatform) -> None:
    load(platform)
    other = other_process(platform)
    outcome = other.unload(NAME)
    assert str(other.row(NAME).state) == "unloading"
    platform.finish_unload(outcome)
    for fleet in (platform.fleet, other):
        with pytest.raises(UnknownModel):
            fleet.row(NAME)
    assert 0 < platform.client.ttl(f"{platform.prefix}model:{NAME}") <= 86_400
    assert outcome.operation is not None
    ended = other.operation(outcome.operation.id)
    assert ended is not None
    assert str(ended.status) == "completed"


def test_a_model_that_was_removed_is_loaded_again_with_what_was_measured_of_it(
    platform: SimulatedPlatform,
) -> None:
    outcome = platform.fleet.load(NAME, LoadRequest(dynamic=made(platform.settings)))
    platform.finish_load(outcome, memory_mib=44)
    platform.finish_unload(platform.fleet.unload(NAME))
    load(platform)
    assert platform.fleet.row(NAME).observed_mib == 44
    assert platform.client.ttl(f"{platform.prefix}model:{NAME}") == -1


def test_a_model_whose_load_failed_stays_until_it_is_unloaded(platform: SimulatedPlatform) -> None:
    outcome = platform.fleet.load(NAME, LoadRequest(dynamic=made(platform.settings)))
    (item,) = outcome.assignments
    platform.starting(item.replica, item.worker)
    platform.crash(item.replica, item.worker, "load_failed")
    row = other_process(platform).row(NAME)
    assert (str(row.state), row.code) == ("failed", "load_failed")
    assert not platform.fleet.unload(NAME).assignments
    with pytest.raises(UnknownModel):
        other_process(platform).row(NAME)


def test_a_failed_model_is_loaded_again_from_another_definition(platform: SimulatedPlatform) -> None:
    outcome = platform.fleet.load(NAME, LoadRequest(dynamic=made(platform.settings)))
    (item,) = outcome.assignments
    platform.starting(item.replica, item.worker)
    platform.crash(item.replica, item.worker, "load_failed")
    load(platform, made(platform.settings, gguf_n_ctx=512))
    assert other_process(platform).row(NAME).definition.options["gguf_n_ctx"] == 512


def test_a_loaded_model_is_not_replaced_by_another_definition(platform: SimulatedPlatform) -> None:
    load(platform)
    same = platform.fleet.load(NAME, LoadRequest(dynamic=made(platform.settings)))
    assert not same.begun
    with pytest.raises(InvalidLoadRequest, match="another definition") as refused:
        platform.fleet.load(NAME, LoadRequest(dynamic=made(platform.settings, gguf_n_ctx=512)))
    assert refused.value.param == "modelId"


def test_a_refused_load_adds_nothing(platform: SimulatedPlatform) -> None:
    for worker in ("w1", "w2"):
        platform.report_memory(worker, 20)
    with pytest.raises(InsufficientMemory):
        load(platform)
    assert version(platform) is None
    with pytest.raises(UnknownModel):
        platform.fleet.row(NAME)


def test_the_number_of_dynamic_models_is_bounded(platform: SimulatedPlatform) -> None:
    for number in range(MAX_DYNAMIC_MODELS):
        load(platform, made(platform.settings, f"m{number}.gguf"), up=False)
    before = version(platform)
    with pytest.raises(TooManyModels):
        load(platform)
    assert version(platform) == before
    (replica,) = platform.client.smembers(f"{platform.prefix}replicas:m3.gguf")
    (worker,) = platform.fleet.row("m3.gguf").workers
    platform.starting(replica.decode(), worker)
    platform.crash(replica.decode(), worker, "load_failed")
    load(platform, made(platform.settings, "m3.gguf"), up=False)
    assert str(platform.fleet.row("m3.gguf").state) == "loading"


def test_a_lost_model_is_loaded_again_by_a_worker_that_did_not_know_it(platform: SimulatedPlatform) -> None:
    load(platform)
    hosting = platform.fleet.row(NAME).workers[0]
    platform.run_for(7, *({"w1", "w2"} - {hosting}))
    platform.recovery.fleet = other_process(platform)
    platform.recovery.fleet.scripts.offset_us = platform.fleet.scripts.offset_us
    assert platform.recovery.missing() == [NAME]
    assert platform.recovery.reload(NAME).begun
    assert str(platform.fleet.row(NAME).state) == "loading"


def test_a_worker_that_is_shut_down_leaves_the_model_in_the_catalogue(platform: SimulatedPlatform) -> None:
    load(platform)
    hosting = platform.fleet.row(NAME).workers[0]
    platform.fleet.registry.deregister(hosting, platform.incarnations[hosting], "shut down")
    assert str(other_process(platform).row(NAME).state) == "unloaded"
    assert not platform.fleet.unload(NAME).assignments
    with pytest.raises(UnknownModel):
        other_process(platform).row(NAME)


def test_the_start_of_the_whole_platform_forgets_dynamic_models(platform: SimulatedPlatform) -> None:
    load(platform)
    load(platform, made(platform.settings, "waits.gguf"), up=False)
    platform.fleet.reset_to_configuration()
    other = other_process(platform)
    assert [row.name for row in other.rows()] == list(platform.settings.models)
    assert platform.client.hlen(f"{platform.prefix}dynamic_models") == 0


def test_the_configuration_wins_over_a_dynamic_model_of_the_same_name(platform: SimulatedPlatform) -> None:
    load(platform)
    configured = ModelDefinition(NAME, "stub")
    models = {**platform.settings.models, NAME: configured}
    other = Fleet(platform.client, replace(platform.settings, models=models))
    assert other.row(NAME).definition is configured
    assert [row.name for row in other.rows()] == list(models)
    assert NAME not in other.catalogue.dynamic


def test_a_load_that_evicts_a_dynamic_model_continues_after_its_unload(platform: SimulatedPlatform) -> None:
    load(platform)
    outcome = platform.fleet.load("alpha", LoadRequest(evict=NAME))
    assert outcome.eviction is not None
    platform.finish_unload(outcome.eviction)
    (resumed,) = platform.recovery.resume_pending()
    platform.finish_load(resumed)
    assert platform.model("alpha") == "loaded"


def test_another_host_finds_the_files_below_its_own_folder(
    platform: SimulatedPlatform, tmp_path: Path
) -> None:
    load(platform)
    elsewhere = Fleet(platform.client, replace(platform.settings, model_base_path=tmp_path / "other"))
    assert elsewhere.row(NAME).definition.model_path == str(tmp_path / "other" / NAME)


def test_a_host_without_a_folder_of_models_leaves_out_what_it_cannot_have(
    platform: SimulatedPlatform, caplog: pytest.LogCaptureFixture
) -> None:
    load(platform)
    elsewhere = Fleet(platform.client, replace(platform.settings, model_base_path=None))
    assert [row.name for row in elsewhere.rows()] == list(platform.settings.models)
    assert "model_base_path is not set on this host" in caplog.text


# ---- how often Redis is asked


def reads(client: redis.Redis) -> int:
    return int(client.info("commandstats").get("cmdstat_get", {"calls": 0})["calls"])


def test_known_names_and_names_that_no_model_can_have_cost_no_read(platform: SimulatedPlatform) -> None:
    load(platform)
    platform.fleet.catalogue.refresh()
    before = reads(platform.client)
    for name in (NAME, "alpha"):
        assert platform.fleet.catalogue.definition(name)
    for name in ("", "a b", "../x", "a/../b", "x" * 300, "x/load", "é", "a//b", "/a", "a\n"):
        with pytest.raises(UnknownModel):
            platform.fleet.catalogue.definition(name)
    assert reads(platform.client) == before


def test_unknown_names_of_clients_share_a_read(platform: SimulatedPlatform) -> None:
    catalogue = platform.fleet.catalogue
    catalogue.refresh()
    before = reads(platform.client)
    for number in range(50):
        with pytest.raises(UnknownModel):
            catalogue.definition(f"guess-{number}", after_s=3600)
    assert reads(platform.client) == before


def test_an_unknown_name_is_an_outage_and_not_unknown_when_redis_is_away(settings: Settings) -> None:
    away = redis.Redis(port=free_port(), socket_connect_timeout=0.2)
    with pytest.raises(StorageUnavailable):
        ModelCatalogue(away, settings).definition("unknown")


@pytest.mark.parametrize(
    ("name", "valid"),
    [
        ("a", True),
        ("org/name-1.5_x", True),
        ("a/b/c/d.gguf", True),
        ("a/.hidden", False),
        ("-a", False),
        ("a/load", False),
        ("a/unload", False),
        ("load/plan", False),
        ("a/load/plan", False),
        ("a/unload/plan", False),
        ("a/plan", True),
        ("unload/a", False),
        ("a/loads", True),
        ("loads/a", True),
        ("a..b", False),
        ("a:b", True),
        ("a/b:Q4_K_M", True),
        ("a:", False),
        ("a:b/c", False),
        ("a:b:c", False),
        ("a b", False),
        ("a/", False),
        ("\uff41", False),
    ],
)
def test_a_name_fits_paths_and_keys(name: str, valid: bool) -> None:
    assert is_name(name) is valid


def test_a_definition_that_is_damaged_in_redis_is_left_out(
    platform: SimulatedPlatform, caplog: pytest.LogCaptureFixture
) -> None:
    write: Callable[..., Any] = platform.client.hset
    kept = b'{"configuration":null,"origin":{"kind":"path"},"size_mib":1,"kept":true}'
    damaged = (b"", b"[]", b"{}", b'{"configuration":{},"origin":{},"size_mib":"x"}', kept)
    for number, data in enumerate(damaged):
        write(f"{platform.prefix}dynamic_models", f"bad{number}", data)
    platform.client.set(f"{platform.prefix}dynamic_models_version", "1")
    assert [row.name for row in other_process(platform).rows()] == list(platform.settings.models)
    assert "bad3 cannot be used" in caplog.text
    assert "bad4 cannot be used" in caplog.text


# ---- labels of metrics


def counters(platform: SimulatedPlatform) -> set[str]:
    return {field.decode() for field in platform.client.hgetall(f"{platform.prefix}counters")}


def test_a_dynamic_model_has_counters_of_its_own(platform: SimulatedPlatform) -> None:
    load(platform)
    assert f"operations load {NAME} completed" in counters(platform)


def test_models_beyond_the_first_ones_share_their_counters(platform: SimulatedPlatform) -> None:
    platform.client.sadd(f"{platform.prefix}labelled_models", *(f"m{number}" for number in range(200)))
    load(platform)
    platform.finish_unload(platform.fleet.unload(NAME))
    load(platform, made(platform.settings, "m7"))
    found = counters(platform)
    assert {"operations load other completed", "operations unload other completed"} <= found
    assert "operations load m7 completed" in found
    assert not [field for field in found if NAME in field]
