"""Makes the services of one API process and all that runs in its background. It may import every folder."""

from __future__ import annotations

import asyncio
import math
from functools import partial

import redis

from api.access.access_store import AccessStore
from api.access.account_routes import AccountLimits
from api.access.authenticator import Authenticator
from api.access.key_usage_report import ReportTurns
from api.access.oidc.provider import OidcProvider
from api.access.oidc.sign_in_store import SignInStore
from api.access.registry import AccessRegistry
from api.access.session_store import SessionStore
from api.access.session_watch import SessionWatch
from api.approvals.audit_sync import AuditSync
from api.approvals.lifecycle.attempts import AttemptLimit
from api.approvals.proposals import starter
from api.approvals.proposals.comparison import ComparedLoads
from api.batches.leader import BatchLeader
from api.batches.record import is_batch_id
from api.files.job_folders import JobFolders
from api.files.store import open_store
from api.files.sweeper import FileSweeper
from api.files.upload_sink import Uploads
from api.http.open_streams import OpenStreams
from api.http.shutdown_flag import ShutdownFlag
from api.inference.answer.large_reads import ConversationJoins, LogReads
from api.inference.answer.queue_notes import QueueNotes
from api.inference.answer.store_watch import StoreWatch
from api.inference.answer.vector_answer import VectorTurns
from api.inference.catalogue_follower import CatalogueFollower
from api.inference.conversations.settling import Settler
from api.inference.conversations.store import ConversationStore
from api.inference.demand_looker import DemandLooker
from api.inference.document_reader import DocumentReader
from api.inference.media.results import Results
from api.inference.namespace_reader import WAKE, NamespaceReader
from api.inference.queue_orders import QueueOrders
from api.inference.resumable.sizes import StreamSizes
from api.operations.alerts.store import Alerts
from api.operations.health import HealthReader
from api.operations.hub_routes import HubAnswers
from api.operations.metrics.collector import StateReader
from api.operations.metrics.exposition import Exposition
from api.operations.metrics.process_report import ProcessReport
from api.operations.metrics.sample_store import MetricSamples
from api.operations.model_events import ModelFeed
from api.operations.model_facts import ModelFacts
from api.operations.model_runner import RunnerStateReader
from api.operations.model_snapshots import SnapshotReader
from api.operations.router.feed import RouterFeed
from api.operations.router.preset_follower import PresetFollower
from api.services import AppServices
from api.tools.mcp.servers import McpServers
from api.tools.toolbox import Toolbox
from api.webhooks.sender import WebhookSender
from api.webhooks.store import WebhookStore
from api.webhooks.target_states import TargetStates
from api.webhooks.targets import targets_of
from config.limits import Budget, budget_of
from config.settings import ALERT_EVENTS, Settings
from fleet.adding.plan import plan_addition
from fleet.fleet import Fleet
from fleet.load_request import LoadOutcome
from fleet.models_file import ModelsFile
from fleet.presets import PresetService
from fleet.reaper import Reaper
from fleet.shared_files import note_mark
from generation.job_folder import files_root
from governance.audit import AUDIT_FOLDER, AuditLog
from governance.cache_namespaces import CacheNamespaces
from governance.op_tokens.key_files import configured_keys
from governance.platform_key import PlatformKey
from governance.proposals.store import ProposalStore
from governance.receipts import Receipts
from scheduler.batches import BatchStore
from scheduler.budgets import BudgetReader
from scheduler.counters import CounterStore
from scheduler.ledger import AsyncLedger, Ledger
from scheduler.limit_use import LimitUseReader
from scheduler.rejection_log import RejectionLog
from scheduler.usage import UsageStore
from store.async_connection import AsyncConnection
from store.redis_connections import command_client
from store.subscription import Subscription
from streams.subscriber import EventSubscriber

PROBE_TIMEOUT_S = 2.0
"""How long a health check waits for the reply to its write, and for the connect before it."""


