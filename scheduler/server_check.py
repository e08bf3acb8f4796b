"""Looks at the Redis server before anything is built on it."""

from __future__ import annotations

import logging
from typing import Any
from urllib.parse import urlsplit

import redis

from config.errors import ConfigError
from config.settings import Settings

logger = logging.getLogger("scheduler")

OLDEST = (7, 0)
"""Scripts that may run when memory is full are marked with a shebang, which 7.0 brought."""


def check_server(client: redis.Redis, settings: Settings) -> None:
    """Raises `ConfigError`, in one sentence for an operator, when this server cannot hold the ledger.

    One that may evict keys is only warned about: jobs, queues and nonces would vanish when it is full.
    """
    parts = urlsplit(settings.redis.url)
    address = parts.path if parts.scheme == "unix" else parts.netloc.rpartition("@")[2]
    asked: Any = client
    try:
        version = str(asked.info("server")["redis_version"])
        policy = asked.config_get("maxmemory-policy").get("maxmemory-policy")
    except redis.AuthenticationError as error:
        raise ConfigError(f"Redis at {address} refuses the password: correct it in REDIS_URL") from error
    except redis.ResponseError:
        return  # an account that may not look may still do the work
    except (redis.RedisError, OSError) as error:
        raise ConfigError(f"Redis at {address} cannot be reached: start it, or correct REDIS_URL") from error
    if tuple(int(part) for part in version.split(".")[:2]) < OLDEST:
        raise ConfigError(f"Redis at {address} is {version}: Stoker needs Redis 7.0 or newer, or Valkey")
    if policy is not None and policy not in (b"noeviction", "noeviction"):
        logger.warning("Redis at %s may evict keys: set maxmemory-policy noeviction", address)
