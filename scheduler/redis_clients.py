"""Connections to Redis: one kind for commands, one for waiting.

redis-py would repeat a command by itself when a connection breaks. For a script that admits or dispatches
that is wrong: the first one may have been done. So nothing is repeated here; a broken connection is replaced
at the next call, and the caller, who knows whether a repeat is harmless, decides.
"""

from __future__ import annotations

from typing import Any

from redis import ConnectionPool, Redis
from redis.backoff import NoBackoff
from redis.maint_notifications import MaintNotificationsConfig
from redis.retry import Retry

from config.settings import Settings

COMMAND_TIMEOUT_S = 5.0  # a half-open connection is noticed; no script of ours takes as long
CONNECT_TIMEOUT_S = 3.0
HEALTH_CHECK_S = 15  # a connection idle for longer is tried with a PING first
SPARE_CONNECTIONS = 32  # beside one for each thread: readers, reapers, the worker's flusher


def commands(settings: Settings) -> Redis:
    """A client for commands that answer at once, with a connection for every thread that may ask.

    Answers are bytes. Raises nothing here: the first command connects. `redis://`, `rediss://` and `unix://`.
    """
    return _client(settings, COMMAND_TIMEOUT_S)


def blocking(settings: Settings) -> Redis:
    """A client for subscribers and blocking reads, which may hear nothing for as long as they like.

    It speaks RESP2: there a published message is an ordinary answer, which a subscriber can read without the
    client's whole machinery for pushes.
    """
    return _client(settings, None, protocol=2)


def _client(settings: Settings, timeout_s: float | None, protocol: int = 3) -> Redis:
    url = settings.redis.url
    options: dict[str, Any] = {
        "decode_responses": False,
        "protocol": protocol,
        "socket_timeout": timeout_s,
        "socket_connect_timeout": CONNECT_TIMEOUT_S,
        "health_check_interval": HEALTH_CHECK_S,
        "retry": Retry(NoBackoff(), 0),
        # for each thread one that runs scripts, which is kept (scheduler.redis_connections), and one for all else
        "max_connections": 2 * max(settings.api.threads, settings.worker.threads) + SPARE_CONNECTIONS,
        # neither the server's maintenance pushes nor our library's name is worth a round trip per connection
        "maint_notifications_config": MaintNotificationsConfig(enabled=False),
        "driver_info": None,
    }
    if not url.startswith("unix://"):
        options["socket_keepalive"] = True
    return Redis(connection_pool=ConnectionPool.from_url(url, **options))
