"""Sends whole answers to the client of a detached response: JSON, and errors in the API's envelope."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from api.http.error_rendering import render_error
from api.http.errors import body_of
from api.http.server.client_connection import ClientConnection
from store.errors import StokerError


@dataclass(frozen=True, slots=True)
class TextAnswer:
    """An answer in one piece that is no JSON."""

    text: str
    content_type: str


def send_json(
    connection: ClientConnection, body: object, status: int = 200, headers: Mapping[str, str] | None = None
) -> None:
    """Answer with a JSON body."""
    connection.respond(status, {"Content-Type": "application/json", **(headers or {})}, orjson.dumps(body))


def send_whole(connection: ClientConnection, body: object, headers: Mapping[str, str]) -> None:
    """Answer with a `TextAnswer`, or with anything else as JSON."""
    if isinstance(body, TextAnswer):
        connection.respond(200, {"Content-Type": body.content_type, **headers}, body.text.encode())
    else:
        send_json(connection, body, headers=headers)


def send_error(
    connection: ClientConnection,
    error: StokerError,
    headers: Mapping[str, str] | None = None,
    body: Callable[[StokerError], Mapping[str, Any]] = body_of,
) -> None:
    """Answer with an error of the platform, with the status and headers of the error table, and `headers`.

    `body` makes the body, in the form of the client's API.
    """
    rendered = render_error(error, body(error))
    send_json(connection, rendered.body, rendered.status, {**rendered.headers, **(headers or {})})
