"""Renders every error answer: its status, its headers, and its body in the form of the client's API.

Views, detached answers and the server itself call `render_error`, which also counts the error.

OpenAI and Anthropic share paths (`/v1/models`): there the header `anthropic-version`, which Anthropic's
clients always send, decides.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

from api.http import anthropic_errors, llama_server_errors, ollama_errors
from api.http.errors import body_of, envelope, headers_of, kind_of
from api.http.rejection_counts import count_rejection
from store.errors import StokerError


@dataclass(frozen=True, slots=True)
class RenderedError:
    """An error answer; `body` is the object that becomes JSON."""

    status: int
    headers: dict[str, str]
    body: Mapping[str, Any]


def render_error(error: StokerError, body: Mapping[str, Any], tenant: str | None = None) -> RenderedError:
    """Count an error of the platform, and return its answer by the table of error codes.

    `body` is `error_body`, or that of a dialect; one in llama-server's form names its status. `tenant` is the
    caller's if it is not the current request's.
    """
    count_rejection(error, tenant)
    status = llama_server_errors.llama_server_status(body) or kind_of(error.code).status
    return RenderedError(status, headers_of(error), body)


def error_body(
    error: StokerError, path: str, request_id: str | None = None, *, to_anthropic: bool = False
) -> dict[str, Any]:
    """The body of an error, in the form of the API to which the path belongs.

    `request_id` is that of the current request unless given. `to_anthropic`: a client of Anthropic's sent it.
    """
    if ollama_errors.is_ollama(path):
        return ollama_errors.error_object(error)
    if llama_server_errors.is_llama_server(path):
        return llama_server_body(error)
    if to_anthropic or anthropic_errors.is_anthropic(path):
        return anthropic_errors.error_object(error, request_id)
    return body_of(error)


def llama_server_body(error: StokerError) -> dict[str, Any]:
    """The body of an error in llama-server's form."""
    return llama_server_errors.llama_server_body(error, kind_of(error.code).status)


def http_error_body(
    status: int, code: str, message: str, path: str, *, to_anthropic: bool = False
) -> dict[str, Any]:
    """The same for an error that the error table does not have, with its status."""
    if ollama_errors.is_ollama(path):
        message = ollama_errors.not_found_message(path) if status == HTTPStatus.NOT_FOUND else message
        return ollama_errors.ollama_envelope(code, message)
    if llama_server_errors.is_llama_server(path):
        return llama_server_errors.llama_server_envelope(status, message)
    if to_anthropic or anthropic_errors.is_anthropic(path):
        return anthropic_errors.anthropic_envelope(status, code, message)
    return envelope(code, message)
