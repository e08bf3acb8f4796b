"""Reports of free device memory, and the measured memory of loads; the tests set the readings."""

from __future__ import annotations

import threading
from dataclasses import replace

import pytest
import redis

from config.settings import Settings
from fleet.memory import DeviceMemory
from fleet.worker_row import WorkerRow
from store.errors import StorageUnavailable
from tests.conftest import ValkeyServer
from tests.support.simulated_platform import SimulatedPlatform
from tests.support.waiting import scaled
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


class RecordingFleet:
    """Records the reported free memory."""

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


def reporter_of(platform: SimulatedPlatform) -> MemoryReporter:
    memory_reporter = MemoryReporter("w1", platform.fleet)
    memory_reporter.incarnation = platform.incarnations["w1"]
    return memory_reporter


def w1(platform: SimulatedPlatform) -> WorkerRow:
    return platform.fleet.workers()[0]


# ---- free memory


def test_the_devices_memory_is_reported(reader: DeviceMemoryReader, platform: SimulatedPlatform) -> None:
    assert (w1(platform).memory, w1(platform).memory_id) == (None, "")
    reporter_of(platform).report()
    assert (w1(platform).memory, w1(platform).memory_id) == (reader.memory, "GPU-0")


def test_a_device_that_cannot_be_read_is_reported_with_the_reason_and_without_an_id(
    reader: DeviceMemoryReader, platform: SimulatedPlatform
) -> None:
    reader.memory = DeviceMemory("gpu:node:0", 0, 0, error="no GPU can be read: start its driver")
    reporter_of(platform).report()
    assert (w1(platform).memory, w1(platform).memory_id) == (reader.memory, "")


def test_unchanged_memory_is_reported_once(reader: DeviceMemoryReader) -> None:
    fleet = RecordingFleet()
    memory_reporter = MemoryReporter("w1", fleet)  # type: ignore[arg-type]
    for takes in (0, 0, 30, 0, -30, 0):
        reader.takes(takes)
        memory_reporter.report()
    assert fleet.free == [90, 60, 90]


@pytest.mark.usefixtures("reader")
def test_a_past_incarnation_reports_no_memory(platform: SimulatedPlatform) -> None:
    memory_reporter = reporter_of(platform)
    platform.register()
    memory_reporter.report()
    assert w1(platform).memory is None


def test_memory_is_reported_again_after_redis_was_unreachable(
    reader: DeviceMemoryReader, own_server: ValkeyServer, settings: Settings
) -> None:
    own_settings = replace(settings, redis=replace(settings.redis, url=own_server.url))
    platform = SimulatedPlatform(redis.Redis.from_url(own_server.url), own_settings)
    platform.register()
    memory_reporter = reporter_of(platform)
    memory_reporter.report()
    own_server.kill()
    reader.takes(30)
    memory_reporter.report()
    own_server.start()
    with memory_reporter.measuring():
        reader.takes(20)
    assert (w1(platform).memory or reader.memory).free_mib == 40


def test_a_report_whose_answer_was_lost_does_not_count_as_reported(reader: DeviceMemoryReader) -> None:
    class UnreliableFleet(RecordingFleet):
        def report_memory(self, worker: str, incarnation: str, memory: DeviceMemory) -> None:
            super().report_memory(worker, incarnation, memory)
            if len(self.free) == 2:
                raise StorageUnavailable("the answer was lost")

    fleet = UnreliableFleet()
    memory_reporter = MemoryReporter("w1", fleet)  # type: ignore[arg-type]
    for takes in (0, 30, -30):  # back to the memory reported before
        reader.takes(takes)
        memory_reporter.report()
    assert fleet.free == [90, 60, 90]


def test_reports_arrive_in_the_order_of_their_readings(reader: DeviceMemoryReader) -> None:
    waiting, proceed = threading.Event(), threading.Event()

    class SlowFleet(RecordingFleet):
        def report_memory(self, worker: str, incarnation: str, memory: DeviceMemory) -> None:
            if not self.free:
                waiting.set()
                proceed.wait(scaled(10))
            super().report_memory(worker, incarnation, memory)

    fleet = SlowFleet()
    memory_reporter = MemoryReporter("w1", fleet)  # type: ignore[arg-type]
    first = threading.Thread(target=memory_reporter.report)
    first.start()
    assert waiting.wait(scaled(10))
    reader.takes(30)
    second = threading.Thread(target=memory_reporter.report)
    second.start()
    second.join(0.1)
    proceed.set()
    for thread in (first, second):
        thread.join(scaled(10))
    assert fleet.free == [90, 60]


# ---- memory of a load


def test_a_remote_engine_takes_no_memory_and_does_not_disturb_a_measurement(
    reader: DeviceMemoryReader, platform: SimulatedPlatform
) -> None:
    memory_reporter = reporter_of(platform)
    with memory_reporter.measuring() as measurement:
        with memory_reporter.measuring(remote=True) as remote:
            assert memory_reporter.taken_mib(remote, None) == 0
        reader.takes(40)
        with memory_reporter.measuring(remote=True):
            pass
        assert memory_reporter.taken_mib(measurement, 4242) == 40


def test_a_load_took_the_memory_that_the_driver_attributes_to_the_engine(
    reader: DeviceMemoryReader, platform: SimulatedPlatform
) -> None:
    memory_reporter = reporter_of(platform)
    with memory_reporter.measuring() as measurement:
        reader.takes(40)
        reader.held[4242] = 35
        assert memory_reporter.taken_mib(measurement, 4242) == 35


