"""Sends the content of a file, a part at a time and as fast as the client reads."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import BinaryIO

from api.http.open_streams import OpenStreams
from api.http.paced_answer import PacedAnswer
from api.http.server.client_connection import ClientConnection
from config.limits import Limits

PART_BYTES = 256 * 1024


class FileContent(PacedAnswer):
    """One answer with the content of a file, which is open while the answer is sent.

    `open` opens it, in a thread: it raises a `StokerError` if that is not possible.
    """

    def __init__(
        self, open: Callable[[], BinaryIO], media_type: str, headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__({"Content-Type": media_type, **(headers or {})})
        self._open = open
        self._file: BinaryIO | None = None

    async def serve(
        self, streams: OpenStreams, tenant: str, limits: Limits | None, connection: ClientConnection
    ) -> None:
        """Answer the client. Raises as `PacedAnswer.serve` does, and `ServerBusy` for too many files."""
        with streams.hold_file(tenant):
            try:
                await super().serve(streams, tenant, limits, connection)
            finally:
                if self._file is not None:
                    self._file.close()

    async def next_part(self) -> bytes | None:
        """Read the next part of the content; None at the end."""
        return await asyncio.to_thread(self._read) or None

    def _read(self) -> bytes:
        if self._file is None:
            self._file = self._open()
        return self._file.read(PART_BYTES)
