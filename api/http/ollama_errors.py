"""The form of errors below /api/ (Ollama API reference, "Errors")."""

from __future__ import annotations

from typing import Any

from store.errors import StokerError

PREFIX = "/api/"
OPERATORS = ("pull", "push", "create", "copy", "delete", "blobs")
"""Ollama's calls that change models."""


def is_ollama(path: str) -> bool:
    """Whether errors of this path have Ollama's form; unknown paths below the prefix, too."""
    return path.startswith(PREFIX)


def not_found_message(path: str) -> str:
    """The message for an unknown path: the way of operators, for a call of Ollama's that changes models."""
    if path.removeprefix(PREFIX).split("/")[0] in OPERATORS:
        return (
            f"this platform has no {path}: operators define models in its configuration, and load and unload"
            " them with `stoker load` or POST /v1/admin/models/{name}/load (docs/governance.md)"
        )
    return "there is no such path"


def error_object(error: StokerError) -> dict[str, Any]:
    """The body of an error: Ollama's `error`, a text, and `code` and `param` of the platform."""
    return ollama_envelope(error.code, error.message, error.param)


def ollama_envelope(code: str, message: str, param: str | None = None) -> dict[str, Any]:
    """`{"error", "code", "param"}`."""
    return {"error": message, "code": code, "param": param}
