"""`Prefer: wait=N` (RFC 7240, 4.3): the client prefers to wait N seconds for the end instead of polling."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from flask import Response, request

from api.http.answers import send_json
from api.http.detached import DetachedResponse
from api.http.http_responses import json_response
from api.http.open_streams import OpenStreams
from api.http.server.client_connection import ClientConnection
from api.http.shutdown_flag import ShutdownFlag
from api.services import AppServices
from fleet.fleet import Fleet
from fleet.operation import Operation
from store.errors import ServerBusy

Answer = tuple[dict[str, Any], int, dict[str, str]]
"""Body, status and headers."""

MAX_WAIT_S = 600
_WAIT = re.compile(r"""(?:^|,)\s*wait\s*=\s*"?(\d{1,9})"?\s*(?:[,;]|$)""", re.IGNORECASE)
POLL_INTERVAL_S = (0.02, 0.25)
"""The first interval between two reads of the operation, and the longest one that it grows to."""


def requested_wait_s() -> int:
    """The seconds that the request's `Prefer` header asks for, at most MAX_WAIT_S; 0 without such a header.

    A preference that is not understood is ignored (RFC 7240, 2).
    """
    found = _WAIT.search(",".join(request.headers.getlist("Prefer")))
    return min(int(found[1]), MAX_WAIT_S) if found else 0


def answer_at_end(
    services: AppServices, operation: Operation, tenant: str, render: Callable[[Operation], Answer]
) -> Response:
    """What `render` makes of the operation: as it is now, or at its end if the client prefers to wait."""
    wait_s = requested_wait_s()
    if not wait_s:
        return json_response(*render(operation))
    if operation.status.is_terminal:
        body, status, headers = render(operation)
        return json_response(body, status, {**headers, "Preference-Applied": f"wait={wait_s}"})

    async def serve(connection: ClientConnection) -> None:
        waited, wait = operation, OperationWait(connection)
        applied = {}
        with suppress(ServerBusy), services[OpenStreams].hold(wait, tenant):
            waited = await wait.end_of(services, operation, wait_s)
            applied = {"Preference-Applied": f"wait={wait_s}"}
        body, status, headers = await asyncio.to_thread(render, waited)
        send_json(connection, body, status, headers | applied)

    return DetachedResponse(serve)


class OperationWait:
    """One request's wait for the end of an operation. Fulfils `OpenStream`."""

    def __init__(self, connection: ClientConnection) -> None:
        self._disconnected = asyncio.Event()
        connection.on_disconnect(self._disconnected.set)

    def sweep(self, now: float) -> None:
        """Do nothing: the answer needs no keep-alive."""

    async def end_of(self, services: AppServices, operation: Operation, wait_s: int) -> Operation:
        """The operation at its end, or as it is after `wait_s`.

        Returns early when the client disconnects or the process shuts down. Raises `StorageUnavailable`.
        """
        loop = asyncio.get_running_loop()
        deadline, pause_s = loop.time() + wait_s, POLL_INTERVAL_S[0]
        latest = operation
        while not latest.status.is_terminal and (left := deadline - loop.time()) > 0:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._disconnected.wait(), min(pause_s, left))
            if self._disconnected.is_set() or not services[ShutdownFlag].is_running():
                break
            read: Operation | None = await asyncio.to_thread(services[Fleet].operation, operation.id)
            latest = read or latest
            pause_s = min(pause_s * 1.5, POLL_INTERVAL_S[1])
        return latest
