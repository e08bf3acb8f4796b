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
from werkzeug.routing import Rule
from werkzeug.serving import make_server

from api.access.access_store import AccessStore
from api.access.authenticator import Authenticator
from api.access.registry import AccessRegistry
from api.access.session_store import SessionStore
from api.access.session_watch import SessionWatch
from api.app import create_app
from api.approvals.lifecycle.attempts import AttemptLimit
from api.http.open_streams import OpenStreams
from api.http.single_flight import SingleFlight
from api.inference.catalogue_follower import CatalogueFollower
from api.operations.health import health_reader
from api.operations.metrics.exposition import Exposition
from api.operations.metrics.process_report import ProcessReport
from api.operations.metrics.recent import RecentMetrics
from api.operations.model_events import ModelFeed
from api.operations.model_runner import runner_reader
from api.operations.model_snapshots import SnapshotReader
from api.services import AppServices, open_proposals
from config.api_keys import digest_of
from config.settings import ApiSettings, ModelDefinition, RedisSettings, Settings, Tenant
from governance.audit import AuditLog
from governance.audit.chain_store import ChainStore
from governance.cache_namespaces import CacheNamespaces
from governance.op_tokens.key_files import SharedKeyFiles
from governance.platform_key import PlatformKey
from governance.receipts import Receipts
from scheduler.batches import BatchStore
from scheduler.counters import CounterStore
from scheduler.limit_use import LimitUseReader
from scheduler.recent_refusals import RecentRefusalsReader
from scheduler.usage import UsageStore
from scheduler.waits import Waits
from store.redis_connections import command_client
from tests.conftest import ValkeyServer
from tests.support import published_answers
from tests.support.api_fakes import (
    FakeAsyncLedger,
    FakeAudit,
    FakeReaper,
    FakeRedisProbe,
    Fakes,
    make_fakes,
)

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


@pytest.fixture(scope="session", autouse=True)
def _compiled_rules() -> Iterator[None]:
    """Compile what builds the URL of a rule once: it is most of the making of an app, and always the same."""
    compile_builder: Any = Rule._compile_builder
    known: dict[tuple[object, ...], Any] = {}

    def compiled(rule: Rule, append_unknown: bool = True) -> Any:
        key = (append_unknown, *rule._trace)
        if rule.defaults:
            return compile_builder(rule, append_unknown)
        if key not in known:
            known[key] = compile_builder(rule, append_unknown)
        return known[key]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Rule, "_compile_builder", compiled)
        yield


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
    services = AppServices(
        settings=settings,
        authenticator=Authenticator(settings, registry),
        registry=registry,
        access_store=store,
        batches=BatchStore(client, settings.redis.prefix),
        sessions=SessionStore(client, settings.redis.prefix),
        session_watch=SessionWatch(fakes.store, settings.redis.prefix),  # type: ignore[arg-type]
        ledger=fakes.ledger,  # type: ignore[arg-type]
        connection=fakes.store,  # type: ignore[arg-type]
        large_connection=fakes.store,  # type: ignore[arg-type]
        async_ledger=FakeAsyncLedger(fakes.ledger),  # type: ignore[arg-type]
        fleet=fakes.fleet,  # type: ignore[arg-type]
        catalogue_follower=CatalogueFollower(fakes.fleet.catalogue, fakes.store),  # type: ignore[arg-type]
        subscriber=fakes.subscriber,
        reaper=FakeReaper(),  # type: ignore[arg-type]
        audit=FakeAudit(ChainStore(client, settings.redis.prefix)),  # type: ignore[arg-type]
        op_token_keys=SharedKeyFiles(settings.governance.op_token_key_path),
        attempts=AttemptLimit(client, settings),
        recent_metrics=RecentMetrics(client, settings),
        proposals=open_proposals(client, settings),
        platform_key=PlatformKey(settings.data_dir),
        receipts=Receipts(client, settings.redis.prefix),
        health=SingleFlight(
            health_reader(FakeRedisProbe(fakes.fleet), fakes.fleet.serving_state, settings.queue), 0.0
        ),
        runner_state=SingleFlight(runner_reader(fakes.fleet, lambda: Waits(12, 40)), 0.0),  # type: ignore[arg-type]
        streams=streams,
        model_feed=ModelFeed(SnapshotReader(fakes.fleet, fakes.changes)),  # type: ignore[arg-type]
        cache_namespaces=namespaces,
        exposition=Exposition(settings),
        usage=UsageStore(client, settings),
        limit_use=LimitUseReader(client, settings),
        recent_refusals=RecentRefusalsReader(client, settings),
        process_report=ProcessReport(
            fakes.store,  # type: ignore[arg-type]
            CounterStore(client, settings),
            settings.redis.prefix,
            streams,
        ),
        preparations=(registry.read_if_possible,),
        background=(fakes.subscriber.run, streams.run),
    )
    fakes.ledger.loop = lambda: services.loop
    return services


@pytest.fixture
def services(settings: Settings, fakes: Fakes) -> Iterator[AppServices]:
    services = make_services(settings, fakes)
    services.start()
    yield services
    services.stop()


@pytest.fixture
def shared_settings(settings: Settings, shared_server: ValkeyServer) -> Settings:
    """The settings with a Redis that runs, under a prefix of the test's own."""
    return replace(settings, redis=RedisSettings(shared_server.url, f"t{secrets.token_hex(4)}"))


@pytest.fixture
def app(settings: Settings, services: AppServices) -> Flask:
    return create_app(settings, services)


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
    services.start()
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
