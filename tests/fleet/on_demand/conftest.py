"""A platform without processes whose models are loaded on demand."""

from __future__ import annotations

from dataclasses import replace

import pytest
import redis

from config.settings import OnDemandSettings, Settings
from fleet.load_request import LoadOutcome
from fleet.on_demand.service import OnDemand
from tests.support.simulated_platform import SimulatedPlatform


class DemandPlatform(SimulatedPlatform):
    """One worker; alpha and beta are loaded on demand, one at a time."""

    def __init__(self, client: redis.Redis, settings: Settings) -> None:
        super().__init__(client, settings)
        self.on_demand = OnDemand(self.fleet)

    def ask(self, model: str = "alpha", tenant: str = "acme", **more: object) -> str:
        return self.admit(tenant, model=model, load_on_demand=True, **more)

    def look(self) -> list[LoadOutcome]:
        outcomes = self.on_demand.look()
        assert outcomes is not None
        return outcomes

    def look_and_finish(self, slots: int = 2) -> list[tuple[str, str]]:
        """Take the steps that are due, and let the workers finish each; returns what was begun."""
        begun = []
        for outcome in self.look():
            assert outcome.operation is not None
            begun.append((outcome.kind, outcome.operation.model))
            if outcome.kind == "load":
                self.finish_load(outcome, slots)
            else:
                self.finish_unload(outcome)
        return begun

    def in_demand(self) -> list[str]:
        return [name.decode() for name in self.client.zrange(f"{self.prefix}demand", 0, -1)]


def demand_settings(settings: Settings, **on_demand: object) -> Settings:
    models = {name: replace(model, on_demand="load") for name, model in settings.models.items()}
    given = {"max_loaded": 1, **on_demand}
    return replace(settings, models=models, on_demand=OnDemandSettings(**given))  # type: ignore[arg-type]


@pytest.fixture
def platform(client: redis.Redis, settings: Settings) -> DemandPlatform:
    platform = DemandPlatform(client, demand_settings(settings))
    platform.register()
    return platform
