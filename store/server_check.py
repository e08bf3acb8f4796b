"""Checks the version and settings of the Redis server at the start of a process."""

from __future__ import annotations

import logging
from typing import Any
from urllib.parse import urlsplit

import redis

from config.errors import ConfigError
from config.settings import Settings

logger = logging.getLogger("scheduler")

MINIMUM_VERSION = (7, 0)
"""Redis 7.0 introduced the shebang line that allows a script to run when memory is full."""


def check_server(client: redis.Redis, settings: Settings) -> None:
    """Raise `ConfigError`, with one sentence for an operator, when this server cannot be used.

    Logs a warning when the server may evict keys: jobs and queues would be lost when its memory is full.
    """
    parts = urlsplit(settings.redis.url)
    address = parts.path if parts.scheme == "unix" else parts.netloc.rpartition("@")[2]
    server: Any = client
    try:
        version = str(server.info("server")["redis_version"])
        policy = server.config_get("maxmemory-policy").get("maxmemory-policy")
    except redis.AuthenticationError as error:
        raise ConfigError(f"Redis at {address} refuses the password: correct it in REDIS_URL") from error
    except redis.ResponseError:
        return  # an account without the right to run INFO can still run the scripts
    except (redis.RedisError, OSError) as error:
        raise ConfigError(f"Redis at {address} cannot be reached: start it, or correct REDIS_URL") from error
    if tuple(int(part) for part in version.split(".")[:2]) < MINIMUM_VERSION:
        raise ConfigError(f"Redis at {address} is {version}: Stoker needs Redis 7.0 or newer, or Valkey")
    if policy is not None and policy not in (b"noeviction", "noeviction"):
        logger.warning("Redis at %s may evict keys: set maxmemory-policy noeviction", address)
