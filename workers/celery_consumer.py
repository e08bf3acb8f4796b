"""Celery's consumer, with task events sent a few at a time."""

from __future__ import annotations

from typing import Any

from celery.worker.consumer import Consumer as CeleryConsumer

GATHER_S = 0.1
"""What Flower shows is at most so late."""


class Consumer(CeleryConsumer):
    """Publishes task events (for Flower) every `GATHER_S` instead of at each turn of the event loop."""

    hub: Any
    _flush_events: Any
    _gathering = False

    def on_send_event_buffered(self) -> None:  # type: ignore[override] # the stubs have it as a property
        """Called by whichever thread has an event to send."""
        if self.hub and not self._gathering:
            self._gathering = True
            self.hub.call_soon(self._gather)

    def _gather(self) -> None:
        self.hub.call_later(GATHER_S, self._send)

    def _send(self) -> None:
        self._gathering = False
        self._flush_events()
