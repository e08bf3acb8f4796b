"""Sends the content of a file, a part at a time and as fast as the client reads."""

from __future__ import annotations

import asyncio
from typing import BinaryIO

from api.http.open_streams import OpenStreams
from api.http.paced_answer import PacedAnswer
from api.http.server.client_connection import ClientConnection

PART_BYTES = 256 * 1024


class FileContent(PacedAnswer):
    """One answer with the content of an open file, which it closes."""

    def __init__(self, file: BinaryIO, media_type: str) -> None:
        super().__init__({"Content-Type": media_type})
        self._file = file

    async def serve(self, streams: OpenStreams, tenant: str, connection: ClientConnection) -> None:
        """Answer the client. Raises `ServerBusy`, and `OSError` before the first part."""
        try:
            await super().serve(streams, tenant, connection)
        finally:
            self._file.close()

    async def next_part(self) -> bytes | None:
        """Read the next part of the content; None at the end."""
        return await asyncio.to_thread(self._file.read, PART_BYTES) or None
