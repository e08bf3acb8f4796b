"""Workers report what their engines report, and which of them make no progress."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest
import redis

from backends.base import EngineFacts
from config.settings import ModelDefinition, Settings
from fleet.engine_report import EngineReport
from fleet.states import ReplicaState
from streams.events import Usage
from tests.support.simulated_platform import SimulatedPlatform
from workers.engine_reporter import EngineReporter
from workers.replica import Replica

FACTS = EngineFacts("1.2", "Q8_0", 12.0, cache_capacity=8, cache_unit="sequences")


@dataclass
class ReportingEngine:
    """What a reporter uses of an engine."""

    facts: EngineFacts = field(default_factory=lambda: FACTS)
    context: int | None = 4096
    use: float | None = 0.123

    async def cache_use(self) -> float | None:
        if self.use is None:
            await asyncio.sleep(3600)
        return self.use


@pytest.fixture
def platform(client: redis.Redis, settings: Settings) -> SimulatedPlatform:
    platform = SimulatedPlatform(client, settings)
    platform.register()
    return platform


@pytest.fixture
def replica(platform: SimulatedPlatform) -> Replica:
    (name,) = platform.load()
    model = ModelDefinition("alpha", "stub")
    return Replica(name, model, ReplicaState.UP, ReportingEngine())  # type: ignore[arg-type]


def reporter(platform: SimulatedPlatform, replica: Replica, *suspects: str) -> EngineReporter:
    jobs: Any = {name: SimpleNamespace(replica=name, suspect=True) for name in suspects}
    return EngineReporter(platform.fleet, {replica.name: replica}, jobs)


def test_the_facts_of_an_engine_are_reported_and_change_with_its_cache(
    platform: SimulatedPlatform, replica: Replica
) -> None:
    reports = reporter(platform, replica)
    incarnation = platform.incarnations["w1"]
    reports.report("w1", incarnation, hangs=False)
    (row,) = platform.fleet.engines()
    assert (row.replica, row.model, row.device, row.stalled) == (replica.name, "alpha", "cpu", False)
    assert row.report == EngineReport(
        "1.2",
        "Q8_0",
        4096,
        12.0,
        None,
        cache_capacity=8,
        cache_unit="sequences",
        prompt_tokens=0,
        cached_tokens=0,
    )
    asyncio.run(reports.measure())
    reports.report("w1", incarnation, hangs=False)
    assert platform.fleet.engines()[0].report.kv_cache_use == 0.12


def test_the_prompts_of_a_replica_are_counted_with_what_its_cache_had_of_them(
    platform: SimulatedPlatform, replica: Replica
) -> None:
    replica.count_prompt(Usage(input_tokens=100, cached_tokens=80))
    replica.count_prompt(Usage(input_tokens=60, cached_tokens=64))  # more than the prompt has
    reporter(platform, replica).report("w1", platform.incarnations["w1"], hangs=False)
    (row,) = platform.fleet.engines()
    assert (row.report.prompt_tokens, row.report.cached_tokens) == (160, 140)
    assert row.report.cache_hit_rate == 0.875
    assert EngineReport().cache_hit_rate is None


def test_an_unchanged_report_costs_redis_nothing(
    platform: SimulatedPlatform, replica: Replica, client: redis.Redis
) -> None:
    reports = reporter(platform, replica)
    reports.report("w1", platform.incarnations["w1"], hangs=False)
    before = client.info("commandstats")
    reports.report("w1", platform.incarnations["w1"], hangs=False)
    assert client.info("commandstats").get("cmdstat_evalsha") == before.get("cmdstat_evalsha")


def test_an_engine_that_does_not_answer_keeps_its_last_value(
    platform: SimulatedPlatform, replica: Replica, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("workers.engine_reporter.MEASURE_TIMEOUT_S", 0.01)
    reports = reporter(platform, replica)
    asyncio.run(reports.measure())
    replica.engine.use = None  # type: ignore[union-attr]
    asyncio.run(reports.measure())
    reports.report("w1", platform.incarnations["w1"], hangs=False)
    assert platform.fleet.engines()[0].report.kv_cache_use == 0.12


@pytest.mark.parametrize("cause", ["a suspect job", "the worker's loop"])
def test_an_engine_without_progress_is_reported_until_it_makes_some(
    platform: SimulatedPlatform, replica: Replica, cause: str
) -> None:
    incarnation = platform.incarnations["w1"]
    suspects = [replica.name] if cause == "a suspect job" else []
    reporter(platform, replica, *suspects).report("w1", incarnation, hangs=not suspects)
    assert platform.fleet.engines()[0].stalled
    reporter(platform, replica).report("w1", incarnation, hangs=False)
    assert not platform.fleet.engines()[0].stalled


def test_the_end_of_a_replica_ends_its_stall(
    platform: SimulatedPlatform, replica: Replica, client: redis.Redis
) -> None:
    reporter(platform, replica, replica.name).report("w1", platform.incarnations["w1"], hangs=False)
    platform.crash(replica.name)
    assert not client.exists(f"{platform.prefix}stalled_replicas")
    reporter(platform, replica, replica.name).report("w1", platform.incarnations["w1"], hangs=False)
    assert not client.exists(f"{platform.prefix}stalled_replicas"), "a late report of an engine that is gone"


def test_a_former_incarnation_reports_nothing(platform: SimulatedPlatform, replica: Replica) -> None:
    reporter(platform, replica, replica.name).report("w1", "1", hangs=True)
    assert not platform.fleet.engines()[0].stalled
