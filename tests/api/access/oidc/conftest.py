"""An API process with a provider of sign-ins, and browsers in which people sign in."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest
from flask.testing import FlaskClient

from config.settings import OidcGroup, OidcSettings, Settings
from governance.audit import AuditLog
from tests.api.access.conftest import Process, services_of
from tests.api.access.test_sessions import SESSION, browser_of
from tests.support.oidc_provider import CLIENT_ID, OidcProvider

OIDC = "/v1/session/oidc"


@pytest.fixture
def provider() -> Iterator[OidcProvider]:
    with OidcProvider() as running:
        yield running


@pytest.fixture
def oidc_settings(shared_settings: Settings, provider: OidcProvider) -> Settings:
    groups = {
        "viewers": OidcGroup("viewer", "one"),
        "operators": OidcGroup("operator", "one"),
        "admins": OidcGroup("admin", "boss"),
    }
    oidc = OidcSettings(
        issuer=provider.issuer, client_id=CLIENT_ID, secret_variable="OIDC_SECRET", groups=groups, name="Acme"
    )
    return replace(shared_settings, oidc=oidc)


@pytest.fixture
def process(start: Callable[..., Process], oidc_settings: Settings) -> Process:
    return start(oidc_settings)


@pytest.fixture
def browser(process: Process) -> FlaskClient:
    return browser_of(process)


def begin(browser: FlaskClient, **body: Any) -> str:
    answer = browser.post(OIDC, json={"admin": True, **body})
    assert answer.status_code == 201, answer.json
    return str(answer.json["url"])


def finish(browser: FlaskClient, answer: dict[str, str]) -> Any:
    return browser.post(SESSION, json={"oidc": answer})


def sign_in_as(browser: FlaskClient, provider: OidcProvider, person: str) -> Any:
    answer = finish(browser, provider.authorize(begin(browser), person))
    assert answer.status_code == 201, answer.json
    return answer


def last_audited(process: Process) -> Any:
    return services_of(process)[AuditLog].recorded[-1]  # type: ignore[attr-defined]  # a FakeAudit


def logged_sign_ins(caplog: pytest.LogCaptureFixture) -> list[str]:
    """What the log has about sign-ins by the provider."""
    return [message for message in caplog.messages if "sign in: " in message or "sign-in was" in message]
