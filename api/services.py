"""The services that the views use, made once per process and stored in `app.extensions["stoker"]`.

Nothing connects and no thread starts before `AppServices.start`. The process that serves the app calls it,
after gunicorn's fork: neither a connection nor a thread survives a fork.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import cast

from flask import current_app

from api.auth.authenticator import Authenticator
from api.permits import ConcurrencyPermits
from api.streaming.disconnect_watcher import DisconnectWatcher
from config.settings import Settings
from config.tenants import Tenants
from fleet.fleet import Fleet
from fleet.state_changes import StateChanges
from governance.audit import AuditLog
from scheduler.ledger import Ledger
from scheduler.reaper import Reaper
from scheduler.redis_connections import blocking_client, command_client
from streams.subscriber import EventSubscriber

EXTENSION = "stoker"

PROBE_TIMEOUT_S = 1.0
"""The time-out of a health check's write, shorter than that of other commands."""


class RedisProbe:
    """Checks whether Redis takes writes: with a full disk it still answers reads and pings."""

    def __init__(self, settings: Settings) -> None:
        client = command_client(settings)
        timeouts = {"socket_timeout": PROBE_TIMEOUT_S, "socket_connect_timeout": PROBE_TIMEOUT_S}
        client.connection_pool.connection_kwargs.update(timeouts)
        self._ledger = Ledger(client, settings)

    def write(self) -> None:
        """Write. Raises `StorageUnavailable` or `StorageFull`."""
        self._ledger.ping()


class ShutdownFlag:
    """Whether this process continues to serve, for requests that otherwise run until the client disconnects.

    The server that runs the process replaces `is_running`.
    """

    def __init__(self) -> None:
        self.is_running: Callable[[], bool] = lambda: True


@dataclass(frozen=True)
class AppServices:
    """The services of one API process."""

    settings: Settings
    authenticator: Authenticator
    ledger: Ledger
    fleet: Fleet
    changes: StateChanges
    subscriber: EventSubscriber
    reaper: Reaper
    audit: AuditLog
    redis_probe: RedisProbe
    disconnects: DisconnectWatcher
    permits: ConcurrencyPermits
    shutdown: ShutdownFlag = field(default_factory=ShutdownFlag)
    created_at: float = field(default_factory=time.monotonic)
    _started: threading.Event = field(default_factory=threading.Event)

    def start(self) -> None:
        """Start the subscriber's and the reaper's threads. Called once, before the first request."""
        self.subscriber.start()
        self.reaper.start()
        self._started.set()

    def stop(self) -> None:
        """Stop the threads that `start` started, if it was called."""
        if self._started.is_set():
            self.subscriber.stop()
            self.reaper.stop()


def open_services(settings: Settings) -> AppServices:
    """Make the services. Raises `ConfigError` when the platform would be open to the network."""
    client = command_client(settings)
    ledger = Ledger(client, settings)
    return AppServices(
        settings=settings,
        authenticator=Authenticator(settings, Tenants(settings)),
        ledger=ledger,
        fleet=Fleet(client, settings),
        changes=StateChanges(client, settings.redis.prefix),
        subscriber=EventSubscriber(client, blocking_client(settings), settings.redis.prefix),
        reaper=Reaper(ledger),
        audit=AuditLog(client, settings.redis.prefix),
        redis_probe=RedisProbe(settings),
        disconnects=DisconnectWatcher(),
        permits=ConcurrencyPermits(settings.api.threads),
    )


def current_services() -> AppServices:
    """The services of the app that handles the current request."""
    return cast(AppServices, current_app.extensions[EXTENSION])
