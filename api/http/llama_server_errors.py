"""The form of errors of llama-server's own routes (tools/server/README.md, "API errors")."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from store.errors import StokerError

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

LOADING = (503, "Loading model")

_BY_CODE: Mapping[str, tuple[int, str]] = {
    "model_loading": LOADING,
    "embeddings_unsupported": (501, "This server does not support embeddings"),
}
"""The status and the message of errors that have others on the routes of llama-server."""

_LACKING = frozenset(
    {"unsupported_parameter", "unsupported_input", "prompt_unsupported", "generation_unsupported"}
)
"""The codes of what a model, or its engine, cannot do: 501 in llama-server."""

FEATURE_DISABLED = "feature_disabled"
"""The type of the error, without a code, for a feature that the operator has not enabled."""

_PATHS = frozenset(
    {
        "apply-template",
        "completion",
        "completions",
        "cors-proxy",
        "detokenize",
        "embedding",
        "embeddings",
        "infill",
        "lora-adapters",
        "models",
        "props",
        "slots",
        "tokenize",
        "tools",
        "v1/chat/completions/control",
        "v1/health",
        "v1/props",
        "v1/stream",
        "v1/streams",
        "v1/tools",
    }
)
"""The routes that only llama-server has, each with the paths below it."""


def is_llama_server(path: str) -> bool:
    """Whether errors of this path have llama-server's form."""
    first, _, rest = path[1:].partition("/")
    if first != "v1":
        return first in _PATHS
    return path[1:] in _PATHS or f"v1/{rest.partition('/')[0]}" in _PATHS


def llama_server_body(error: StokerError, status: int) -> dict[str, Any]:
    """The body of an error whose status elsewhere is `status`."""
    if error.code == FEATURE_DISABLED:
        return {"error": {"message": error.message, "type": error.code}}
    status = 501 if error.code in _LACKING else status
    return llama_server_envelope(*_BY_CODE.get(error.code, (status, error.message)))


def llama_server_status(body: Mapping[str, Any]) -> int | None:
    """The status that the body of an error names; None if it is in the form of another API."""
    error = body.get("error")
    status = error.get("code") if isinstance(error, Mapping) else None
    return status if isinstance(status, int) else None


def llama_server_envelope(status: int, message: str) -> dict[str, Any]:
    """`{"error": {"code", "message", "type"}}`, whose code is the HTTP status."""
    return {"error": {"code": status, "message": message, "type": TYPES.get(status, "server_error")}}
