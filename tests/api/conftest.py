"""The API over in-memory fakes: as a test client, and on a real port."""

from __future__ import annotations

import math
import secrets
import threading
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import openai
import pytest
from flask import Flask
from flask.testing import FlaskClient
from werkzeug.serving import make_server

from api.access.access_store import AccessStore
from api.access.account_routes import AccountLimits
from api.access.authenticator import Authenticator
from api.access.key_usage_report import ReportTurns
from api.access.oidc.provider import OidcProvider
from api.access.oidc.sign_in_store import SignInStore
from api.access.registry import AccessRegistry
from api.access.session_store import SessionStore
from api.access.session_watch import SessionWatch
from api.approvals.lifecycle.attempts import AttemptLimit
from api.approvals.proposals.comparison import ComparedLoads
from api.batches.leader import BatchLeader
from api.files.job_folders import JobFolders
from api.files.store import open_store
from api.files.upload_sink import Uploads
from api.http.open_streams import OpenStreams
from api.http.shutdown_flag import ShutdownFlag
from api.inference.answer.large_reads import ConversationJoins, LogReads
from api.inference.answer.queue_notes import QueueNotes
from api.inference.answer.vector_answer import VectorTurns
from api.inference.catalogue_follower import CatalogueFollower
from api.inference.conversations.store import ConversationStore
from api.inference.document_reader import DocumentReader
from api.inference.media.results import Results
from api.inference.queue_orders import QueueOrders
from api.operations.health import HealthReader
from api.operations.metrics.exposition import Exposition
from api.operations.metrics.process_report import ProcessReport
from api.operations.metrics.sample_store import MetricSamples
from api.operations.model_events import ModelFeed
from api.operations.model_facts import ModelFacts
from api.operations.model_runner import RunnerStateReader
from api.operations.model_snapshots import SnapshotReader
from api.operations.router.feed import RouterFeed
from api.services import AppServices
from api.tools.mcp.servers import McpServers
from api.tools.toolbox import Toolbox
from api.webhooks.sender import WebhookSender
from api.webhooks.store import WebhookStore
from api.webhooks.targets import targets_of
from api.wiring import open_proposals
from config.api_keys import digest_of
from config.settings import (
    OIDC_SECRET_VARIABLE,
    ApiSettings,
    ModelDefinition,
    RedisSettings,
    Settings,
    Tenant,
)
from fleet.adding.plan import plan_addition
from fleet.fleet import Fleet
from fleet.presets import PresetService
from governance.audit import AuditLog
from governance.audit.chain_store import ChainStore
from governance.cache_namespaces import CacheNamespaces
from governance.op_tokens.key_files import SharedKeyFiles
from governance.platform_key import PlatformKey
from governance.receipts import Receipts
from scheduler.batches import BatchStore
from scheduler.budgets import BudgetReader
from scheduler.counters import CounterStore
from scheduler.ledger import AsyncLedger, Ledger
from scheduler.limit_use import LimitUseReader
from scheduler.rejection_log import RejectionLog
from scheduler.usage import UsageStore
from scheduler.waits import WaitTimes
from store.async_connection import AsyncConnection
from store.redis_connections import command_client
from streams.subscriber import EventSubscriber
from tests.conftest import ValkeyServer
from tests.support import published_answers
from tests.support.api_fakes import (
    FakeAsyncLedger,
    FakeAudit,
    FakeRedisProbe,
    Fakes,
    FakeUsage,
    make_fakes,
)
from tests.support.oidc_provider import CLIENT_SECRET
from tests.support.wsgi_answers import create_app, start_services

KEY, OTHER_KEY, ADMIN_KEY = "sk-one", "sk-two", "sk-admin"


def tenants() -> dict[str, Tenant]:
    return {
        "one": Tenant("one", weight=2.0, api_keys_sha256=(digest_of(KEY),)),
        "two": Tenant("two", max_priority="normal", api_keys_sha256=(digest_of(OTHER_KEY),)),
        "boss": Tenant("boss", api_keys_sha256=(digest_of(ADMIN_KEY),), admin=True),
    }


@pytest.fixture(scope="package")
def answer_checks() -> Iterator[list[str]]:
    if not published_answers.IS_INSTALLED:
        yield []
        return
    with published_answers.checked_answers() as found:
        yield found


@pytest.fixture(autouse=True)
def _answers_fit_the_published_schemas(answer_checks: list[str]) -> Iterator[None]:
    """Each answer of an app to a test of this folder is checked (tests/support/published_schemas.py)."""
    answer_checks.clear()
    yield
    assert not answer_checks, "\n".join(answer_checks)


@pytest.fixture
def settings(tmp_path: Any) -> Settings:
    models = {
        "demo": ModelDefinition("demo", "stub", options={"stub_lora": {"pirate": "/srv/pirate"}}),
        "org/plain": ModelDefinition("org/plain", "ct2", replica_max=2),
    }
    api = ApiSettings(threads=16, keep_alive_s=0.05, max_body_bytes=1_000_000)
    return Settings(data_dir=tmp_path, api=api, models=models, tenants=tenants())


@pytest.fixture
def fakes(settings: Settings) -> Fakes:
    return make_fakes(settings)


