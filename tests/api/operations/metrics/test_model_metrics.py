"""The metrics of one model have llama-server's names, and the numbers of that model alone."""

from __future__ import annotations

import orjson
import pytest
import redis

from api.operations.metrics.exposition import Exposition
from api.operations.metrics.model_metrics import model_metrics
from config.settings import Settings
from store.errors import UnknownModel
from streams.events import Usage
from tests.support.changed_tenants import change_tenants
from tests.support.simulated_platform import SimulatedPlatform


def test_a_model_has_its_tokens_and_requests_under_llama_servers_names(
    client: redis.Redis, settings: Settings
) -> None:
    platform = SimulatedPlatform(client, settings)
    platform.register()
    platform.load(slots=1)
    for tenant in ("a", "b"):
        usage = Usage(10, 3, cached_tokens=4)
        claim = platform.run(platform.admit(tenant))
        platform.release(claim, usage=orjson.dumps(usage), tokens=usage.total_tokens)
    platform.admit()
    platform.admit()
    platform.expire()  # it counts what has ended
    text = model_metrics(Exposition(settings).state(), "alpha").decode()
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    assert lines == [
        "llamacpp:prompt_tokens_total 12",
        "llamacpp:prompt_tokens_cached_total 8",
        "llamacpp:tokens_predicted_total 6",
        "llamacpp:requests_processing 1",
        "llamacpp:requests_deferred 1",
    ]
    change_tenants(platform, a=None)
    assert model_metrics(Exposition(settings).state(), "alpha").decode() == text, "a counter does not fall"
    assert "# TYPE llamacpp:requests_deferred gauge" in text
    none = model_metrics(Exposition(settings).state(), "beta").decode()
    assert "llamacpp:tokens_predicted_total 0" in none
    with pytest.raises(UnknownModel):
        model_metrics(Exposition(settings).state(), "gamma")
