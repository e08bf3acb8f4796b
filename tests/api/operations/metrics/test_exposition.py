"""The text of a scrape is made once for each state of the platform that is read."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest
import redis
from prometheus_client.metrics_core import Metric as Family
from prometheus_client.registry import Collector

from api.operations.metrics.exposition import Exposition
from config.settings import RedisSettings, Settings
from tests.conftest import free_port
from tests.support.simulated_platform import SimulatedPlatform

OPENMETRICS = "application/openmetrics-text;version=1.0.0"


class CollectionCount(Collector):
    """How often the metrics were collected, which is how often a text was made."""

    def __init__(self, exposition: Exposition) -> None:
        self.collections = 0
        exposition.registry.register(self)

    def collect(self) -> Iterator[Family]:
        self.collections += 1
        return iter(())


@pytest.fixture
def now() -> list[float]:
    return [0.0]


@pytest.fixture
def exposition(client: redis.Redis, settings: Settings, now: list[float]) -> Exposition:
    platform = SimulatedPlatform(client, settings)
    platform.register()
    return Exposition(settings, lambda: now[0])


def test_many_scrapes_within_a_second_make_one_text(exposition: Exposition) -> None:
    count = CollectionCount(exposition)
    with ThreadPoolExecutor(8) as threads:
        answers = set(threads.map(lambda _: exposition.render(""), range(50)))
    assert count.collections == 1
    [(body, content_type)] = answers
    assert b"stoker_up 1.0" in body
    assert content_type.startswith("text/plain")


def test_each_format_has_a_text_of_its_own(exposition: Exposition) -> None:
    count = CollectionCount(exposition)
    answers = [exposition.render(accept) for accept in ("", OPENMETRICS, "", OPENMETRICS)]
    assert count.collections == 2
    assert answers[:2] == answers[2:]
    assert answers[1][0].endswith(b"# EOF\n")
    assert not answers[0][0].endswith(b"# EOF\n")


def test_the_text_is_new_after_a_second(
    exposition: Exposition, client: redis.Redis, settings: Settings, now: list[float]
) -> None:
    assert b"stoker_workers 1.0" in exposition.render("")[0]
    SimulatedPlatform(client, settings).register("w2")
    now[0] = 0.9
    assert b"stoker_workers 1.0" in exposition.render("")[0]
    now[0] = 1.0
    assert b"stoker_workers 2.0" in exposition.render("")[0]


def test_a_text_is_made_once_a_second_while_redis_is_down(settings: Settings) -> None:
    now = [0.0]
    away = replace(settings, redis=RedisSettings(f"redis://127.0.0.1:{free_port()}/0"))
    exposition = Exposition(away, lambda: now[0])
    count = CollectionCount(exposition)
    for _ in range(3):
        assert b"stoker_up 0.0" in exposition.render("")[0]
    assert count.collections == 1
    now[0] = 1.0
    exposition.render("")
    assert count.collections == 2
