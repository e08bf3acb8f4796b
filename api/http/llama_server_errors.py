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

_PATHS = ("/v1/stream", "/v1/streams")


def is_llama_server(path: str) -> bool:
    """Whether errors of this path have llama-server's form."""
    return any(path == known or path.startswith(f"{known}/") for known in _PATHS)


def llama_server_envelope(status: int, message: str) -> dict[str, Any]:
    """`{"error": {"code", "message", "type"}}`, whose code is the HTTP status."""
    return {"error": {"code": status, "message": message, "type": TYPES.get(status, "server_error")}}
