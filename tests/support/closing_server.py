"""A server that accepts connections and closes each one at once: an address without a Redis."""

from __future__ import annotations

import socket
import threading

from config.settings import RedisSettings, Settings


class ClosingServer:
    """`accepted` counts its connections; `settings` name its address."""

    def __init__(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.settings = Settings(
            redis=RedisSettings(f"redis://127.0.0.1:{self._listener.getsockname()[1]}/0")
        )
        self.accepted = 0
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop listening."""
        self._listener.shutdown(socket.SHUT_RDWR)
        self._thread.join()
        self._listener.close()

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            self.accepted += 1
            connection.close()
