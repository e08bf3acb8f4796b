"""The provider's tokens: forged ones, wrong claims, and the keys of their signatures."""

from __future__ import annotations

import hmac
import time
from base64 import urlsafe_b64encode
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import orjson
import pytest
from flask.testing import FlaskClient
from joserfc import jwt
from joserfc.jwk import ECKey, OctKey, RSAKey

from api.access.oidc import provider as provider_module
from tests.api.access.conftest import error_of
from tests.api.access.oidc.conftest import begin, finish, sign_in_as
from tests.api.access.test_sessions import SESSION
from tests.support.oidc_provider import CLIENT_ID, OidcProvider


def bad_key_token(provider: OidcProvider) -> Callable[[dict[str, Any]], str]:
    other = RSAKey.generate_key(2048, {"kid": provider.key.kid})
    return lambda claims: jwt.encode({"alg": "RS256", "kid": other.kid}, claims, other)


def hmac_token(provider: OidcProvider) -> Callable[[dict[str, Any]], str]:
    """A token whose HMAC has the provider's public key as its secret, which joserfc itself does not make."""
    secret = provider.key.as_pem(private=False)

    def sign(claims: dict[str, Any]) -> str:
        parts = [urlsafe_b64encode(orjson.dumps(part)) for part in ({"alg": "HS256", "kid": "first"}, claims)]
        signed = b".".join(part.rstrip(b"=") for part in parts)
        digest = hmac.new(secret, signed, "sha256").digest()
        return b".".join((signed, urlsafe_b64encode(digest).rstrip(b"="))).decode()

    return sign


def unsigned_token(_: OidcProvider) -> Callable[[dict[str, Any]], str]:
    return lambda claims: jwt.encode({"alg": "none"}, claims, OctKey.generate_key(128), algorithms=["none"])


def small_key_token(provider: OidcProvider) -> Callable[[dict[str, Any]], str]:
    provider.key = RSAKey.generate_key(1024, {"kid": "small"})
    return lambda claims: jwt.encode({"alg": "RS256", "kid": "small"}, claims, provider.key)


@pytest.mark.filterwarnings("ignore::joserfc.errors.SecurityWarning")
@pytest.mark.parametrize(
    "forge", [bad_key_token, hmac_token, unsigned_token, small_key_token], ids=lambda f: f.__name__
)
def test_a_token_without_a_signature_of_the_provider_is_refused(
    browser: FlaskClient, provider: OidcProvider, forge: Callable[..., Callable[[dict[str, Any]], str]]
) -> None:
    provider.sign = forge(provider)
    answer = finish(browser, provider.authorize(begin(browser), "ada"))
    assert error_of(answer) == (403, "sign_in_refused", None)
    assert browser.get(SESSION).json["signed_in"] is False


@pytest.mark.parametrize(
    "claims",
    [
        {"iss": "https://other.example"},
        {"aud": "another client"},
        {"aud": [CLIENT_ID, "another client"]},
        {"aud": [CLIENT_ID, "other"], "azp": "other"},
        {"azp": "another client"},
        {"exp": timedelta(seconds=-120)},
        {"exp": None},
        {"exp": "never"},
        {"nbf": timedelta(hours=1)},
        {"iat": timedelta(hours=-1)},
        {"nonce": "of another sign-in"},
        {"nonce": None},
        {"sub": None},
        {"sub": "x" * 256},
        {"sub": ["a"]},
        {"name": "x" * 70_000},
    ],
    ids=lambda claims: str(claims)[:60],
)
def test_a_token_with_wrong_claims_is_refused(
    browser: FlaskClient, provider: OidcProvider, claims: dict[str, Any]
) -> None:
    provider.claims = {
        name: time.time() + value.total_seconds() if isinstance(value, timedelta) else value
        for name, value in claims.items()
    }
    answer = finish(browser, provider.authorize(begin(browser), "ada"))
    assert error_of(answer) == (403, "sign_in_refused", None)


def test_a_new_key_of_the_provider_is_read_when_its_keys_have_no_names(
    browser: FlaskClient, provider: OidcProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(provider_module, "KEYS_GAP_S", 0.0)
    provider.key = RSAKey.generate_key(2048, {"kid": ""})
    sign_in_as(browser, provider, "vera")
    provider.key = RSAKey.generate_key(2048, {"kid": ""})
    sign_in_as(browser, provider, "vera")


@pytest.mark.parametrize("token", ["", "a.b", "a.b.c", "a.b.c.d.e", "ü", 7, None])
def test_a_token_of_another_form_is_refused(
    browser: FlaskClient, provider: OidcProvider, token: object
) -> None:
    provider.answers["/token"] = (200, orjson.dumps({"id_token": token}))
    answer = finish(browser, provider.authorize(begin(browser), "ada"))
    assert error_of(answer) == (403, "sign_in_refused", None)


def test_a_new_key_of_the_provider_is_read_and_an_unknown_one_is_not_read_each_time(
    browser: FlaskClient, provider: OidcProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    sign_in_as(browser, provider, "vera")
    provider.key, provider.algorithm = ECKey.generate_key("P-256", {"kid": "second"}), "ES256"
    monkeypatch.setattr(provider_module, "KEYS_GAP_S", 0.0)
    sign_in_as(browser, provider, "vera")
    assert provider.requests.count("/keys") == 2
    monkeypatch.setattr(provider_module, "KEYS_GAP_S", 60.0)
    provider.key = ECKey.generate_key("P-256", {"kid": "third"})
    for _ in range(3):
        refused = finish(browser, provider.authorize(begin(browser), "vera"))
        assert error_of(refused) == (403, "sign_in_refused", None)
    assert provider.requests.count("/keys") == 2
