"""Additions of models: their bounds, what the governance allows, and additions that were made before."""

from __future__ import annotations

import secrets
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from api.approvals.proposals.model_change import ModelRemoval
from api.http.errors import Forbidden
from api.operations.model_additions import MAX_CONFIGURATION_BYTES, Addition, add_model, plan_model
from api.services import AppServices
from config.settings import ROOT, GovernanceSettings, RedisSettings, Settings
from fleet.adding.errors import InvalidAddition
from fleet.errors import StateConflict
from fleet.fleet import Fleet
from governance.audit import AuditLog
from governance.audit.chain_store import ChainStore
from governance.authorization import PLATFORM
from store.errors import UnknownModel
from store.redis_connections import command_client
from tests.conftest import ValkeyServer
from tests.support.api_fakes import FakeAudit


@pytest.fixture
def settings(shared_server: ValkeyServer, tmp_path: Path) -> Settings:
    (tmp_path / "models").mkdir()
    for name in ("one", "two"):
        shutil.copy(ROOT / "models/stoker-demo.gguf", tmp_path / "models" / f"{name}.gguf")
    server = RedisSettings(shared_server.url, f"t{secrets.token_hex(4)}")
    return Settings(redis=server, model_base_path=tmp_path / "models", data_dir=tmp_path / "data")


def services_of(settings: Settings, **governance: Any) -> AppServices:
    settings = replace(settings, governance=GovernanceSettings(**governance))
    client = command_client(settings)
    services = AppServices()
    services.add(settings, Fleet(client, settings))
    services[AuditLog] = FakeAudit(ChainStore(client, settings.redis.prefix))
    return services


def add(services: AppServices, source: str, name: str | None = None, **more: Any) -> str:
    addition = Addition(source, name, more.pop("configuration", {}), **more)
    made, outcome = add_model(services, addition, plan_model(services, addition), PLATFORM)
    assert outcome.operation is None, "its file is here"
    return made


def test_the_patterns_of_the_governance_bound_what_is_added(settings: Settings) -> None:
    allowed = services_of(settings, models="allow", allow={"llama_server": ("good*",), "vllm": ("bad",)})
    assert add(allowed, "one.gguf", "good-one") == "good-one"
    for name, param in (("unknown", "name"), ("bad", "source")):
        with pytest.raises((Forbidden, InvalidAddition)) as refused:
            add(allowed, "one.gguf", name)
        assert (refused.value.code, refused.value.param) == ("model_not_allowed", param)
    with pytest.raises(Forbidden, match="no pattern"):
        add(allowed, "one.gguf")
    assert add(services_of(settings), "one.gguf", "anything") == "anything"


def test_an_addition_that_was_made_before_is_the_same_model(settings: Settings) -> None:
    services = services_of(settings)
    name = add(services, "one.gguf")
    assert add(services, "one.gguf") == name
    assert add(services, "one.gguf", name) == name
    assert add(services, "two.gguf") not in ("", name)
    for source, configuration in (("one.gguf", {"on_demand": "reject"}), ("two.gguf", {})):
        with pytest.raises(StateConflict) as refused:
            add(services, source, name, configuration=configuration)
        assert refused.value.code == "model_exists"
    assert add(services, "two.gguf", name, replace=True) == name
    assert services[Fleet].registered.read()[name].origin.file == "two.gguf"


def test_the_removal_of_a_model_that_this_host_cannot_use_is_planned(settings: Settings) -> None:
    services = services_of(settings)
    name = add(services, "one.gguf")
    fleet = services[Fleet]
    key = f"{fleet.scripts.prefix}dynamic_models"
    edited = fleet.registered.read()[name].to_json().replace(b'"llama_server"', b'"dropped"')
    fleet.client.hset(key, name, edited)  # type: ignore[arg-type]
    fleet.client.set(f"{key}_version", "edited")
    plan = ModelRemoval(name).plan(services)
    assert (plan.shown["begins"], plan.shown["artifacts"]) == (True, [])
    with pytest.raises(UnknownModel):
        ModelRemoval("two").plan(services)


def test_a_configuration_is_bounded() -> None:
    body = {"source": "x", "configuration": {"device": "x" * MAX_CONFIGURATION_BYTES}}
    with pytest.raises(InvalidAddition, match="larger than 65536 bytes"):
        Addition.of_body(body)
