"""A custom node of ComfyUI without any node: it makes each route and the socket require a key.

ComfyUI has no keys, and a loopback address is open to everybody on the machine. Custom nodes are imported
before its application is frozen, so that a middleware can still be put before all others, those of mounted
applications (`/internal`) included.
"""

from __future__ import annotations

import hmac
import os
from collections.abc import Awaitable, Callable
from importlib import import_module
from typing import Any

web: Any = import_module("aiohttp.web")
server: Any = import_module("server")  # ComfyUI's

KEY = os.environ.pop("STOKER_COMFYUI_KEY", "")  # other nodes, and what they start, need not see it

NODE_CLASS_MAPPINGS: dict[str, Any] = {}


async def require_key(request: Any, handler: Callable[[Any], Awaitable[Any]]) -> Any:
    """Pass on a request with the key, refuse all others."""
    given = request.headers.get("Authorization", "").encode("utf-8", "surrogateescape")
    if not KEY or not hmac.compare_digest(given, f"Bearer {KEY}".encode()):
        return web.json_response({"error": "unauthorized"}, status=401)
    return await handler(request)


server.PromptServer.instance.app.middlewares.insert(0, web.middleware(require_key))
