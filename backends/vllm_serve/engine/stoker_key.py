"""ASGI middleware for a managed `vllm serve`: all endpoints require the API key; one more frees the cache.

vLLM itself checks the key at paths that begin with /v1 and some others, but not at /invocations, which
generates like /v1/chat/completions, at /tokenize, and at /scale_elastic_ep. vLLM has an endpoint to reset
its prefix cache only together with others that run any code (VLLM_SERVER_DEV_MODE).
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Message, Receive, Send], Awaitable[None]]

UNAUTHORIZED_BODY = b'{"error": "Unauthorized"}'
RESET_PATH = "/stoker/reset_prefix_cache"
"""Frees the whole prefix cache if no request runs: {"reset": true or false}."""


class RequireKey:
    """The outermost middleware, because it is named last on the command line."""

    def __init__(self, app: App) -> None:
        self._app = app
        self._expected = f"Bearer {os.environ['VLLM_API_KEY']}".encode()

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Pass on requests with the key and events that are not requests; refuse all others."""
        if scope["type"] == "http" and scope["path"] == RESET_PATH and self._has_key(scope):
            await _reset(scope, send)
        elif scope["type"] not in ("http", "websocket") or self._has_key(scope):
            await self._app(scope, receive, send)
        elif scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008})
        else:
            await _answer(send, 401, UNAUTHORIZED_BODY)

    def _has_key(self, scope: Message) -> bool:
        given = dict(scope["headers"]).get(b"authorization", b"")
        return secrets.compare_digest(given, self._expected)


async def _reset(scope: Message, send: Send) -> None:
    """Reset the prefix cache; `scope["app"]` is vLLM's application, which calls its middleware."""
    engine: Any = scope["app"].state.engine_client
    done: bool = await engine.reset_prefix_cache()
    await _answer(send, 200, b'{"reset": %s}' % (b"true" if done else b"false"))


async def _answer(send: Send, status: int, body: bytes) -> None:
    headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body))]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
