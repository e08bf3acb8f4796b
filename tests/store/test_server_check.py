"""The check of the Redis server at the start of a process."""

from __future__ import annotations

import logging
from dataclasses import replace

import pytest
import redis

from config.errors import ConfigError
from config.settings import RedisSettings, Settings
from store.server_check import check_server
from tests.conftest import ValkeyServer


def at(url: str) -> tuple[redis.Redis, Settings]:
    settings = replace(Settings(), redis=RedisSettings(url))
    return redis.Redis.from_url(url), settings


def test_a_suitable_server_is_accepted_without_a_warning(
    shared_server: ValkeyServer, caplog: pytest.LogCaptureFixture
) -> None:
    check_server(*at(shared_server.url))
    assert caplog.records == []


def test_an_unreachable_server_is_reported_with_the_remedy() -> None:
    with pytest.raises(
        ConfigError, match=r"Redis at 127\.0\.0\.1:1 cannot be reached: start it, or correct REDIS_URL"
    ):
        check_server(*at("redis://:secret@127.0.0.1:1/0"))


def test_a_wrong_password_is_reported_and_not_shown(own_server: ValkeyServer) -> None:
    redis.Redis.from_url(own_server.url).config_set("requirepass", "right")
    with pytest.raises(ConfigError, match="refuses the password") as refusal:
        check_server(*at(own_server.url.replace("redis://", "redis://:wrong@")))
    assert "wrong" not in str(refusal.value)


def test_an_old_server_is_refused_with_the_required_version(
    shared_server: ValkeyServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    client, settings = at(shared_server.url)
    monkeypatch.setattr(client, "info", lambda _section: {"redis_version": "6.2.14"})
    with pytest.raises(ConfigError, match=r"is 6\.2\.14: Stoker needs Redis 7\.0 or newer"):
        check_server(client, settings)


def test_a_server_that_may_evict_keys_causes_a_warning(
    own_server: ValkeyServer, caplog: pytest.LogCaptureFixture
) -> None:
    redis.Redis.from_url(own_server.url).config_set("maxmemory-policy", "allkeys-lru")
    with caplog.at_level(logging.WARNING):
        check_server(*at(own_server.url))
    assert "noeviction" in caplog.text