def test_a_load_took_the_loss_of_free_memory_when_the_driver_has_no_figure(
    reader: DeviceMemoryReader, platform: SimulatedPlatform
) -> None:
    memory_reporter = reporter_of(platform)
    with memory_reporter.measuring() as measurement:
        reader.takes(40)
        assert memory_reporter.taken_mib(measurement, 4242) == 40
    assert (w1(platform).memory or reader.memory).free_mib == 50


@pytest.mark.parametrize("first_ends_first", [True, False])
def test_the_memory_of_two_engines_that_load_at_once_is_unknown(
    reader: DeviceMemoryReader, platform: SimulatedPlatform, first_ends_first: bool
) -> None:
    memory_reporter = reporter_of(platform)
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


def test_an_engine_that_stops_meanwhile_makes_the_measurement_unknown(
    reader: DeviceMemoryReader, platform: SimulatedPlatform
) -> None:
    memory_reporter = reporter_of(platform)
    with memory_reporter.measuring() as measurement:
        reader.takes(40)
        with memory_reporter.measuring():
            reader.takes(-20)
        assert memory_reporter.taken_mib(measurement, 4242) is None


def test_a_load_has_unknown_memory_when_others_freed_more_meanwhile(
    reader: DeviceMemoryReader, platform: SimulatedPlatform
) -> None:
    memory_reporter = reporter_of(platform)
    with memory_reporter.measuring() as measurement:
        reader.takes(-5)
        assert memory_reporter.taken_mib(measurement, 4242) is None


@pytest.mark.parametrize(
    "after",
    [DeviceMemory("GPU-0", 0, 0, error="no GPU can be read: why"), DeviceMemory("GPU-1", 100, 10)],
    ids=["it cannot be read", "it is another one"],
)
def test_a_load_has_unknown_memory_when_its_device_changed_or_cannot_be_read(
    reader: DeviceMemoryReader, platform: SimulatedPlatform, after: DeviceMemory
) -> None:
    memory_reporter = reporter_of(platform)
    with memory_reporter.measuring() as measurement:
        reader.memory = after
        assert memory_reporter.taken_mib(measurement, 4242) is None


def fails(reader: DeviceMemoryReader) -> DeviceMemory:
    reader.takes(40)
    raise RuntimeError("no such weights")


def test_a_failed_load_does_not_disturb_later_measurements(
    reader: DeviceMemoryReader, platform: SimulatedPlatform
) -> None:
    memory_reporter = reporter_of(platform)
    with pytest.raises(RuntimeError), memory_reporter.measuring():
        reader.memory = fails(reader)
    assert (w1(platform).memory or reader.memory).free_mib == 50
    with memory_reporter.measuring() as measurement:
        reader.takes(10)
        assert memory_reporter.taken_mib(measurement, 4242) == 10


def test_a_load_that_fails_ends_no_other_ones_measurement_that_began_at_the_same_time(
    reader: DeviceMemoryReader, platform: SimulatedPlatform
) -> None:
    memory_reporter = reporter_of(platform)
    failing = memory_reporter.measuring()
    with memory_reporter.measuring() as first:
        failing.__enter__()
        with memory_reporter.measuring() as third:
            failing.__exit__(None, None, None)
            reader.held = {4242: 30, 4343: 20}
            first.set_group(4242)
            third.set_group(4343)
            memory_reporter.report()
            assert w1(platform).memory.free_mib == 100
    assert not memory_reporter._under_way


def test_memory_of_a_loading_engine_counts_as_free_since_its_load_reserved_all_of_it(
    reader: DeviceMemoryReader,
) -> None:
    fleet = RecordingFleet()
    memory_reporter = MemoryReporter("w1", fleet)  # type: ignore[arg-type]
    with memory_reporter.measuring() as measurement:
        memory_reporter.report()
        measurement.set_group(7)
        reader.takes(55)
        reader.held[7] = 55
        memory_reporter.report()
        assert fleet.free == [90], "the free memory is unchanged"
        reader.takes(5)  # another process
        memory_reporter.report()
    assert fleet.free == [90, 85, 30]


# ---- memory of an unload


def test_an_unload_frees_the_memory_that_the_engine_held_right_before(
    reader: DeviceMemoryReader, platform: SimulatedPlatform
) -> None:
    memory_reporter = reporter_of(platform)
    reader.takes(40)
    reader.held[4242] = 35
    with memory_reporter.measuring() as measurement:
        held_mib = memory_reporter.held_mib(4242)
        reader.takes(-40)
        assert memory_reporter.freed_mib(measurement, held_mib) == 35


def test_an_unload_frees_the_gain_of_free_memory_when_the_driver_has_no_figure(
    reader: DeviceMemoryReader, platform: SimulatedPlatform
) -> None:
    memory_reporter = reporter_of(platform)
    reader.takes(40)
    with memory_reporter.measuring() as measurement:
        held_mib = memory_reporter.held_mib(4242)
        reader.takes(-40)
        assert (held_mib, memory_reporter.freed_mib(measurement, held_mib)) == (None, 40)
        reader.takes(60)
        assert memory_reporter.freed_mib(measurement, held_mib) is None


def test_the_memory_of_two_engines_that_stop_at_once_is_unknown(
    reader: DeviceMemoryReader, platform: SimulatedPlatform
) -> None:
    memory_reporter = reporter_of(platform)
    reader.takes(40)
    with memory_reporter.measuring() as first, memory_reporter.measuring() as second:
        reader.takes(-40)
        assert [memory_reporter.freed_mib(one, None) for one in (first, second)] == [None, None]


def test_a_remote_engine_frees_no_memory(reader: DeviceMemoryReader, platform: SimulatedPlatform) -> None:
    memory_reporter = reporter_of(platform)
    reader.takes(40)
    with memory_reporter.measuring(remote=True) as measurement:
        assert memory_reporter.freed_mib(measurement, memory_reporter.held_mib(None)) == 0
