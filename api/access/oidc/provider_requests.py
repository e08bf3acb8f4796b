"""Requests to the OpenID Connect provider: from the event loop, each within a time and a size.

Redirects are not followed.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Mapping
from typing import Any

import orjson

from api.access.oidc.errors import ProviderUnavailable
from config.version import version
from http_client.client import HttpClient, HttpError, HttpResponse

TIMEOUT_S = 10.0
"""Of one request, with name resolution and connect."""

MAX_BYTES = 512 * 1024
"""Of one answer."""

RETRY_AFTER_S = 5
USER_AGENT = f"Stoker/{version()}"


class ProviderRequests:
    """Sends requests to the provider. For the event loop's thread only."""

    def __init__(self) -> None:
        self._tls: ssl.SSLContext | None = None

    async def get(self, url: str) -> dict[str, Any]:
        """The JSON object at an address. Raises `ProviderUnavailable`."""
        status, document = await self.send("GET", url, None, {})
        if status != 200:
            raise failed_answer(status, url)
        return document

    async def send(
        self, method: str, url: str, body: bytes | None, headers: Mapping[str, str]
    ) -> tuple[int, dict[str, Any]]:
        """The status and the JSON object of an answer; {} for a status other than 200 without one.

        Raises `ProviderUnavailable`.
        """
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
            raise ProviderUnavailable(
                f"the provider cannot be used: {problem}", retry_after_s=RETRY_AFTER_S
            ) from None
        except HttpError as error:
            problem = f"no answer at {_shown(url)}: {error}"
            raise ProviderUnavailable(
                f"the provider cannot be used: {problem}", retry_after_s=RETRY_AFTER_S
            ) from None
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


def failed_answer(status: int, url: str) -> ProviderUnavailable:
    """The error of an answer by which the provider fails."""
    problem = f"the provider answered {status} at {_shown(url)}"
    return ProviderUnavailable(problem, retry_after_s=RETRY_AFTER_S)


async def _read(response: HttpResponse) -> bytes:
    content = await response.read(MAX_BYTES + 1)
    if len(content) > MAX_BYTES:
        raise ProviderUnavailable(f"an answer of the provider has more than {MAX_BYTES} bytes")
    return content


def _shown(url: str) -> str:
    """The address without its query."""
    return url.partition("?")[0][:200]
