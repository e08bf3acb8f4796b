"""The largest server time of each script at 1,000 workers, 1,000 replicas and a long queue.

While a script runs the server answers nobody else, so no script may take long, whatever it does.
"""

from __future__ import annotations

import tempfile
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.growth.server import MeasuredServer, measured_server
from benchmarks.growth.simulated_platform import HOUR_MS, SimulatedPlatform, Size
from scheduler import commands
from store.calls import Call, Read

WORKERS = 1_000
REPLICAS = 1_000
WIDE_SLOTS = 1_000
REPLICA_MIB = 1_000
"""The size of a model's files: so the memory is checked."""

BOUND_MS = 20.0

Log = Callable[[str], None]


@dataclass(frozen=True)
class LargestSample:
    """The largest CPU time of the server for one call of a script in one round, and the number of calls."""

    round: int
    script: str
    calls: int
    cpu_ms: float


class CallRecorder:
    """Records the server's CPU time of each call of a script."""

    def __init__(self, server: MeasuredServer, platform: SimulatedPlatform) -> None:
        self.taken_ms: dict[str, list[float]] = defaultdict(list)
        for scripts in (platform.ledger.scripts, platform.fleet.scripts):
            scripts.execute = self._recording(server, scripts.execute)  # type: ignore[method-assign]

    def _recording(self, server: MeasuredServer, execute: Callable[..., Any]) -> Callable[..., Any]:
        def record(command: Call[Any] | Read[Any]) -> Any:
            before = server.cpu_us()
            result = execute(command)
            if isinstance(command, Call):
                self.taken_ms[command.script].append((server.cpu_us() - before) / 1000)
            return result

        return record

    def samples(self, number: int) -> list[LargestSample]:
        """The largest call of each script since the last call of this method."""
        taken, self.taken_ms = self.taken_ms, defaultdict(list)
        return [LargestSample(number, name, len(each), max(each)) for name, each in taken.items()]


def measure(rounds: int, waiting: int, log: Log) -> list[LargestSample]:
    """Load, serve, lose and unload everything, `rounds` times, with so many waiting jobs."""
    samples: list[LargestSample] = []
    with (
        tempfile.TemporaryDirectory(prefix="stoker-growth-") as folder,
        measured_server(Path(folder), log) as server,
    ):
        platform = SimulatedPlatform(server, "largest", Size(WORKERS, REPLICAS, 1, 1_000, waiting))
        platform.ledger.scripts.load()
        platform.fleet.scripts.load()
        platform.fleet.report_artifacts(dict.fromkeys(platform.settings.models, REPLICA_MIB))
        recorder = CallRecorder(server, platform)
        for number in range(1, rounds + 1):
            _use_all_scripts(platform, waiting, log)
            found = recorder.samples(number)
            worst = max(found, key=lambda sample: sample.cpu_ms)
            log(f"largest call: {worst.script} {worst.cpu_ms:.1f} ms")
            samples += found
    return samples


def _use_all_scripts(platform: SimulatedPlatform, waiting: int, log: Log) -> None:
    log(f"loading {REPLICAS:,} replicas on {WORKERS:,} workers")
    for worker in range(WORKERS):
        platform.register(f"w{worker}")
    platform.load("measured", REPLICAS, 1)
    log(f"queueing {waiting:,} jobs")
    platform.admit_many(REPLICAS + waiting)
    platform.running = platform.take(list(platform.incarnations))
    _serve(platform)
    _lose_a_worker(platform)
    log("unloading, with all these jobs in the queue")
    _unload(platform)
    log(f"a crash of an engine with {WIDE_SLOTS:,} requests")
    _crash_a_wide_engine(platform)
    log("all workers are lost")
    _lose_all_workers(platform)


def _serve(platform: SimulatedPlatform) -> None:
    for _ in range(20):
        job = platform.job()
        platform.ledger.admit(job)
        platform.running += platform.end(platform.running.pop(0))
        scripts = platform.ledger.scripts
        scripts.execute(commands.subscribe(job.id, "other"))
        platform.ledger.cancel(job.id, job.tenant)
        platform.ledger.heartbeat("w0", platform.incarnations["w0"])
        scripts.execute(commands.take_claims("w0", platform.incarnations["w0"], ()))
        platform.fleet.registry.expire()
        platform.recovery.is_due(0.0)
        platform.recovery.missing()
    for _ in range(3):
        platform.fleet.rows()
        platform.fleet.workers()


def _lose_a_worker(platform: SimulatedPlatform) -> None:
    """A worker is restarted, another one is shut down, and their replicas are replaced."""
    platform.fleet.registry.begin_shutdown("w1", platform.incarnations["w1"])
    platform.fleet.registry.deregister("w1", platform.incarnations["w1"], "shut down")
    platform.register("w0")
    for outcome in platform.recovery.replace_lost():
        platform.start_replicas(outcome, 1)
    platform.register("w1")


def _unload(platform: SimulatedPlatform) -> None:
    for item in platform.fleet.unload("measured").assignments:
        platform.fleet.replica_progress(item.replica, 0.5, "draining")
        platform.stop_replica(item, "unloaded")
    platform.finish_work()


def _crash_a_wide_engine(platform: SimulatedPlatform) -> None:
    (item,) = platform.load("wide", 1, WIDE_SLOTS).assignments
    platform.admit_many(2 * WIDE_SLOTS, "wide")
    platform.stop_replica(item, "engine_crashed")
    platform.finish_work()


def _lose_all_workers(platform: SimulatedPlatform) -> None:
    platform.load("measured", REPLICAS, 1)
    platform.admit_many(2 * REPLICAS)
    platform.advance_time(2 * HOUR_MS / 1000)
    platform.finish_work()
    platform.fleet.unload("measured")
    platform.finish_work()
