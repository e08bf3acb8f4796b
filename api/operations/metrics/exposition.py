"""The answer to a scrape: the platform's metrics, and those of the process that answers."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping

from prometheus_client import CollectorRegistry, GCCollector, PlatformCollector, ProcessCollector
from prometheus_client.exposition import choose_encoder

from api.operations.metrics import collector
from config.limits import Budget
from config.settings import Settings
from store.errors import StokerError


class Exposition:
    """Renders all metrics, once for each state that is read and each format. Thread-safe.

    With many tenants and models a text takes some 100 ms of the interpreter, and requests for inference wait
    for it: many scrapers cost no more than one. Nothing connects before the first scrape.
    """

    def __init__(
        self,
        settings: Settings,
        clock: Callable[[], float] = time.monotonic,
        *,
        budgets: Callable[[], Mapping[str, Budget]] = dict,
    ) -> None:
        self.registry = CollectorRegistry()
        for own in (ProcessCollector, PlatformCollector, GCCollector):
            own(registry=self.registry)
        self._reader = collector.StateReader(settings, clock, budgets=budgets)
        self.registry.register(collector.PlatformCollector(self._reader))
        self._lock = threading.Lock()
        self._rendered: dict[str, tuple[object, bytes]] = {}

    def state(self) -> collector.PlatformState:
        """What the reader has read, at most a second ago. Raises `StokerError`."""
        return self._reader.read()

    def render(self, accept: str) -> tuple[bytes, str]:
        """Return the body and its content type, in the format that the scraper accepts."""
        encode, content_type = choose_encoder(accept)
        with self._lock:
            state = self._state()
            rendered_state, body = self._rendered.get(content_type, (None, b""))
            if rendered_state is not state:
                body = encode(self.registry)
                self._rendered[content_type] = (state, body)
        return body, content_type

    def _state(self) -> object:
        """What the reader has read, or why it could not: another object after each read."""
        try:
            return self._reader.read()
        except StokerError as error:
            return error
