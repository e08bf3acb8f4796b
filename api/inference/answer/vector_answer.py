"""Sends an answer with vectors: a small one whole, a larger one in parts, as fast as the client reads.

4096 numbers take half a millisecond of the event loop, and a request may ask for 2048 vectors of them. So one
part is made in an iteration of the loop, and tenants take turns: others wait for one part.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import chain
from typing import Any

from api.http.open_streams import OpenStreams
from api.http.paced_answer import PacedAnswer
from api.http.server.client_connection import ClientConnection
from api.http.server.turns import LoopTurns
from api.inference.dialects.vectors import PART_BYTES, parts_of
from api.services import AppServices


class VectorTurns(LoopTurns):
    """The turns of one process to make a part of an answer with vectors."""

    def __init__(self) -> None:
        super().__init__(1)


class VectorAnswer(PacedAnswer):
    """One answer, whose parts are those of `answer`."""

    def __init__(
        self,
        answer: Mapping[str, Any] | list[Any],
        headers: Mapping[str, str],
        tenant: str,
        services: AppServices,
    ) -> None:
        super().__init__({"Content-Type": "application/json", **headers})
        self._tenant, self._services = tenant, services
        self._parts: Iterator[bytes] = parts_of(answer)

    async def send(self, connection: ClientConnection) -> None:
        """Answer the client. Its request has counted as a stream until now, and goes on counting."""
        first = next(self._parts)
        if len(first) < PART_BYTES:  # no other part follows
            connection.respond(200, self._headers, first)
            return
        self._parts = chain([first], self._parts)
        await self.serve(self._services[OpenStreams], self._tenant, None, connection)

    async def next_part(self) -> bytes | None:
        """The next part, in the tenant's turn; None at the end."""
        await self._services[VectorTurns].turn(self._tenant)
        return next(self._parts, None)
