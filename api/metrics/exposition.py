"""The answer to a scrape: the platform's metrics, and those of the process that answers."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, GCCollector, PlatformCollector, ProcessCollector
from prometheus_client.exposition import choose_encoder

from api.auth.registry import AccessRegistry
from api.metrics import collector
from config.settings import Settings


class Exposition:
    """Renders all metrics. Thread-safe; nothing connects before the first scrape."""

    def __init__(self, settings: Settings, tenants: AccessRegistry) -> None:
        self.registry = CollectorRegistry()
        for own in (ProcessCollector, PlatformCollector, GCCollector):
            own(registry=self.registry)
        reader = collector.StateReader(settings)
        platform = collector.PlatformCollector(reader, lambda: tenants.identities.tenants)
        self.registry.register(platform)

    def render(self, accept: str) -> tuple[bytes, str]:
        """Return the body and its content type, in the format that the scraper accepts."""
        encode, content_type = choose_encoder(accept)
        return encode(self.registry), content_type
