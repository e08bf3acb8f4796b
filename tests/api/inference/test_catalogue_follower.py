"""An API process follows the dynamic models: by itself, and at once for a name that it does not know."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import redis

from api.inference.catalogue_follower import CatalogueFollower
from config.settings import GovernanceSettings, Settings
from fleet.catalogue import ModelCatalogue
from fleet.dynamic_model import Origin, dynamic_model
from fleet.fleet import Fleet
from fleet.load_request import LoadRequest
from store.async_connection import AsyncConnection
from store.errors import StorageUnavailable, UnknownModel
from store.redis_connections import command_client
from tests.conftest import free_port
from tests.support.waiting import scaled

NAME = "extra.gguf"


@pytest.fixture
def settings(shared_settings: Settings, tmp_path: Path) -> Settings:
    governance = GovernanceSettings(models="allow", allow={"llama_cpp": ("*",)})
    return replace(shared_settings, governance=governance, model_base_path=tmp_path)


@pytest.fixture
def other(settings: Settings) -> Fleet:
    """The fleet as another process sees it, with a worker."""
    fleet = Fleet(command_client(settings), settings)
    fleet.registry.register("w1", "cpu")
    return fleet


def load(fleet: Fleet) -> None:
    model = dynamic_model(NAME, {"backend": "llama_cpp"}, Origin("path", NAME), 1, fleet.settings)
    assert fleet.load(NAME, LoadRequest(dynamic=model)).begun


def with_follower(
    settings: Settings, use: Callable[[CatalogueFollower, ModelCatalogue], Awaitable[Any]]
) -> Any:
    async def run() -> Any:
        connection = AsyncConnection(settings)
        catalogue = ModelCatalogue(command_client(settings), settings)
        try:
            return await use(CatalogueFollower(catalogue, connection), catalogue)
        finally:
            await connection.close()

    return asyncio.run(run())


def reads(client: redis.Redis) -> int:
    return int(client.info("commandstats").get("cmdstat_get", {"calls": 0})["calls"])


def test_a_model_that_another_process_loads_is_known_at_once(settings: Settings, other: Fleet) -> None:
    async def use(follower: CatalogueFollower, catalogue: ModelCatalogue) -> None:
        for _ in range(3):  # in spite of the reads for unknown names
            with pytest.raises(UnknownModel):
                await follower.definition(NAME)
        await asyncio.to_thread(load, other)
        assert catalogue.get(NAME) is None
        assert (await follower.definition(NAME)).backend == "llama_cpp"
        assert catalogue.get(NAME) is not None

    with_follower(settings, use)


def test_changes_are_followed_without_a_request(settings: Settings, other: Fleet) -> None:
    async def use(follower: CatalogueFollower, catalogue: ModelCatalogue) -> None:
        following = asyncio.create_task(follower.run())
        await asyncio.to_thread(load, other)
        async with asyncio.timeout(scaled(10)):
            while catalogue.get(NAME) is None:
                await asyncio.sleep(0.01)
            other.unload(NAME)
            while catalogue.get(NAME) is not None:
                await asyncio.sleep(0.01)
        following.cancel()

    with_follower(settings, use)


def test_many_unknown_names_share_one_read(settings: Settings, client: redis.Redis) -> None:
    async def use(follower: CatalogueFollower, _: ModelCatalogue) -> None:
        await asyncio.gather(
            *(follower.definition(f"guess-{number}") for number in range(500)), return_exceptions=True
        )

    before = reads(client)
    with_follower(settings, use)
    assert reads(client) - before <= 1


def test_names_that_no_model_can_have_are_unknown_without_a_read(
    settings: Settings, client: redis.Redis
) -> None:
    async def use(follower: CatalogueFollower, _: ModelCatalogue) -> None:
        for name in ("../x", "a b", "x" * 1000):
            with pytest.raises(UnknownModel):
                await follower.definition(name)

    before = reads(client)
    with_follower(settings, use)
    assert reads(client) == before


def test_an_unknown_name_is_an_outage_while_redis_is_away(settings: Settings) -> None:
    away = replace(settings, redis=replace(settings.redis, url=f"redis://127.0.0.1:{free_port()}/0"))

    async def use(follower: CatalogueFollower, _: ModelCatalogue) -> None:
        follower.read_if_possible()
        with pytest.raises(StorageUnavailable):
            await follower.definition(NAME)

    with_follower(away, use)
