"""The form of errors of llama-server's own routes (tools/server/README.md, "API errors")."""

from __future__ import annotations

from typing import Any

TYPES = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    409: "invalid_request_error",
    429: "rate_limit_error",
    501: "not_supported_error",
    503: "unavailable_error",
}

_PATHS = frozenset(
    {
        "apply-template",
        "completion",
        "completions",
        "detokenize",
        "embedding",
        "embeddings",
        "infill",
        "lora-adapters",
        "props",
        "slots",
        "tokenize",
        "tools",
        "v1/chat/completions/control",
        "v1/health",
        "v1/stream",
        "v1/streams",
    }
)
"""The routes that only llama-server has, each with the paths below it."""


def is_llama_server(path: str) -> bool:
    """Whether errors of this path have llama-server's form."""
    first, _, rest = path[1:].partition("/")
    if first != "v1":
        return first in _PATHS
    return path[1:] in _PATHS or f"v1/{rest.partition('/')[0]}" in _PATHS


def llama_server_envelope(status: int, message: str) -> dict[str, Any]:
    """`{"error": {"code", "message", "type"}}`, whose code is the HTTP status."""
    return {"error": {"code": status, "message": message, "type": TYPES.get(status, "server_error")}}
