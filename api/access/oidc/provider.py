"""The OpenID Connect provider: its addresses, its keys, and the exchange of a code for the ID token.

What was read is kept: the addresses and the keys for an hour, a failure to read them for some seconds, so
that a provider that is away is not asked by every visitor of the sign-in page.
"""

from __future__ import annotations

import asyncio
import base64
import logging
import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

from api.access.oidc.errors import ProviderUnavailable, SignInRefused
from api.access.oidc.id_token import MAX_KEYS, Expected, UnknownKey, verify_id_token
from api.access.oidc.provider_requests import ProviderRequests, failed_answer
from config.errors import ConfigError
from config.oidc_schema import is_safe_url
from config.settings import OIDC_SECRET_VARIABLE, OidcSettings

logger = logging.getLogger("api")

KEPT_S = 3600.0
FAILURE_KEPT_S = 5.0
KEYS_GAP_S = 30.0
"""The least time between two readings of the keys because of unknown ones: clients choose the tokens."""

WAITING_SHARE = 4
"""One in so many of the threads for short requests may wait for the provider."""

DISCOVERY = "/.well-known/openid-configuration"
FORM = "application/x-www-form-urlencoded"


@dataclass(frozen=True, slots=True)
class Endpoints:
    """What a sign-in needs of the provider's discovery document."""

    authorization: str
    token: str
    keys: str
    secret_in_body: bool
    names_issuer: bool
    """Whether the answer to an authorization names the issuer (RFC 9207)."""


