"""An answer of many parts, each made and written when the client has read those before it."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from api.http.open_streams import OpenStreams
from api.http.server.client_connection import ClientConnection
from config.limits import Limits


class PacedAnswer:
    """One answer. Fulfils `OpenStream`."""

    def __init__(self, headers: Mapping[str, str]) -> None:
        self._headers = headers
        self._changed = asyncio.Event()
        self._is_gone = False

    def add_headers(self, headers: Mapping[str, str]) -> None:
        """Add to the headers, before `serve`."""
        self._headers = {**self._headers, **headers}

    def sweep(self, now: float) -> None:
        """Do nothing: a part needs no keep-alive."""

    async def serve(
        self, streams: OpenStreams, tenant: str, limits: Limits | None, connection: ClientConnection
    ) -> None:
        """Answer the client. Raises what `OpenStreams.hold` and, before the first part, `next_part` raise."""
        connection.on_disconnect(self._disconnected)
        connection.on_writable(self._changed.set)
        with streams.hold(self, tenant, limits):
            part = await self.next_part()
            connection.begin(200, self._headers)
            while part is not None and not self._is_gone:
                connection.write(part)
                while not connection.writable and not self._is_gone:
                    self._changed.clear()
                    await self._changed.wait()
                part = None if self._is_gone else await self.next_part()
            connection.end()

    async def next_part(self) -> bytes | None:
        """The bytes that follow; None at the end."""
        raise NotImplementedError

    def _disconnected(self) -> None:
        self._is_gone = True
        self._changed.set()
