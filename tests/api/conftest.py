"""The API over rooms in memory: as a test client, and on a real port."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import openai
import pytest
from flask import Flask
from flask.testing import FlaskClient
from werkzeug.serving import make_server

from api.app import create_app
from api.auth.authenticator import Authenticator
from api.services import AppServices, ConcurrencyPermits
from api.streaming.disconnect_watcher import DisconnectWatcher
from config.settings import ApiSettings, ModelDefinition, Settings, Tenant
from config.tenants import Tenants, digest_of
from tests.support.api_fakes import Below, FakeAudit, FakeProbe, FakeReaper, below

KEY, OTHER_KEY, ADMIN_KEY = "sk-one", "sk-two", "sk-admin"


def tenants() -> dict[str, Tenant]:
    return {
        "one": Tenant("one", weight=2.0, api_keys_sha256=(digest_of(KEY),)),
        "two": Tenant("two", max_priority="normal", api_keys_sha256=(digest_of(OTHER_KEY),)),
        "boss": Tenant("boss", api_keys_sha256=(digest_of(ADMIN_KEY),), admin=True),
    }


@pytest.fixture
def settings(tmp_path: Any) -> Settings:
    models = {
        "demo": ModelDefinition("demo", "stub"),
        "org/deaf": ModelDefinition("org/deaf", "ct2", replica_max=2),
    }
    api = ApiSettings(threads=16, keep_alive_s=0.05, max_body_bytes=1_000_000)
    return Settings(data_dir=tmp_path, api=api, models=models, tenants=tenants())


@pytest.fixture
def rooms_below(settings: Settings) -> Below:
    return below(settings)


def make_rooms(settings: Settings, under: Below) -> AppServices:
    return AppServices(
        settings=settings,
        authenticator=Authenticator(settings, Tenants(settings)),
        ledger=under.ledger,  # type: ignore[arg-type]
        fleet=under.fleet,  # type: ignore[arg-type]
        changes=under.changes,  # type: ignore[arg-type]
        subscriber=under.subscriber,
        reaper=FakeReaper(),  # type: ignore[arg-type]
        audit=FakeAudit(),  # type: ignore[arg-type]
        probe=FakeProbe(under.fleet),  # type: ignore[arg-type]
        disconnects=DisconnectWatcher(),
        permits=ConcurrencyPermits(settings.api.threads),
    )


@pytest.fixture
def services(settings: Settings, rooms_below: Below) -> AppServices:
    return make_rooms(settings, rooms_below)


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
def open_app(settings: Settings, rooms_below: Below) -> Flask:
    """A platform without keys."""
    keyless = {name: replace(tenant, api_keys_sha256=()) for name, tenant in settings.tenants.items()}
    settings = replace(settings, tenants=keyless)
    return create_app(settings, make_rooms(settings, rooms_below))


@pytest.fixture
def port(app: Flask) -> Iterator[int]:
    """The app on a real port, with the client's socket where gunicorn puts it."""

    def as_gunicorn(environ: dict[str, Any], start_response: Callable[..., Any]) -> Any:
        environ["gunicorn.socket"] = environ.get("werkzeug.socket")
        return app(environ, start_response)

    server = make_server("127.0.0.1", 0, as_gunicorn, threaded=True)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    yield server.server_port
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def sdk(port: int) -> Iterator[openai.OpenAI]:
    """OpenAI's own client, refusing whatever is not exactly as its types say."""
    url = f"http://127.0.0.1:{port}/v1"
    with openai.OpenAI(api_key=KEY, base_url=url, max_retries=0, _strict_response_validation=True) as client:
        yield client
