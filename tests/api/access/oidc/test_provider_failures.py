"""A provider that fails, refuses or has another clock: what it answers, and what is logged."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import orjson
import pytest
from flask.testing import FlaskClient

from api.access.oidc.provider_requests import MAX_BYTES
from tests.api.access.conftest import Process, error_of
from tests.api.access.oidc.conftest import OIDC, begin, finish, logged_sign_ins, sign_in_as
from tests.api.access.test_sessions import ADMIN_MODELS, SESSION, browser_of, sign_in
from tests.support.oidc_provider import OidcProvider


@pytest.mark.parametrize(
    "answer",
    [
        (500, b"{}"),
        (302, b""),
        (200, b"not JSON"),
        (200, b"[]"),
        (200, b'{"issuer": "https://other.example"}'),
        (200, b" " * (MAX_BYTES + 1)),
    ],
    ids=lambda answer: f"{answer[0]} {answer[1][:20]!r}",
)
def test_keys_work_on_while_the_provider_does_not(
    process: Process,
    browser: FlaskClient,
    provider: OidcProvider,
    answer: tuple[int, bytes],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("api.access.oidc.provider.FAILURE_KEPT_S", 60.0)
    provider.answers["/.well-known/openid-configuration"] = answer
    for _ in range(3):
        assert error_of(browser.post(OIDC, json={})) == (503, "provider_unavailable", None)
    assert len(provider.requests) == 1  # a failure is kept for a while
    assert sign_in(browser, admin=True).json["person"] is None
    assert process.get(ADMIN_MODELS).status_code == 200


def test_an_endpoint_without_https_is_not_used(browser: FlaskClient, provider: OidcProvider) -> None:
    document = provider.discovery() | {"token_endpoint": "http://provider.example/token"}
    provider.answers["/.well-known/openid-configuration"] = (200, orjson.dumps(document))
    assert error_of(browser.post(OIDC, json={})) == (503, "provider_unavailable", None)


def test_a_redirect_of_the_token_endpoint_is_not_followed(
    browser: FlaskClient, provider: OidcProvider
) -> None:
    provider.answers["/token"] = (307, b"")
    answer = finish(browser, provider.authorize(begin(browser), "vera"))
    assert error_of(answer) == (403, "sign_in_refused", None)
    assert provider.requests.count("/token") == 1


@pytest.mark.parametrize("status", [429, 500, 503])
def test_a_failure_of_the_token_endpoint_is_the_provider_s_and_is_logged_and_not_kept(
    browser: FlaskClient, provider: OidcProvider, caplog: pytest.LogCaptureFixture, status: int
) -> None:
    provider.answers["/token"] = (status, b'{"error": "server_error"}')
    for _ in range(2):
        refused = finish(browser, provider.authorize(begin(browser), "vera"))
        assert error_of(refused) == (503, "provider_unavailable", None)
    assert refused.headers["Retry-After"] == "5"
    expected = f"people cannot sign in: the provider answered {status} at {provider.issuer}/token"
    assert logged_sign_ins(caplog) == [expected] * 2  # as often as it was asked: anyone can send a code
    del provider.answers["/token"]
    sign_in_as(browser, provider, "vera")


def test_a_refusal_of_the_token_endpoint_is_logged_with_its_error_and_without_secrets(
    browser: FlaskClient, provider: OidcProvider, caplog: pytest.LogCaptureFixture
) -> None:
    shown = {"invalid_client": "invalid_client", "two\nlines": "401", "x" * 64: "401"}
    for error in shown:
        provider.answers["/token"] = (401, orjson.dumps({"error": error, "error_description": "secret"}))
        answer = provider.authorize(begin(browser), "vera")
        assert error_of(finish(browser, answer)) == (403, "sign_in_refused", None)
        assert answer["code"] not in caplog.text
    reason = "the provider refused the code of this sign-in ({}): sign in again"
    logged = [f"a sign-in was refused (sign_in_refused): {reason.format(text)}" for text in shown.values()]
    assert logged_sign_ins(caplog) == logged


@pytest.mark.parametrize("answer", [(500, b"{}"), (200, b"{}")], ids=["500", "without keys"])
def test_a_failure_to_read_the_keys_is_logged_once_and_kept(
    browser: FlaskClient, provider: OidcProvider, caplog: pytest.LogCaptureFixture, answer: tuple[int, bytes]
) -> None:
    provider.answers["/keys"] = answer
    for _ in range(2):
        refused = finish(browser, provider.authorize(begin(browser), "vera"))
        assert error_of(refused) == (503, "provider_unavailable", None)
    assert provider.requests.count("/keys") == 1
    (message,) = logged_sign_ins(caplog)
    assert message == f"people cannot sign in: {refused.json['error']['message']}"


@pytest.mark.parametrize(
    ("ahead_s", "message"),
    [
        (-120, "the provider's token is not valid: The token was issued in the future"),
        (400, "the provider's token is not valid: The token is expired"),
        (700, "the provider's token is too old; check the clocks of both hosts"),
    ],
    ids=["behind", "beyond the token's end", "beyond ten minutes"],
)
def test_another_clock_of_this_host_is_explained_as_the_documentation_has_it(
    browser: FlaskClient,
    provider: OidcProvider,
    caplog: pytest.LogCaptureFixture,
    ahead_s: int,
    message: str,
) -> None:
    issued_at = int(time.time()) - ahead_s
    provider.claims = {"iat": issued_at, "exp": issued_at + (3600 if ahead_s == 700 else 300)}
    refused = finish(browser, provider.authorize(begin(browser), "vera"))
    assert error_of(refused) == (403, "sign_in_refused", None)
    assert refused.json["error"]["message"] == message
    assert logged_sign_ins(caplog) == [f"a sign-in was refused (sign_in_refused): {message}"]
    rows = (Path(__file__).parents[4] / "docs/people.md").read_text().splitlines()
    assert any(row.startswith(f"| {message} |") for row in rows)


def test_a_platform_without_a_provider_answers_404(start: Callable[..., Process]) -> None:
    browser = browser_of(start())
    assert browser.get(SESSION).json["provider"] is None
    assert error_of(browser.post(OIDC, json={})) == (404, "not_found", None)
