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

from api.access.access_store import AccessStore
from api.access.authenticator import Authenticator
from api.access.registry import AccessRegistry
from api.access.session_store import SessionStore
from api.access.session_watch import SessionWatch
from api.approvals.audit_sync import AuditSync
from api.approvals.lifecycle.attempts import AttemptLimit
from api.files.store import FileStore, open_store
from api.files.sweeper import FileSweeper
from api.files.upload_sink import Uploads
from api.http.open_streams import OpenStreams
from api.http.recent_results import RecentResults
from api.http.single_flight import SingleFlight
from api.http.tenant_turns import TenantTurns
from api.inference.answer.large_reads import join_turns, log_read_turns
from api.inference.answer.queue_notes import QueueNotes
from api.inference.catalogue_follower import CatalogueFollower
from api.inference.conversations.store import ConversationStore
from api.inference.documents.completion import DocumentReader
from api.inference.namespace_reader import WAKE, NamespaceReader
from api.inference.queue_orders import QueueOrders
from api.loop_thread import LoopThread
from api.operations import health
from api.operations import model_runner as runner
from api.operations.health import Health, health_reader
from api.operations.metrics.collector import StateReader
from api.operations.metrics.exposition import Exposition
from api.operations.metrics.process_report import ProcessReport
from api.operations.metrics.recent import RecentMetrics
from api.operations.model_events import ModelFeed
from api.operations.model_runner import RunnerState, runner_reader
from api.operations.model_snapshots import SnapshotReader
from api.webhooks.sender import WebhookSender
from api.webhooks.store import WebhookStore
from api.webhooks.targets import targets_of
from config.errors import ConfigError
from config.settings import Settings
from fleet.fleet import Fleet
from governance.audit import AUDIT_FOLDER, AuditLog
from governance.cache_namespaces import CacheNamespaces
from governance.op_tokens.key_files import SharedKeyFiles
from governance.op_tokens.private_files import KeyFileError
from governance.platform_key import PlatformKey
from governance.proposals.store import ProposalStore
from governance.receipts import Receipts
from scheduler.async_ledger import AsyncLedger
from scheduler.batches import BatchStore
from scheduler.counters import CounterStore
from scheduler.ledger import Ledger
from scheduler.limit_use import LimitUseReader
from scheduler.reaper import Reaper
from scheduler.recent_refusals import RecentRefusalsReader
from scheduler.usage import UsageStore
from store.async_connection import AsyncConnection
from store.redis_connections import command_client
from store.subscription import Subscription
from streams.subscriber import EventSubscriber

logger = logging.getLogger("api")

EXTENSION = "stoker"

PROBE_TIMEOUT_S = 2.0
"""How long a health check waits for the reply to its write, and for the connect before it."""


HUB_MAX_AGE_S = 60.0
"""How old what a hub says of a model may be where a proposal is compared with now."""

