"""The services that the views use, made once per process and stored in `app.extensions["stoker"]`.

Nothing connects and no thread starts before `AppServices.start`. The process that serves the app calls it,
after the fork: neither a connection nor a thread survives one.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from dataclasses import dataclass, field
from functools import partial
from typing import Any, cast

import redis
from flask import current_app

from api import health, runner
from api.auth.access_store import AccessStore
from api.auth.authenticator import Authenticator
from api.auth.registry import AccessRegistry
from api.health import Health, health_reader
from api.loop_thread import LoopThread
from api.metrics.exposition import Exposition
from api.metrics.process_report import ProcessReport
from api.namespace_reader import NamespaceReader
from api.queue_orders import QueueOrders
from api.runner import RunnerState, runner_reader
from api.single_flight import SingleFlight
from api.streaming.model_events import ModelFeed
from api.streaming.model_snapshots import SnapshotReader
from api.streaming.open_streams import OpenStreams
from api.streaming.queue_notes import QueueNotes
from config.settings import Settings
from fleet.fleet import Fleet
from fleet.state_changes import StateChanges
from governance.audit import AuditLog
from governance.cache_namespaces import CacheNamespaces
from scheduler.async_connection import AsyncConnection
from scheduler.async_ledger import AsyncLedger
from scheduler.counters import CounterStore
from scheduler.ledger import Ledger
from scheduler.reaper import Reaper
from scheduler.redis_connections import command_client
from scheduler.subscription import Subscription
from scheduler.usage import UsageStore
from streams.subscriber import EventSubscriber

logger = logging.getLogger("api")

EXTENSION = "stoker"

PROBE_TIMEOUT_S = 2.0
"""How long a health check waits for the reply to its write, and for the connect before it."""


MAX_LOG_READS = 4
"""The most logs that are read and rendered as a whole at a time; each takes some milliseconds of the loop."""


def probe_client(settings: Settings) -> redis.Redis:
    """A client for calls that must not wait long."""
    client = command_client(settings)
    timeouts = {"socket_timeout": PROBE_TIMEOUT_S, "socket_connect_timeout": PROBE_TIMEOUT_S}
    client.connection_pool.connection_kwargs.update(timeouts)
    return client


class RedisProbe:
    """Checks whether Redis takes writes: with a full disk it still answers reads and pings."""

    def __init__(self, settings: Settings) -> None:
        self._ledger = Ledger(probe_client(settings), settings)

    def write(self) -> None:
        """Write. Raises `StorageUnavailable` or `StorageFull`."""
        self._ledger.ping()


class ShutdownFlag:
    """Whether this process continues to serve, for requests that otherwise run until the client disconnects.

    The server that runs the process replaces `is_running`.
    """

    def __init__(self) -> None:
        self.is_running: Callable[[], bool] = lambda: True


@dataclass
class AppServices:
    """The services of one API process; `connection` and `async_ledger` are for the event loop's thread."""

    settings: Settings
    authenticator: Authenticator
    registry: AccessRegistry
    access_store: AccessStore
    ledger: Ledger
    connection: AsyncConnection
    large_connection: AsyncConnection
    """For the admission of large requests: small ones need not wait behind them."""
    async_ledger: AsyncLedger
    fleet: Fleet
    subscriber: EventSubscriber
    reaper: Reaper
    audit: AuditLog
    streams: OpenStreams
    model_feed: ModelFeed
    health: SingleFlight[Health]
    runner_state: SingleFlight[RunnerState]
    cache_namespaces: CacheNamespaces
    exposition: Exposition
    usage: UsageStore
    process_report: ProcessReport
    log_reads: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(MAX_LOG_READS))
    """Held while a whole log is read and rendered, so that other requests come in between."""
    shutdown: ShutdownFlag = field(default_factory=ShutdownFlag)
    created_at: float = field(default_factory=time.monotonic)
    preparations: tuple[Callable[[], None], ...] = ()
    """Functions that `start` calls once, in its thread, before the first request."""
    background: tuple[Callable[[], Coroutine[Any, Any, None]], ...] = ()
    """Coroutine functions that run on the event loop from `start` to `stop`."""
    queue_orders: QueueOrders = field(init=False)
    queue_notes: QueueNotes = field(init=False)
    _tasks: list[Future[None]] = field(default_factory=list)
    _loop: asyncio.AbstractEventLoop | None = None
    _loop_thread: LoopThread | None = None

    def __post_init__(self) -> None:
        """Make the services that follow from others."""
        self.queue_orders = QueueOrders(self.async_ledger)
        self.queue_notes = QueueNotes(self.queue_orders)

    @property
    def loop(self) -> asyncio.AbstractEventLoop:
        """The event loop that serves detached responses; set from `start` on."""
        if self._loop is None:
            raise RuntimeError("the services have not been started")
        return self._loop

    def start(self, loop: asyncio.AbstractEventLoop | None = None) -> None:
        """Start the subscriber and the reaper. Called once, before the first request.

        `loop` is the server's event loop, whose thread makes this call; without one, the services run a loop
        in a thread of their own.
        """
        if loop is None:
            self._loop_thread = LoopThread()
            self._loop_thread.start()
            loop = self._loop_thread.loop
        self._loop = loop
        for prepare in self.preparations:
            prepare()
        for run in (*self.background, self.queue_notes.run):
            task = asyncio.run_coroutine_threadsafe(run(), loop)
            task.add_done_callback(_report_failure)
            self._tasks.append(task)
        self.reaper.start()

    def stop(self) -> None:
        """Stop what `start` started, if it was called."""
        if self._loop is None:
            return
        for task in self._tasks:
            task.cancel()
        if self.settings.metrics.enabled:
            self.process_report.finish()
        self.model_feed.close()
        self.health.stop()
        self.runner_state.stop()
        self.reaper.stop()
        for connection in (self.connection, self.large_connection):
            asyncio.run_coroutine_threadsafe(connection.close(), self._loop)
        if self._loop_thread is not None:
            self._loop_thread.stop()


