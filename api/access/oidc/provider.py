"""The OpenID Connect provider: its addresses, its keys, and the exchange of a code for the ID token.

Requests go from the event loop, each within a time and a size; redirects are not followed. What was read is
kept: the addresses and the keys for an hour, a failure for some seconds, so that a provider that is away is
not asked by every visitor of the sign-in page.
"""

from __future__ import annotations

import asyncio
import base64
import logging
import os
import ssl
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

import orjson

from api.access.oidc.errors import ProviderUnavailable, SignInRefused
from api.access.oidc.id_token import MAX_KEYS, Expected, UnknownKey, verify_id_token
from config.errors import ConfigError
from config.oidc_schema import is_safe_url
from config.settings import OIDC_SECRET_VARIABLE, OidcSettings
from config.version import version
from http_client.client import HttpClient, HttpError, HttpResponse

logger = logging.getLogger("api")

TIMEOUT_S = 10.0
"""Of one request, with name resolution and connect."""

MAX_BYTES = 512 * 1024
"""Of one answer."""

KEPT_S = 3600.0
FAILURE_KEPT_S = 5.0
KEYS_GAP_S = 30.0
"""The least time between two readings of the keys because of unknown ones: clients choose the tokens."""

WAITING_SHARE = 4
"""One in so many of the threads for short requests may wait for the provider."""

DISCOVERY = "/.well-known/openid-configuration"
FORM = "application/x-www-form-urlencoded"
USER_AGENT = f"Stoker/{version()}"


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
        self._tls: ssl.SSLContext | None = None

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
            if now - self._failed_at < FAILURE_KEPT_S:
                raise ProviderUnavailable(self._failure, retry_after_s=int(FAILURE_KEPT_S))
            try:
                document = await self._get(f"{str(self.settings.issuer).rstrip('/')}{DISCOVERY}")
                self._endpoints = self._checked(document)
            except ProviderUnavailable as error:
                self._failed_at, self._failure = time.monotonic(), error.message
                logger.warning("people cannot sign in: %s", error.message)
                raise
            self._endpoints_at = time.monotonic()
            return self._endpoints

    async def exchange(self, code: str, redirect_url: str, verifier: str, nonce: str) -> dict[str, Any]:
        """The verified claims of the ID token for a code. Raises `ProviderUnavailable`, `SignInRefused`."""
        with self._turn():
            endpoints = await self._current_endpoints()
            token = await self._token(endpoints, code, redirect_url, verifier)
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
        status, answer = await self._request("POST", endpoints.token, urlencode(form).encode(), headers)
        if status != 200:
            reason = answer.get("error")
            shown = reason if isinstance(reason, str) and reason.isascii() and len(reason) < 64 else status
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
        keys = (await self._get(endpoints.keys)).get("keys")
        if not isinstance(keys, list):
            raise ProviderUnavailable("the provider's document of keys (jwks_uri) has no list of keys")
        self._keys = [key for key in keys[:MAX_KEYS] if isinstance(key, dict)]
        self._keys_at = time.monotonic()

    async def _get(self, url: str) -> dict[str, Any]:
        status, document = await self._request("GET", url, None, {})
        if status != 200:
            raise ProviderUnavailable(f"the provider answered {status} at {_shown(url)}")
        return document

    async def _request(
        self, method: str, url: str, body: bytes | None, headers: Mapping[str, str]
    ) -> tuple[int, dict[str, Any]]:
        """The status and the JSON object of an answer; {} without one that is not 200."""
        is_secure = url.startswith("https:")
        if is_secure and self._tls is None:
            self._tls = await asyncio.to_thread(ssl.create_default_context)
        client = HttpClient(
            url,
            headers={"user-agent": USER_AGENT, "accept": "application/json", "connection": "close"},
            connect_timeout_s=TIMEOUT_S,
            tls=self._tls if is_secure else None,
        )
        try:
            async with (
                asyncio.timeout(TIMEOUT_S),
                client.request(method, "", body, headers=headers) as response,
            ):
                content = await _read(response)
        except TimeoutError:
            problem = f"it did not answer within {TIMEOUT_S:g} s at {_shown(url)}"
            raise ProviderUnavailable(f"the provider cannot be used: {problem}", retry_after_s=5) from None
        except HttpError as error:
            problem = f"no answer at {_shown(url)}: {error}"
            raise ProviderUnavailable(f"the provider cannot be used: {problem}", retry_after_s=5) from None
        finally:
            client.close()
        try:
            document = orjson.loads(content)
        except orjson.JSONDecodeError:
            document = None
        if not isinstance(document, dict):
            if response.status == 200:
                raise ProviderUnavailable(f"the provider's answer at {_shown(url)} is not a JSON object")
            document = {}
        return response.status, document


async def _read(response: HttpResponse) -> bytes:
    content = await response.read(MAX_BYTES + 1)
    if len(content) > MAX_BYTES:
        raise ProviderUnavailable(f"an answer of the provider has more than {MAX_BYTES} bytes")
    return content


def _shown(url: str) -> str:
    """The address without its query."""
    return url.partition("?")[0][:200]
