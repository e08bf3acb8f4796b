"""Sends the content of a file, a part at a time and as fast as the client reads."""

from __future__ import annotations

import asyncio
from typing import BinaryIO

from api.server.client_connection import ClientConnection
from api.streaming.open_streams import OpenStreams

PART_BYTES = 256 * 1024


class FileContent:
    """One answer with the content of an open file, which it closes."""

    def __init__(self, file: BinaryIO, media_type: str) -> None:
        self._file = file
        self._headers = {"Content-Type": media_type}
        self._changed = asyncio.Event()
        self._is_gone = False

    def sweep(self, now: float) -> None:
        """See `OpenStream.sweep`: a part needs no keep-alive."""

    async def serve(self, streams: OpenStreams, tenant: str, connection: ClientConnection) -> None:
        """Answer the client. Raises `ServerBusy`."""
        connection.on_disconnect(self._disconnected)
        connection.on_writable(self._changed.set)
        try:
            with streams.hold(self, tenant):
                connection.begin(200, self._headers)
                while (part := await asyncio.to_thread(self._file.read, PART_BYTES)) and not self._is_gone:
                    while not connection.writable and not self._is_gone:
                        self._changed.clear()
                        await self._changed.wait()
                    connection.write(part)
                connection.end()
        finally:
            self._file.close()

    def _disconnected(self) -> None:
        self._is_gone = True
        self._changed.set()