def _report_failure(task: Future[None]) -> None:
    if not task.cancelled() and (error := task.exception()) is not None:
        logger.error("a task of the event loop has ended", exc_info=error)


def open_services(settings: Settings) -> AppServices:
    """Make the services. Raises `ConfigError` when the platform would be open to the network."""
    client = command_client(settings)
    ledger = Ledger(client, settings)
    connection, large_connection = AsyncConnection(settings), AsyncConnection(settings)
    fleet, changes = Fleet(client, settings), StateChanges(client, settings.redis.prefix)
    subscriber = EventSubscriber(connection, settings.redis.prefix)
    subscription = Subscription(settings, subscriber.channel, subscriber.deliver, subscriber.catch_up_all)
    audit = AuditLog(client, settings.redis.prefix)
    access_store = AccessStore(client, settings.redis.prefix, audit)
    registry = AccessRegistry(settings, access_store)
    several = registry.identities.several_tenants
    streams = OpenStreams(settings.api.max_streams, settings.api.keep_alive_s, several_tenants=several)
    registry.on_change.append(lambda new: setattr(streams, "several_tenants", new.several_tenants))
    namespaces = CacheNamespaces(settings.redis.prefix)
    namespace_reader = NamespaceReader(namespaces, client, connection)
    process_report = ProcessReport(
        connection, CounterStore(probe_client(settings), settings), settings.redis.prefix, streams
    )
    reports = (process_report.run,) if settings.metrics.enabled else ()
    return AppServices(
        settings=settings,
        authenticator=Authenticator(settings, registry),
        registry=registry,
        access_store=access_store,
        ledger=ledger,
        connection=connection,
        large_connection=large_connection,
        async_ledger=AsyncLedger(connection, settings, large_connection),
        fleet=fleet,
        subscriber=subscriber,
        reaper=Reaper(ledger),
        audit=audit,
        streams=streams,
        model_feed=ModelFeed(SnapshotReader(fleet, changes)),
        health=SingleFlight(
            health_reader(RedisProbe(settings), fleet.serving_state, settings.queue), health.MAX_AGE_S
        ),
        runner_state=SingleFlight(runner_reader(fleet, ledger.waits), runner.MAX_AGE_S),
        cache_namespaces=namespaces,
        exposition=Exposition(settings, registry),
        usage=UsageStore(client, settings),
        process_report=process_report,
        preparations=(namespace_reader.read, registry.read_if_possible),
        background=(
            subscription.run,
            subscriber.run,
            streams.run,
            namespace_reader.run,
            partial(registry.run, connection),
            *reports,
        ),
    )


def current_services() -> AppServices:
    """The services of the app that handles the current request."""
    return cast(AppServices, current_app.extensions[EXTENSION])
