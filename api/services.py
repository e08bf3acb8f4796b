"""The rooms below, as the API uses them: made in one place, kept in `app.extensions["stoker"]`.

Nothing connects and no thread starts before `start`, which the first request calls in each process: gunicorn
forks, and neither a connection nor a thread lives through that.
"""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field
from typing import cast

from flask import current_app

from api.auth.authenticator import Authenticator
from api.redis_probe import Probe
from api.shutdown import Life
from api.streaming.disconnect_watcher import DisconnectWatcher
from config.settings import Settings
from config.tenants import Tenants
from fleet.fleet import Fleet
from fleet.state_changes import StateChanges
from governance.audit import Audit
from scheduler.ledger import Ledger
from scheduler.reaper import Reaper
from scheduler.redis_connections import blocking_client, command_client
from streams.subscriber import EventSubscriber

EXTENSION = "stoker"


class ConcurrencyPermits:
    """The threads that may wait for a model; the others stay free for what answers at once (/health)."""

    def __init__(self, threads: int) -> None:
        self.count = max(1, threads - max(2, threads // 16))
        self._free = threading.BoundedSemaphore(self.count)

    def take(self) -> bool:
        """Take one; False when there is none."""
        return self._free.acquire(blocking=False)

    def give_back(self) -> None:
        """Give one back."""
        self._free.release()


@dataclass(frozen=True)
class AppServices:
    """What a request may use."""

    settings: Settings
    authenticator: Authenticator
    ledger: Ledger
    fleet: Fleet
    changes: StateChanges
    subscriber: EventSubscriber
    reaper: Reaper
    audit: Audit
    probe: Probe
    disconnects: DisconnectWatcher
    permits: ConcurrencyPermits
    life: Life = field(default_factory=Life)
    began_at: float = field(default_factory=time.monotonic)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _started: threading.Event = field(default_factory=threading.Event)

    def start(self) -> None:
        """Begin to listen and to reap in this process. Only the first call does anything."""
        if self._started.is_set():
            return
        with self._lock:
            if not self._started.is_set():
                self.subscriber.start()
                self.reaper.start()
                self._started.set()

    def stop(self) -> None:
        """End what `start` began."""
        if self._started.is_set():
            self.subscriber.stop()
            self.reaper.stop()


def open_services(settings: Settings) -> AppServices:
    """Make the rooms. Raises `ConfigError` when the platform would be open to the network."""
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
        audit=Audit(client, settings.redis.prefix),
        probe=Probe(settings),
        disconnects=DisconnectWatcher(),
        permits=ConcurrencyPermits(settings.api.threads),
    )


def services() -> AppServices:
    """The rooms of the app that answers now."""
    return cast(AppServices, current_app.extensions[EXTENSION])