def make_services(settings: Settings, fakes: Fakes, *, with_redis: bool = False) -> AppServices:
    """The services over the fakes; `with_redis`: tenants and keys are in the Redis of the settings."""
    client = command_client(settings)
    store = AccessStore(
        client, settings.redis.prefix, AuditLog(client, settings.redis.prefix, settings.data_dir / "audit")
    )
    streams = OpenStreams(settings.api.max_streams, settings.api.keep_alive_s, several_tenants=True)
    namespaces = CacheNamespaces()
    namespaces.adopt(b"a secret", {}, read_at=math.inf)
    registry = AccessRegistry(settings, store if with_redis else None)
    services = AppServices()
    ledger = FakeAsyncLedger(fakes.ledger)
    orders = QueueOrders(ledger)  # type: ignore[arg-type]
    files = open_store(settings)
    services.add(
        settings,
        registry,
        store,
        streams,
        namespaces,
        orders,
        files,
        Authenticator(settings, registry),
        BatchStore(client, settings.redis.prefix),
        SessionStore(client, settings.redis.prefix),
        SignInStore(client, settings.redis.prefix, namespaces),
        OidcProvider(
            settings.oidc,
            settings.api.threads,
            dict.fromkeys(("OIDC_SECRET", OIDC_SECRET_VARIABLE), CLIENT_SECRET),
        ),
        SharedKeyFiles(settings.governance.op_token_key_path),
        AttemptLimit(client, settings),
        MetricSamples(client, settings),
        open_proposals(client, settings),
        PlatformKey(settings.data_dir),
        Receipts(client, settings.redis.prefix),
        Exposition(settings),
        UsageStore(client, settings),
        BudgetReader(client, settings),
        LimitUseReader(client, settings),
        RejectionLog(client, settings),
        QueueNotes(orders),
        ShutdownFlag(),
        AccountLimits(),
        ReportTurns(),
        ComparedLoads(),
        ConversationJoins(),
        LogReads(),
        VectorTurns(),
        DocumentReader(settings, files),
        Uploads(files, settings.files),
        HealthReader(FakeRedisProbe(fakes.fleet), fakes.fleet.serving_state, settings.queue, 0.0),
    )
    services[SessionWatch] = SessionWatch(fakes.store, settings.redis.prefix)
    services[Ledger] = fakes.ledger
    services[JobFolders] = JobFolders(files, fakes.ledger)
    services[Results] = Results(settings, fakes.ledger, namespaces)
    services[AsyncLedger] = ledger
    services[AsyncConnection] = fakes.store
    services[Fleet] = fakes.fleet
    services[CatalogueFollower] = CatalogueFollower(fakes.fleet.catalogue, fakes.store)
    services[EventSubscriber] = fakes.subscriber
    services[AuditLog] = FakeAudit(ChainStore(client, settings.redis.prefix))
    services[RunnerStateReader] = RunnerStateReader(fakes.fleet, lambda: {"demo": WaitTimes(12, 40)}, 0.0)
    services[ModelFeed] = ModelFeed(SnapshotReader(fakes.fleet, fakes.changes))
    services.add(
        RouterFeed(services[ModelFeed]),
        ModelFacts(fakes.fleet, FakeUsage(), settings, 0.0),
        PresetService(fakes.fleet, settings, plan_addition, lambda _: None),  # type: ignore[arg-type]
    )
    services[ProcessReport] = ProcessReport(
        fakes.store, CounterStore(client, settings), settings.redis.prefix, streams
    )
    services[ConversationStore] = ConversationStore(fakes.store, fakes.store, settings)
    webhooks = settings.webhooks
    pending = WebhookStore(fakes.store, settings.redis.prefix)
    services[WebhookSender] = WebhookSender(
        webhooks, targets_of(webhooks), pending, ledger, fakes.subscriber.name
    )
    services.add(BatchLeader(services), Toolbox(settings, McpServers(settings)))
    services.preparations.append(registry.read_if_possible)
    services.background += [fakes.subscriber.run, streams.run, services[QueueNotes].run]
    services.endings += [
        services[ModelFeed].close,
        services[HealthReader].stop,
        services[RunnerStateReader].stop,
    ]
    fakes.ledger.loop = lambda: services.loop
    return services


@pytest.fixture
def made_services(settings: Settings, fakes: Fakes) -> AppServices:
    """The services before their start; modules with others replace this fixture."""
    return make_services(settings, fakes)


@pytest.fixture
def services(made_services: AppServices) -> Iterator[AppServices]:
    start_services(made_services)
    yield made_services
    made_services.stop()


@pytest.fixture
def shared_settings(settings: Settings, shared_server: ValkeyServer) -> Settings:
    """The settings with a Redis that runs, under a prefix of the test's own."""
    return replace(settings, redis=RedisSettings(shared_server.url, f"t{secrets.token_hex(4)}"))


@pytest.fixture
def app(settings: Settings, services: AppServices) -> Flask:
    return create_app(settings, services)


@pytest.fixture
def new_app(settings: Settings, services: AppServices) -> Flask:
    """An app that shares nothing with those of other tests, to which routes may be added."""
    return create_app(settings, services, is_new=True)


@pytest.fixture
def http(app: Flask) -> FlaskClient:
    """A client with the first tenant's key."""
    client = app.test_client()
    client.environ_base["HTTP_AUTHORIZATION"] = f"Bearer {KEY}"
    return client


@pytest.fixture
def open_app(settings: Settings, fakes: Fakes) -> Flask:
    """The app of a platform without API keys."""
    keyless = {name: replace(tenant, api_keys_sha256=()) for name, tenant in settings.tenants.items()}
    settings = replace(settings, tenants=keyless)
    services = make_services(settings, fakes)
    start_services(services)
    return create_app(settings, services)


@pytest.fixture
def port(app: Flask) -> Iterator[int]:
    """The port of the running app."""
    server = make_server("127.0.0.1", 0, app, threaded=True)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    yield server.server_port
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def sdk(port: int) -> Iterator[openai.OpenAI]:
    """OpenAI's own client, which validates every response strictly against its types."""
    url = f"http://127.0.0.1:{port}/v1"
    with openai.OpenAI(api_key=KEY, base_url=url, max_retries=0, _strict_response_validation=True) as client:
        yield client
