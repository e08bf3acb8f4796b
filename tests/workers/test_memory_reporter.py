"""What a load takes of a device, and what the fleet is told is left of it; the reader is moved by hand."""

from __future__ import annotations

import threading
from dataclasses import replace

import pytest
import redis

from config.settings import Settings
from fleet.memory import DeviceMemory
from fleet.worker_row import WorkerRow
from scheduler.errors import StorageUnavailable
from tests.conftest import Server
from tests.support.simulated_platform import SimulatedPlatform
from workers.memory_reporter import MemoryReporter


class DeviceMemoryReader:
    """A device of 100 MiB."""

    def __init__(self) -> None:
        self.memory = DeviceMemory("GPU-0", 100, 90)
        self.held: dict[int, int] = {}

    def read(self) -> DeviceMemory:
        return self.memory

    def held_by(self, group: int) -> int | None:
        return self.held.get(group)

    def takes(self, mib: int) -> None:
        self.memory = replace(self.memory, free_mib=self.memory.free_mib - mib)


class Told:
    """A fleet that remembers what it was told."""

    def __init__(self) -> None:
        self.free: list[int] = []

    def report_memory(self, _worker: str, _incarnation: str, memory: DeviceMemory) -> None:
        self.free.append(memory.free_mib)


@pytest.fixture
def reader(monkeypatch: pytest.MonkeyPatch) -> DeviceMemoryReader:
    reader = DeviceMemoryReader()
    monkeypatch.setattr("workers.memory_reporter.DeviceMemoryReader", lambda: reader)
    return reader


@pytest.fixture
def platform(client: redis.Redis, settings: Settings) -> SimulatedPlatform:
    platform = SimulatedPlatform(client, settings)
    platform.register()
    return platform


def scale_of(platform: SimulatedPlatform) -> MemoryReporter:
    memory_reporter = MemoryReporter("w1", platform.fleet)
    memory_reporter.incarnation = platform.incarnations["w1"]
    return memory_reporter


def w1(platform: SimulatedPlatform) -> WorkerRow:
    return platform.fleet.workers()[0]


# ---- what is left


def test_the_fleet_is_told_what_the_device_has(
    reader: DeviceMemoryReader, platform: SimulatedPlatform
) -> None:
    assert (w1(platform).memory, w1(platform).memory_id) == (None, "")
    scale_of(platform).report()
    assert (w1(platform).memory, w1(platform).memory_id) == (reader.memory, "GPU-0")


def test_a_device_that_cannot_be_read_tells_why_and_has_no_name(
    reader: DeviceMemoryReader, platform: SimulatedPlatform
) -> None:
    reader.memory = DeviceMemory("gpu:node:0", 0, 0, error="no GPU can be read: start its driver")
    scale_of(platform).report()
    assert (w1(platform).memory, w1(platform).memory_id) == (reader.memory, "")


def test_what_is_as_it_was_is_told_once(reader: DeviceMemoryReader) -> None:
    fleet = Told()
    memory_reporter = MemoryReporter("w1", fleet)  # type: ignore[arg-type]
    for takes in (0, 0, 30, 0, -30, 0):
        reader.takes(takes)
        memory_reporter.report()
    assert fleet.free == [90, 60, 90]


@pytest.mark.usefixtures("reader")
def test_a_life_that_is_over_tells_nothing(platform: SimulatedPlatform) -> None:
    memory_reporter = scale_of(platform)
    platform.register()
    memory_reporter.report()
    assert w1(platform).memory is None


def test_while_redis_is_away_nobody_is_told_and_nothing_breaks(
    reader: DeviceMemoryReader, own_server: Server, settings: Settings
) -> None:
    here = replace(settings, redis=replace(settings.redis, url=own_server.url))
    platform = SimulatedPlatform(redis.Redis.from_url(own_server.url), here)
    platform.register()
    memory_reporter = scale_of(platform)
    memory_reporter.report()
    own_server.kill()
    reader.takes(30)
    memory_reporter.report()
    own_server.start()
    with memory_reporter.measuring():
        reader.takes(20)
    assert (w1(platform).memory or reader.memory).free_mib == 40


def test_what_may_not_have_been_heard_is_no_news_that_was_told(reader: DeviceMemoryReader) -> None:
    class Deaf(Told):
        def report_memory(self, worker: str, incarnation: str, memory: DeviceMemory) -> None:
            super().report_memory(worker, incarnation, memory)
            if len(self.free) == 2:
                raise StorageUnavailable("the answer was lost")

    fleet = Deaf()
    memory_reporter = MemoryReporter("w1", fleet)  # type: ignore[arg-type]
    for takes in (0, 30, -30):  # back to what was told before
        reader.takes(takes)
        memory_reporter.report()
    assert fleet.free == [90, 60, 90]


