"""The requests that are measured: admitted, taken by their worker, ended."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from benchmarks.growth.server import Cost, MeasuredServer
from benchmarks.growth.simulated_platform import SimulatedPlatform


def measure_requests(server: MeasuredServer, platform: SimulatedPlatform, count: int) -> Cost:
    """Send `count` requests, end them and count their ends; returns the mean cost of one.

    So many slots must be free. While jobs wait, a request is queued when it is admitted, and the end of
    another job starts the next one in the same call. Otherwise it runs at once, and its worker takes it from
    its claim list.
    """
    serve = _serve_from_the_queue if platform.size.waiting else _serve_at_once
    costs = [*serve(server, platform, count), *_count_ends(server, platform)]
    return Cost(sum(one.cpu_us for one in costs) / count, sum(one.commands for one in costs) / count)


def _serve_from_the_queue(server: MeasuredServer, platform: SimulatedPlatform, count: int) -> list[Cost]:
    with server.measured() as costs:
        for _ in range(count):
            platform.ledger.admit(platform.job())
            platform.running += platform.end(platform.running.pop(0))
    return costs


def _serve_at_once(server: MeasuredServer, platform: SimulatedPlatform, count: int) -> list[Cost]:
    jobs = [platform.job() for _ in range(count)]
    with server.measured() as admitted:
        for job in jobs:
            platform.ledger.admit(job)
    keys = [f"{platform.prefix}job:{job.id}" for job in jobs]
    rows = [platform.client.hget(key, "worker") for key in keys]
    workers = [worker.decode() for worker in rows if isinstance(worker, bytes)]
    with server.measured() as ended:
        for worker in workers:
            for claim in platform.take([worker]):
                platform.running.append(claim)
                platform.end(platform.running.pop(0))
    return [*admitted, *ended]


def _count_ends(server: MeasuredServer, platform: SimulatedPlatform) -> list[Cost]:
    with server.measured() as costs:
        while platform.fleet.registry.expire().more:
            pass
    return costs


@dataclass(frozen=True)
class PeriodicCall:
    """A call that a worker or process makes at regular intervals, whatever the load."""

    name: str
    call: Callable[[SimulatedPlatform], object]


PERIODIC_CALLS = (
    PeriodicCall("heartbeat", lambda one: one.ledger.heartbeat("w0", one.incarnations["w0"])),
    PeriodicCall("expire, its turn", lambda one: one.fleet.registry.expire()),
    PeriodicCall("expire, not its turn", lambda one: one.fleet.registry.expire(3_600_000_000)),
    PeriodicCall("look for recovery, its turn", lambda one: (one.recovery.is_due(0.0), *_look(one))),
    PeriodicCall("look for recovery, not its turn", lambda one: one.recovery.is_due(3600.0)),
)


def _look(platform: SimulatedPlatform) -> tuple[object, ...]:
    recovery = platform.recovery
    return recovery.resume_pending(), recovery.replace_lost(), recovery.missing()


def measure_call(
    server: MeasuredServer, platform: SimulatedPlatform, periodic: PeriodicCall, count: int
) -> Cost:
    """Make a call `count` times; returns the mean cost of one."""
    with server.measured() as costs:
        for _ in range(count):
            periodic.call(platform)
    return Cost(costs[0].cpu_us / count, costs[0].commands / count)
