"""Sends whole answers to the client of a detached response: JSON, and errors in the API's envelope."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import orjson

from api.http.errors import body_of, headers_of, kind_of
from api.http.refusals import count_refusal
from api.http.server.client_connection import ClientConnection
from store.errors import StokerError


def send_json(
    connection: ClientConnection, body: object, status: int = 200, headers: Mapping[str, str] | None = None
) -> None:
    """Answer with a JSON body."""
    connection.respond(status, {"Content-Type": "application/json", **(headers or {})}, orjson.dumps(body))


def send_error(
    connection: ClientConnection,
    error: StokerError,
    headers: Mapping[str, str] | None = None,
    body: Callable[[StokerError], object] = body_of,
) -> None:
    """Answer with an error of the platform, with the status and headers of the error table, and `headers`.

    `body` makes the body, in the form of the client's API.
    """
    count_refusal(error)
    send_json(connection, body(error), kind_of(error.code).status, {**headers_of(error), **(headers or {})})
