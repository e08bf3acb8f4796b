"""The form of errors below /api/ (Ollama API reference, "Errors")."""

from __future__ import annotations

from typing import Any

from scheduler.errors import StokerError

PREFIX = "/api/"


def is_ollama(path: str) -> bool:
    """Whether errors of this path have Ollama's form; unknown paths below the prefix, too."""
    return path.startswith(PREFIX)


def error_object(error: StokerError) -> dict[str, Any]:
    """The body of an error: Ollama's `error`, a text, and `code` and `param` of the platform."""
    return ollama_envelope(error.code, error.message, error.param)


def ollama_envelope(code: str, message: str, param: str | None = None) -> dict[str, Any]:
    """`{"error", "code", "param"}`."""
    return {"error": message, "code": code, "param": param}