def make_services(settings: Settings) -> AppServices:
    """Make the services.

    Raises `ConfigError` when the platform would be open to the network, and for keys of opTokens that cannot
    be used.
    """
    services = AppServices()
    services.add(settings, CacheNamespaces(), ShutdownFlag(), PlatformKey(settings.data_dir))
    services.add(Exposition(settings, budgets=partial(_budgets, services)))
    _add_stores(services, command_client(settings))
    large_connection = _add_events(services)
    _add_callers(services)
    _add_inference(services)
    _add_tools(services)
    _add_operations(services)
    _add_batches(services)
    reaper = Reaper(services[Fleet].registry)
    services.preparations.append(reaper.start)
    services.background.append(partial(starter.run, services))
    services.endings.append(reaper.stop)
    services.endings.append(partial(_close, services, services[AsyncConnection], large_connection))
    return services


def probe_client(settings: Settings) -> redis.Redis:
    """Return a client for calls that must not wait long."""
    client = command_client(settings)
    timeouts = {"socket_timeout": PROBE_TIMEOUT_S, "socket_connect_timeout": PROBE_TIMEOUT_S}
    client.connection_pool.connection_kwargs.update(timeouts)
    return client


class RedisProbe:
    """Checks whether Redis takes writes: with a full disk it still answers reads."""

    def __init__(self, settings: Settings) -> None:
        self._ledger = Ledger(probe_client(settings), settings)

    def write(self) -> None:
        """Write. Raises `StorageUnavailable` or `StorageFull`."""
        self._ledger.ping()


def open_proposals(client: redis.Redis, settings: Settings) -> ProposalStore:
    """Return the proposals, with the times of the configuration."""
    ttl_s = settings.governance.proposal_ttl_s
    return ProposalStore(client, settings.redis.prefix, ttl_s=ttl_s)


def _add_stores(services: AppServices, client: redis.Redis) -> None:
    """Add what reads and writes Redis by short calls in threads."""
    settings = services[Settings]
    prefix = settings.redis.prefix
    audit = AuditLog(client, prefix, settings.data_dir / AUDIT_FOLDER)
    services.add(
        audit,
        AccessStore(client, prefix, audit),
        AccountLimits(),
        AttemptLimit(client, settings),
        BatchStore(client, prefix),
        BudgetReader(client, settings),
        ComparedLoads(),
        Fleet(client, settings),
        Ledger(client, settings),
        LimitUseReader(client, settings),
        open_proposals(client, settings),
        Receipts(client, prefix),
        ReportTurns(),
        RejectionLog(client, settings),
        SessionStore(client, prefix),
        SignInStore(client, prefix, services[CacheNamespaces]),
        UsageStore(client, settings),
        configured_keys(settings),
    )


def _add_events(services: AppServices) -> AsyncConnection:
    """Add the connection of the event loop, and what receives events over it; return that for large requests.

    Small requests need not wait behind large ones.
    """
    settings = services[Settings]
    prefix = settings.redis.prefix
    connection, large_connection = AsyncConnection(settings), AsyncConnection(settings)
    subscriber = EventSubscriber(connection, prefix)
    namespaces = NamespaceReader(
        services[CacheNamespaces], probe_client(settings), connection, prefix, process=subscriber.name
    )

    def on_message(message: bytes) -> None:
        if message == WAKE:
            namespaces.wake()
        else:
            subscriber.deliver(message)

    subscription = Subscription(settings, subscriber.channel, on_message, subscriber.catch_up_all)
    services.add(
        connection,
        subscriber,
        AsyncLedger(connection, settings, large_connection),
        ConversationStore(connection, large_connection, settings),
    )
    services.preparations.append(namespaces.read)
    services.background += [
        subscription.run,
        subscriber.run,
        namespaces.run,
        AuditSync(services[AuditLog], connection).run,
    ]
    services.endings.append(namespaces.finish)
    return large_connection


def _add_callers(services: AppServices) -> None:
    """Add what knows tenants, keys, sessions and their open streams."""
    settings, connection = services[Settings], services[AsyncConnection]
    registry = AccessRegistry(settings, services[AccessStore])
    several = registry.identities.several_tenants
    keep_alive_s = min(settings.api.keep_alive_s, settings.api.whole_keep_alive_s or math.inf)
    streams = OpenStreams(settings.api.max_streams, keep_alive_s, several_tenants=several)
    registry.on_change.append(lambda new: setattr(streams, "several_tenants", new.several_tenants))
    session_watch = SessionWatch(connection, settings.redis.prefix)
    provider = OidcProvider(settings.oidc, settings.api.threads)
    services.add(registry, streams, session_watch, provider, Authenticator(settings, registry))
    services.preparations.append(registry.read_if_possible)
    services.background += [partial(registry.run, connection), streams.run, session_watch.run]