class OidcProvider:
    """The configured provider. Its coroutines are for the event loop's thread only.

    `threads` are those that serve short requests: a request waits in one of them. Raises `ConfigError` when
    the variable of the client's secret is not set.
    """

    def __init__(self, settings: OidcSettings, threads: int, environ: Mapping[str, str] = os.environ) -> None:
        self.settings = settings
        self._max_waiting = max(1, threads // WAITING_SHARE)
        self._secret = environ.get(settings.secret_variable or OIDC_SECRET_VARIABLE) or None
        if settings.issuer is not None and settings.secret_variable and not self._secret:
            raise ConfigError(
                f"oidc.secret_variable: {settings.secret_variable} is not set in the environment of the API: "
                "set it to the secret that the provider gave to this client"
            )
        self._endpoints: Endpoints | None = None
        self._endpoints_at = self._failed_at = self._keys_at = float("-inf")
        self._failure = ""
        self._keys: list[dict[str, Any]] = []
        self._lock = asyncio.Lock()
        self._waiting = 0
        self._requests = ProviderRequests()

    @property
    def is_configured(self) -> bool:
        """Whether people can sign in."""
        return self.settings.issuer is not None

    async def authorization_url(self, parameters: Mapping[str, str]) -> str:
        """The address at which the person signs in, with these parameters. Raises `ProviderUnavailable`."""
        with self._turn():
            endpoints = await self._current_endpoints()
        mark = "&" if urlsplit(endpoints.authorization).query else "?"
        return f"{endpoints.authorization}{mark}{urlencode(parameters, quote_via=quote)}"

    async def _current_endpoints(self) -> Endpoints:
        async with self._lock:
            now = time.monotonic()
            if self._endpoints is not None and now - self._endpoints_at < KEPT_S:
                return self._endpoints
            with self._failure_kept():
                document = await self._requests.get(f"{str(self.settings.issuer).rstrip('/')}{DISCOVERY}")
                self._endpoints = self._checked(document)
            self._endpoints_at = time.monotonic()
            return self._endpoints

    async def exchange(self, code: str, redirect_url: str, verifier: str, nonce: str) -> dict[str, Any]:
        """The verified claims of the ID token for a code.

        Raises `ProviderUnavailable`, which is logged, and `SignInRefused`.
        """
        with self._turn():
            endpoints = await self._current_endpoints()
            with _failure_logged():
                token = await self._token(endpoints, code, redirect_url, verifier)
            return await self._verified(endpoints, token, nonce)

    async def _verified(self, endpoints: Endpoints, token: str, nonce: str) -> dict[str, Any]:
        expected = Expected(str(self.settings.issuer), str(self.settings.client_id), nonce)
        keys = await self._current_keys(endpoints)
        try:
            return await asyncio.to_thread(verify_id_token, token, keys, expected)
        except UnknownKey:
            keys = await self._newer_keys(endpoints)
            return await asyncio.to_thread(verify_id_token, token, keys, expected)

    def check_issuer(self, issuer: str | None) -> None:
        """Check the `iss` of an answer (RFC 9207). Raises `SignInRefused` for that of another provider."""
        if issuer is None and (self._endpoints is None or not self._endpoints.names_issuer):
            return
        if issuer != self.settings.issuer:
            raise SignInRefused("this answer is of another provider than oidc.issuer (iss)")

    @contextmanager
    def _turn(self) -> Iterator[None]:
        """Count a request that waits. Raises `ProviderUnavailable` when too many wait."""
        if self._waiting >= self._max_waiting:
            raise ProviderUnavailable(
                "too many people sign in at this moment; try again", code="server_busy", retry_after_s=1
            )
        self._waiting += 1
        try:
            yield
        finally:
            self._waiting -= 1

    @contextmanager
    def _failure_kept(self) -> Iterator[None]:
        """Keep and log a failure to read what the provider publishes. Raises it again while it is kept.

        Failures of the token endpoint are not kept: anyone can send a code that it does not bear.
        """
        if time.monotonic() - self._failed_at < FAILURE_KEPT_S:
            raise ProviderUnavailable(self._failure, retry_after_s=int(FAILURE_KEPT_S))
        try:
            with _failure_logged():
                yield
        except ProviderUnavailable as error:
            self._failed_at, self._failure = time.monotonic(), error.message
            raise

    def _checked(self, document: Mapping[str, Any]) -> Endpoints:
        if document.get("issuer") != self.settings.issuer:
            raise ProviderUnavailable(
                "the provider's discovery document names another issuer than oidc.issuer:"
                f" {str(document.get('issuer'))[:200]!r}"
            )
        addresses = {}
        for name in ("authorization_endpoint", "token_endpoint", "jwks_uri"):
            address = document.get(name)
            if not isinstance(address, str) or not is_safe_url(address) or "#" in address:
                raise ProviderUnavailable(f"the provider's discovery document has no https {name}")
            addresses[name] = address
        methods = document.get("token_endpoint_auth_methods_supported", ["client_secret_basic"])
        in_body = isinstance(methods, list) and "client_secret_basic" not in methods
        names_issuer = document.get("authorization_response_iss_parameter_supported") is True
        return Endpoints(
            addresses["authorization_endpoint"],
            addresses["token_endpoint"],
            addresses["jwks_uri"],
            secret_in_body=in_body,
            names_issuer=names_issuer,
        )

    async def _token(self, endpoints: Endpoints, code: str, redirect_url: str, verifier: str) -> str:
        client_id = str(self.settings.client_id)
        form = {"grant_type": "authorization_code", "code": code, "redirect_uri": redirect_url}
        form["code_verifier"] = verifier
        headers = {"content-type": FORM}
        if self._secret is not None and not endpoints.secret_in_body:
            pair = f"{quote(client_id, safe='')}:{quote(self._secret, safe='')}"  # RFC 6749, 2.3.1
            headers["authorization"] = f"Basic {base64.b64encode(pair.encode()).decode()}"
        else:
            form["client_id"] = client_id
            if self._secret is not None:
                form["client_secret"] = self._secret
        status, answer = await self._requests.send("POST", endpoints.token, urlencode(form).encode(), headers)
        if status >= 500 or status == 429:
            raise failed_answer(status, endpoints.token)
        if status != 200:
            reason = answer.get("error")
            is_name = isinstance(reason, str) and reason.isascii() and reason.isprintable()
            shown = reason if is_name and len(str(reason)) < 64 else status
            raise SignInRefused(f"the provider refused the code of this sign-in ({shown}): sign in again")
        token = answer.get("id_token")
        if not isinstance(token, str):
            raise SignInRefused("the provider's answer has no ID token: allow this client the scope openid")
        return token

    async def _current_keys(self, endpoints: Endpoints) -> list[dict[str, Any]]:
        async with self._lock:
            if time.monotonic() - self._keys_at >= KEPT_S:
                await self._read_keys(endpoints)
            return self._keys

    async def _newer_keys(self, endpoints: Endpoints) -> list[dict[str, Any]]:
        async with self._lock:
            if time.monotonic() - self._keys_at >= KEYS_GAP_S:
                await self._read_keys(endpoints)
            return self._keys

    async def _read_keys(self, endpoints: Endpoints) -> None:
        with self._failure_kept():
            keys = (await self._requests.get(endpoints.keys)).get("keys")
            if not isinstance(keys, list):
                raise ProviderUnavailable("the provider's document of keys (jwks_uri) has no list of keys")
        self._keys = [key for key in keys[:MAX_KEYS] if isinstance(key, dict)]
        self._keys_at = time.monotonic()


@contextmanager
def _failure_logged() -> Iterator[None]:
    try:
        yield
    except ProviderUnavailable as error:
        logger.warning("people cannot sign in: %s", error.message)
        raise