MAX_COMPARED_LOADS = 100
"""The most proposals of which that is kept."""


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
    batches: BatchStore
    sessions: SessionStore
    session_watch: SessionWatch
    ledger: Ledger
    connection: AsyncConnection
    large_connection: AsyncConnection
    """For the admission of large requests: small ones need not wait behind them."""
    async_ledger: AsyncLedger
    fleet: Fleet
    catalogue_follower: CatalogueFollower
    subscriber: EventSubscriber
    reaper: Reaper
    audit: AuditLog
    op_token_keys: SharedKeyFiles
    attempts: AttemptLimit
    proposals: ProposalStore
    platform_key: PlatformKey
    receipts: Receipts
    streams: OpenStreams
    model_feed: ModelFeed
    health: SingleFlight[Health]
    runner_state: SingleFlight[RunnerState]
    cache_namespaces: CacheNamespaces
    exposition: Exposition
    usage: UsageStore
    limit_use: LimitUseReader
    recent_refusals: RecentRefusalsReader
    process_report: ProcessReport
    recent_metrics: RecentMetrics
    log_reads: TenantTurns = field(default_factory=log_read_turns)
    """Held while a whole log, or all of a conversation, is read and rendered."""
    joins: TenantTurns = field(default_factory=join_turns)
    """Held while an earlier conversation is read and joined, which may be much for a small request."""
    compared_loads: RecentResults[Any] = field(
        default_factory=lambda: RecentResults(HUB_MAX_AGE_S, MAX_COMPARED_LOADS)
    )
    """What `api.approvals.proposals.comparison` has found on hubs, by the id of the proposal."""
    shutdown: ShutdownFlag = field(default_factory=ShutdownFlag)
    created_at: float = field(default_factory=time.monotonic)
    preparations: tuple[Callable[[], None], ...] = ()
    """Functions that `start` calls once, in its thread, before the first request."""
    background: tuple[Callable[[], Coroutine[Any, Any, None]], ...] = ()
    """Coroutine functions that run on the event loop from `start` to `stop`."""
    endings: tuple[Callable[[], None], ...] = ()
    """Functions that `stop` calls once, in its thread, after the background's end."""
    on_new_batch: Callable[[], None] = field(default=lambda: None)
    """Called when a client has created a batch or cancelled one."""
    queue_orders: QueueOrders = field(init=False)
    queue_notes: QueueNotes = field(init=False)
    files: FileStore = field(init=False)
    uploads: Uploads = field(init=False)
    documents: DocumentReader = field(init=False)
    webhooks: WebhookSender = field(init=False)
    conversations: ConversationStore = field(init=False)
    _tasks: list[Future[None]] = field(default_factory=list)
    _loop: asyncio.AbstractEventLoop | None = None
    _loop_thread: LoopThread | None = None

    def __post_init__(self) -> None:
        """Make the services that follow from others."""
        self.queue_orders = QueueOrders(self.async_ledger)
        self.queue_notes = QueueNotes(self.queue_orders)
        self.files = open_store(self.settings)
        self.uploads = Uploads(self.files, self.settings.files)
        self.documents = DocumentReader(self.settings, self.files)
        self.conversations = ConversationStore(self.connection, self.large_connection, self.settings)
        webhooks, connection = self.settings.webhooks, self.connection
        pending = WebhookStore(connection, self.settings.redis.prefix, webhooks.max_pending_per_tenant)
        self.webhooks = WebhookSender(
            webhooks, targets_of(webhooks), pending, self.async_ledger, self.subscriber.name
        )

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
        for end in self.endings:
            end()
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
    """Make the services.

    Raises `ConfigError` when the platform would be open to the network, and for keys of opTokens that cannot
    be used.
    """
    client = command_client(settings)
    ledger = Ledger(client, settings)
    connection, large_connection = AsyncConnection(settings), AsyncConnection(settings)
    fleet = Fleet(client, settings)
    catalogue_follower = CatalogueFollower(fleet.catalogue, connection)
    subscriber = EventSubscriber(connection, settings.redis.prefix)
    audit = AuditLog(client, settings.redis.prefix, settings.data_dir / AUDIT_FOLDER)
    access_store = AccessStore(client, settings.redis.prefix, audit)
    registry = AccessRegistry(settings, access_store)
    session_watch = SessionWatch(connection, settings.redis.prefix)
    several = registry.identities.several_tenants
    streams = OpenStreams(settings.api.max_streams, settings.api.keep_alive_s, several_tenants=several)
    registry.on_change.append(lambda new: setattr(streams, "several_tenants", new.several_tenants))
    namespaces = CacheNamespaces()
    namespace_reader = NamespaceReader(
        namespaces, probe_client(settings), connection, settings.redis.prefix, process=subscriber.name
    )

    def on_message(message: bytes) -> None:
        if message == WAKE:
            namespace_reader.wake()
        else:
            subscriber.deliver(message)

    subscription = Subscription(settings, subscriber.channel, on_message, subscriber.catch_up_all)
    process_report = ProcessReport(
        connection, CounterStore(probe_client(settings), settings), settings.redis.prefix, streams
    )
    recent_metrics = RecentMetrics(probe_client(settings), settings)
    services = AppServices(
        settings=settings,
        authenticator=Authenticator(settings, registry),
        registry=registry,
        access_store=access_store,
        batches=BatchStore(client, settings.redis.prefix),
        sessions=SessionStore(client, settings.redis.prefix),
        session_watch=session_watch,
        ledger=ledger,
        connection=connection,
        large_connection=large_connection,
        async_ledger=AsyncLedger(connection, settings, large_connection),
        fleet=fleet,
        catalogue_follower=catalogue_follower,
        subscriber=subscriber,
        reaper=Reaper(ledger),
        audit=audit,
        op_token_keys=_op_token_keys(settings),
        attempts=AttemptLimit(client, settings),
        proposals=open_proposals(client, settings),
        platform_key=PlatformKey(settings.data_dir),
        receipts=Receipts(client, settings.redis.prefix),
        streams=streams,
        model_feed=ModelFeed(SnapshotReader(fleet, fleet.state_changes)),
        health=SingleFlight(
            health_reader(RedisProbe(settings), fleet.serving_state, settings.queue), health.MAX_AGE_S
        ),
        runner_state=SingleFlight(runner_reader(fleet, ledger.waits), runner.MAX_AGE_S),
        cache_namespaces=namespaces,
        exposition=Exposition(settings),
        usage=UsageStore(client, settings),
        limit_use=LimitUseReader(client, settings),
        recent_refusals=RecentRefusalsReader(client, settings),
        process_report=process_report,
        recent_metrics=recent_metrics,
        preparations=(
            namespace_reader.read,
            registry.read_if_possible,
            catalogue_follower.read_if_possible,
        ),
        background=(
            subscription.run,
            subscriber.run,
            streams.run,
            namespace_reader.run,
            session_watch.run,
            catalogue_follower.run,
            partial(registry.run, connection),
            AuditSync(audit, connection).run,
            partial(recent_metrics.run, StateReader(settings).read),
            process_report.run,
        ),
        endings=(process_report.finish, namespace_reader.finish),
    )
    services.background += (
        partial(_start_proposals, services),
        FileSweeper(services.files, registry, services.batches).run,
        services.webhooks.run,
    )
    _add_batch_runner(services)
    _add_settler(services)
    return services


def open_proposals(client: redis.Redis, settings: Settings) -> ProposalStore:
    """The proposals, with the times of the configuration."""
    governance = settings.governance
    times = {"ttl_s": governance.proposal_ttl_s, "history_s": governance.history_s}
    return ProposalStore(client, settings.redis.prefix, **times)


async def _start_proposals(services: AppServices) -> None:
    from api.approvals.proposals import starter  # noqa: PLC0415 - it imports this module

    await starter.run(services)


def _add_batch_runner(services: AppServices) -> None:
    from api.batches.runner import BatchRunner  # noqa: PLC0415 - it imports this module

    runner = BatchRunner(services)
    services.background += (runner.run,)
    services.endings += (runner.stop,)
    services.on_new_batch = runner.wake


def _add_settler(services: AppServices) -> None:
    from api.inference.conversations.settling import Settler  # noqa: PLC0415 - it imports this module

    services.background += (Settler(services).run,)


def _op_token_keys(settings: Settings) -> SharedKeyFiles:
    try:
        return SharedKeyFiles(settings.governance.op_token_key_path)
    except KeyFileError as error:
        raise ConfigError(f"governance.op_token_key_path: {error}") from None


def current_services() -> AppServices:
    """The services of the app that handles the current request."""
    return cast(AppServices, current_app.extensions[EXTENSION])