def _close(services: AppServices, *connections: AsyncConnection) -> None:
    for connection in connections:
        asyncio.run_coroutine_threadsafe(connection.close(), services.loop)


def _add_inference(services: AppServices) -> None:
    settings, connection = services[Settings], services[AsyncConnection]
    files = open_store(settings)
    orders = QueueOrders(services[AsyncLedger])
    notes = QueueNotes(orders)
    models_file = ModelsFile(settings.data_dir, services[Fleet].scripts)
    catalogue = CatalogueFollower(services[Fleet].catalogue, connection, models_file)
    demand = DemandLooker(services[Fleet])
    pending = WebhookStore(connection, settings.redis.prefix)
    webhooks = WebhookSender(
        settings.webhooks,
        targets_of(settings.webhooks),
        pending,
        services[AsyncLedger],
        services[EventSubscriber].name,
    )
    services.add(
        files,
        orders,
        notes,
        catalogue,
        demand,
        webhooks,
        ConversationJoins(),
        DocumentReader(settings, files),
        LogReads(),
        VectorTurns(),
        StreamSizes(services),
        Uploads(files, settings.files),
        Results(settings, services[Ledger], services[CacheNamespaces]),
    )
    services.preparations.append(catalogue.read_if_possible)
    batches, jobs = services[BatchStore], JobFolders(files, services[Ledger])
    services.add(jobs)
    client, prefix = services[Fleet].client, settings.redis.prefix
    sweeper = FileSweeper(
        files,
        services[AccessRegistry],
        batches,
        jobs,
        is_batch_id,
        note_mark=lambda: note_mark(client, prefix, files_root(settings)),
    )
    services.background += [catalogue.run, demand.run, notes.run]
    services.background += [webhooks.run, sweeper.run, Settler(services).run]


def _add_tools(services: AppServices) -> None:
    servers = McpServers(services[Settings])
    services.add(Toolbox(services[Settings], servers))
    services.preparations.append(servers.check)
    services.endings.append(servers.stop)


def _add_operations(services: AppServices) -> None:
    settings, fleet, connection = services[Settings], services[Fleet], services[AsyncConnection]
    report = ProcessReport(
        connection,
        CounterStore(probe_client(settings), settings),
        settings.redis.prefix,
        services[OpenStreams],
    )
    recent = MetricSamples(
        probe_client(settings), settings, lambda: services[AccessRegistry].identities.tenants
    )
    targets = {
        event: [name for name, target in settings.webhooks.targets.items() if event in target.events]
        for event in ALERT_EVENTS
    }
    alerts = Alerts(probe_client(settings), settings, targets)
    hooks = TargetStates(probe_client(settings), settings.redis.prefix, settings.webhooks.targets)
    feed = ModelFeed(SnapshotReader(fleet, fleet.state_changes))
    probe = RedisProbe(settings)
    health = HealthReader(probe, fleet.serving_state, settings.queue)
    runner = RunnerStateReader(fleet, services[Ledger].waits)
    presets = PresetService(fleet, settings, plan_addition, _notify)
    services.add(report, recent, alerts, hooks, feed, health, runner, HubAnswers(), RouterFeed(feed), presets)
    services.add(ModelFacts(fleet, services[UsageStore], settings))
    state = StateReader(settings, budgets=partial(_budgets, services))
    services.background += [partial(recent.run, state.read), partial(alerts.run, state.read), report.run]
    services.background += [PresetFollower(presets).run, StoreWatch(services[OpenStreams], probe.write).run]
    services.endings += [report.finish, feed.close, health.stop, runner.stop]


def _budgets(services: AppServices) -> dict[str, Budget]:
    """The budgets of tenants by name, as this process knows them."""
    tenants = services[AccessRegistry].identities.tenants.values()
    return {tenant.name: budget for tenant in tenants if (budget := budget_of(tenant)) is not None}


def _notify(outcome: LoadOutcome) -> None:
    """Send the workers what an outcome names."""
    from tasks.definitions import notify_workers  # noqa: PLC0415 - Celery is a heavy import, and only this needs it

    notify_workers(outcome)


def _add_batches(services: AppServices) -> None:
    batches = BatchLeader(services)
    services.add(batches)
    services.background.append(batches.run)
    services.endings.append(batches.stop)