def test_what_was_read_first_is_told_first(reader: DeviceMemoryReader) -> None:
    slow, going_on = threading.Event(), threading.Event()

    class Slow(Told):
        def report_memory(self, worker: str, incarnation: str, memory: DeviceMemory) -> None:
            if not self.free:
                slow.set()
                going_on.wait(10)
            super().report_memory(worker, incarnation, memory)

    fleet = Slow()
    memory_reporter = MemoryReporter("w1", fleet)  # type: ignore[arg-type]
    first = threading.Thread(target=memory_reporter.report)
    first.start()
    assert slow.wait(10)
    reader.takes(30)
    second = threading.Thread(target=memory_reporter.report)
    second.start()
    second.join(0.1)
    going_on.set()
    for thread in (first, second):
        thread.join(10)
    assert fleet.free == [90, 60]


# ---- what a load took


def test_what_runs_elsewhere_takes_nothing_and_spoils_no_weighing(
    reader: DeviceMemoryReader, platform: SimulatedPlatform
) -> None:
    memory_reporter = scale_of(platform)
    with memory_reporter.measuring() as measurement:
        with memory_reporter.measuring(remote=True) as far:
            assert memory_reporter.taken_mib(far, None) == 0
        reader.takes(40)
        with memory_reporter.measuring(remote=True):
            pass
        assert memory_reporter.taken_mib(measurement, 4242) == 40


def test_what_the_driver_says_of_an_engine_counts(
    reader: DeviceMemoryReader, platform: SimulatedPlatform
) -> None:
    memory_reporter = scale_of(platform)
    with memory_reporter.measuring() as measurement:
        reader.takes(40)
        reader.held[4242] = 35
        assert memory_reporter.taken_mib(measurement, 4242) == 35


def test_else_what_is_free_less_than_before(reader: DeviceMemoryReader, platform: SimulatedPlatform) -> None:
    memory_reporter = scale_of(platform)
    with memory_reporter.measuring() as measurement:
        reader.takes(40)
        assert memory_reporter.taken_mib(measurement, 4242) == 40
    assert (w1(platform).memory or reader.memory).free_mib == 50


@pytest.mark.parametrize("first_ends_first", [True, False])
def test_two_engines_on_the_scale_at_once_cannot_be_told_apart(
    reader: DeviceMemoryReader, platform: SimulatedPlatform, first_ends_first: bool
) -> None:
    memory_reporter = scale_of(platform)
    loads = [memory_reporter.measuring(), memory_reporter.measuring()]
    first, second = (load.__enter__() for load in loads)
    reader.takes(40)
    order = zip(loads, (first, second), strict=True)
    for load, measurement in order if first_ends_first else reversed(list(order)):
        assert memory_reporter.taken_mib(measurement, 4242) is None
        load.__exit__(None, None, None)
    with memory_reporter.measuring() as alone:
        reader.takes(10)
        assert memory_reporter.taken_mib(alone, 4242) == 10


def test_an_engine_that_stops_meanwhile_spoils_the_weighing(
    reader: DeviceMemoryReader, platform: SimulatedPlatform
) -> None:
    memory_reporter = scale_of(platform)
    with memory_reporter.measuring() as measurement:
        reader.takes(40)
        with memory_reporter.measuring():
            reader.takes(-20)
        assert memory_reporter.taken_mib(measurement, 4242) is None


def test_who_gave_memory_back_meanwhile_makes_no_load_free_of_cost(
    reader: DeviceMemoryReader, platform: SimulatedPlatform
) -> None:
    memory_reporter = scale_of(platform)
    with memory_reporter.measuring() as measurement:
        reader.takes(-5)
        assert memory_reporter.taken_mib(measurement, 4242) is None


@pytest.mark.parametrize(
    "after",
    [DeviceMemory("GPU-0", 0, 0, error="no GPU can be read: why"), DeviceMemory("GPU-1", 100, 10)],
    ids=["it cannot be read", "it is another one"],
)
def test_a_device_that_is_not_what_it_was_tells_nothing_of_a_load(
    reader: DeviceMemoryReader, platform: SimulatedPlatform, after: DeviceMemory
) -> None:
    memory_reporter = scale_of(platform)
    with memory_reporter.measuring() as measurement:
        reader.memory = after
        assert memory_reporter.taken_mib(measurement, 4242) is None


def fails(reader: DeviceMemoryReader) -> DeviceMemory:
    reader.takes(40)
    raise RuntimeError("no such weights")


def test_a_load_that_fails_is_off_the_scale(reader: DeviceMemoryReader, platform: SimulatedPlatform) -> None:
    memory_reporter = scale_of(platform)
    with pytest.raises(RuntimeError), memory_reporter.measuring():
        reader.memory = fails(reader)
    assert (w1(platform).memory or reader.memory).free_mib == 50
    with memory_reporter.measuring() as measurement:
        reader.takes(10)
        assert memory_reporter.taken_mib(measurement, 4242) == 10


def test_what_a_loading_engine_holds_is_free_still_since_all_of_it_is_promised(
    reader: DeviceMemoryReader,
) -> None:
    fleet = Told()
    memory_reporter = MemoryReporter("w1", fleet)  # type: ignore[arg-type]
    with memory_reporter.measuring() as measurement:
        memory_reporter.report()
        measurement.set_group(7)
        reader.takes(55)
        reader.held[7] = 55
        memory_reporter.report()
        assert fleet.free == [90], "nothing is less than it was"
        reader.takes(5)  # somebody else
        memory_reporter.report()
    assert fleet.free == [90, 85, 30]
