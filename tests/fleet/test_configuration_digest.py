"""The digests by which two hosts of a platform are compared."""

from __future__ import annotations

from dataclasses import replace

import orjson
import redis

from config.settings import LimitSettings, ModelDefinition, RedisSettings, Settings
from fleet.configuration_digest import (
    configuration_digests,
    definition_digest,
    different_parts,
    stored_digests,
    warnings,
)
from fleet.fleet import Fleet


def test_equal_configurations_have_equal_digests(settings: Settings) -> None:
    here, there = configuration_digests(settings), configuration_digests(replace(settings))
    assert different_parts(here, there) == []


def test_each_part_that_differs_is_named(settings: Settings) -> None:
    models = {**settings.models, "alpha": replace(settings.models["alpha"], target_inflight=7)}
    other = replace(settings, models=models, limits=LimitSettings(max_log_bytes=1))
    del models["beta"]
    parts = different_parts(configuration_digests(settings), configuration_digests(other))
    assert parts == ["limits", "models.alpha", "models.beta"]


def test_settings_of_one_host_are_not_compared(settings: Settings) -> None:
    here, there = (
        ModelDefinition(
            "m",
            "llama_server",
            f"{folder}/m.gguf",
            options={"llama_server_binary": f"{folder}/x", "llama_server_lora": {"pirate": f"{folder}/p"}},
        )
        for folder in ("/srv", "/mnt")
    )
    other = replace(settings, redis=RedisSettings("redis://elsewhere:1/0"), models={"m": there})
    assert configuration_digests(replace(settings, models={"m": here})) == configuration_digests(other)


def test_files_that_only_one_host_needs_are_not_compared() -> None:
    assert different_parts({"files of big": "1"}, {}) == []
    assert different_parts({"files of big": "1"}, {"files of big": "missing"}) == ["files of big"]


def test_workers_that_differ_in_the_same_parts_share_a_warning(
    settings: Settings, client: redis.Redis
) -> None:
    registry = Fleet(client, settings).registry
    for worker, digests in (("w1", {"limits": "1"}), ("w2", {"limits": "1"}), ("w3", {"limits": "2"})):
        about = {"host": f"host-{worker}", "digests": digests}
        registry.register(worker, "cpu", orjson.dumps(about).decode())
    registry.register("earlier", "cpu")
    stored = stored_digests(client, settings.redis.prefix)
    assert stored.keys() == {"w1", "w2", "w3"}
    (warning,) = warnings({"limits": "2"}, stored)
    assert warning.startswith("this host differs from w1 on host-w1, w2 on host-w2 in: limits;")


def test_loras_with_other_names_or_files_are_another_definition() -> None:
    loras = ({"pirate": "/srv/a.gguf"}, {"poet": "/srv/a.gguf"}, {"pirate": "/srv/b.gguf"}, None)
    models = [ModelDefinition("m", "llama_server", options={"llama_server_lora": lora}) for lora in loras]
    assert len({definition_digest(model, {}) for model in models}) == len(loras)
