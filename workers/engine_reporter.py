"""Reports what the engines of a worker report about themselves, and which of them make no progress."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace

from backends.base import Engine, HasContextLimit, HasFacts
from fleet.engine_report import EngineReport
from fleet.fleet import Fleet
from fleet.states import ReplicaState
from workers.replica import Replica
from workers.running_job import RunningJob

MEASURE_INTERVAL_S = 2.0
MEASURE_TIMEOUT_S = 1.5


class EngineReporter:
    """Measures on the event loop (`run`), and reports from the thread of the heartbeats (`report`).

    So a hanging loop is reported, too. `replicas` and `running` are the worker's own replicas and jobs.
    """

    def __init__(
        self, fleet: Fleet, replicas: Mapping[str, Replica], running: Mapping[str, RunningJob]
    ) -> None:
        self._fleet = fleet
        self._replicas = replicas
        self._running = running
        self._use: dict[str, float | None] = {}
        self._reported: dict[str, tuple[EngineReport, bool]] = {}

    async def run(self) -> None:
        """Measure again and again how much of their caches the engines use."""
        while True:
            await asyncio.sleep(MEASURE_INTERVAL_S)
            await self.measure()

    async def measure(self) -> None:
        """Ask all engines at once; one that does not answer in time keeps its last value."""
        names = [name for name, replica in self._replicas.items() if replica.state is ReplicaState.UP]
        await asyncio.gather(*(self._measure(name) for name in names))
        for name in self._use.keys() - set(names):
            del self._use[name]

    async def _measure(self, name: str) -> None:
        replica = self._replicas.get(name)
        engine = None if replica is None else replica.engine
        if isinstance(engine, HasFacts):
            with suppress(TimeoutError):
                self._use[name] = await asyncio.wait_for(engine.cache_use(), MEASURE_TIMEOUT_S)

    def report(self, worker: str, incarnation: str, *, hangs: bool) -> None:
        """Report what changed. `hangs`: the worker's event loop does, so no engine of it makes progress.

        Raises `StokerError`.
        """
        suspects = {job.replica for job in list(self._running.values()) if job.suspect}
        current = {
            name: (_report_of_replica(replica, self._use.get(name)), hangs or name in suspects)
            for name, replica in list(self._replicas.items())
            if replica.state is ReplicaState.UP and replica.engine is not None
        }
        changed = {name: entry for name, entry in current.items() if self._reported.get(name) != entry}
        if changed:
            self._fleet.report_engines(worker, incarnation, changed)
        self._reported = current


def _report_of_replica(replica: Replica, use: float | None) -> EngineReport:
    """What its engine reports about itself, and what was counted of its requests."""
    assert replica.engine is not None  # noqa: S101 - it is up
    report = report_of(replica.engine, use)
    return replace(report, prompt_tokens=replica.prompt_tokens, cached_tokens=replica.cached_tokens)


def report_of(engine: Engine, use: float | None = None) -> EngineReport:
    """What an engine reports about itself."""
    context = engine.context if isinstance(engine, HasContextLimit) else None
    if not isinstance(engine, HasFacts):
        return EngineReport(context=context)
    facts = engine.facts
    size = None if facts.kv_cache_mib is None else round(facts.kv_cache_mib, 2)
    used = None if use is None else round(use, 2)
    return EngineReport(
        version=facts.version,
        quantization=facts.quantization,
        context=context,
        kv_cache_mib=size,
        kv_cache_use=used,
        longest_token=facts.longest_token,
        cache_capacity=facts.cache_capacity,
        cache_unit=facts.cache_unit,
    )
