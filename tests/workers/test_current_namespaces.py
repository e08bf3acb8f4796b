"""A request that reaches a worker keeps its namespace if that is the present one of its owner."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import replace

import pytest
import redis

from config.settings import Settings
from generation.generation import CacheOwner, Generation
from governance.cache_namespaces import CacheNamespaces
from workers.current_namespaces import CurrentNamespaces

OWNER = CacheOwner("acme", "a tag")
REPLICA = "alpha-0"


@pytest.fixture
def current(client: redis.Redis, settings: Settings) -> Iterator[CurrentNamespaces]:
    loop = asyncio.new_event_loop()
    made = CurrentNamespaces(client, settings.redis.prefix, loop, {REPLICA})
    made.adopt(made.read())
    yield made
    loop.run_until_complete(loop.shutdown_default_executor())
    loop.close()


def test_namespace_of_a_lora_is_kept_for_requests_with_it_alone(current: CurrentNamespaces) -> None:
    api = CacheNamespaces()
    read = current.read()
    api.adopt(read.secret, read.epochs)
    namespace = api.of(OWNER.tenant, "alpha", OWNER.tag, None, "pirate")
    request = Generation("alpha", (), cache_namespace=namespace, cache_owner=OWNER, lora="pirate")
    assert current.checked(REPLICA, request) == request
    assert current.kept(REPLICA) == [namespace]
    for lora in (None, "poet"):
        other = replace(request, lora=lora)
        assert current.checked(REPLICA, other) == replace(other, cache_namespace=None)
