"""Models on demand that are removed, and added again or changed: nothing of the earlier ones counts."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from config.settings import Settings
from fleet.dynamic_model import DynamicModel, Origin, dynamic_model
from store.errors import ModelFailed
from tests.fleet.on_demand.conftest import DemandPlatform

NAME = "added"


@pytest.fixture
def settings(settings: Settings, tmp_path: Path) -> Settings:
    return replace(settings, model_base_path=tmp_path)


def made(platform: DemandPlatform, **options: Any) -> DynamicModel:
    fields = {"backend": "llama_cpp", "on_demand": "load", **options}
    return dynamic_model(NAME, fields, Origin("path", "added.gguf"), 30, platform.settings)


def fail_twice(platform: DemandPlatform) -> None:
    platform.fleet.registered.register(made(platform))
    for _ in range(2):
        platform.ask(NAME)
        (outcome,) = platform.look()
        platform.starting(outcome.assignments[0].replica)
        platform.crash(outcome.assignments[0].replica, code="load_failed")
        with pytest.raises(ModelFailed):
            platform.ask(NAME)
        platform.advance_time(5)
    with pytest.raises(ModelFailed):
        platform.ask(NAME)


def test_a_model_that_is_added_again_has_no_pause_of_the_removed_one(platform: DemandPlatform) -> None:
    fail_twice(platform)
    for item in platform.fleet.registered.begin_removal(NAME).assignments:
        platform.fleet.removal_ended(item.replica, item.worker)
    platform.fleet.registered.register(made(platform))
    platform.ask(NAME)
    assert platform.look_and_finish() == [("load", NAME)]


def test_a_model_that_is_changed_has_no_pause_of_its_former_definition(platform: DemandPlatform) -> None:
    fail_twice(platform)
    platform.fleet.registered.register(made(platform, gguf_n_ctx=512), replace=True)
    platform.ask(NAME)
    assert platform.look_and_finish() == [("load", NAME)]
