"""Middleware of a managed `vllm serve`: nothing answers without the key.

vLLM itself asks for it at paths that begin with /v1 and some others, and answers anybody at /invocations,
which generates as /v1/chat/completions does, at /tokenize, and at /scale_elastic_ep.
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

BODY = b'{"error": "Unauthorized"}'


class Key:
    """ASGI middleware, outermost: it is named last."""

    def __init__(self, app: App) -> None:
        self._app = app
        self._wanted = f"Bearer {os.environ['VLLM_API_KEY']}".encode()

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Pass on what has the key, and what is no request."""
        if scope["type"] not in ("http", "websocket") or self._is_there(scope):
            await self._app(scope, receive, send)
        elif scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008})
        else:
            headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(BODY))]
            await send({"type": "http.response.start", "status": 401, "headers": headers})
            await send({"type": "http.response.body", "body": BODY})

    def _is_there(self, scope: Message) -> bool:
        given = dict(scope["headers"]).get(b"authorization", b"")
        return secrets.compare_digest(given, self._wanted)
