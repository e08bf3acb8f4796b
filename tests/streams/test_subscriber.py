"""Copies may be lost, duplicated or late; a reader receives the log, each event once and in order."""

from __future__ import annotations

from dataclasses import replace

import pytest
import redis

from config.settings import Settings
from scheduler.job import AppendRequest, Claim
from streams import subscriber as module
from streams.events import End, TextDelta
from streams.log import PAGE, PAGE_BYTES
from streams.subscriber import SILENCE_S
from tests.conftest import ValkeyServer
from tests.streams.conftest import ApiProcess, Collector, MakeProcess
from tests.support.simulated_platform import SimulatedPlatform


def begin(platform: SimulatedPlatform, process: ApiProcess, id: str) -> tuple[Collector, Claim]:
    """Subscribe, then admit, as the API does."""
    reader = process.subscribe(id)
    platform.admit(id=id, subscriber=process.subscriber.name)
    process.call(reader.cursor.on_admitted)
    return reader, platform.run(id)


def texts(*words: str) -> list[TextDelta]:
    return [TextDelta(word) for word in words]


def forbid_reading(process: ApiProcess, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process.subscriber, "read", lambda _: pytest.fail("a log was read"))
    monkeypatch.setattr(process.subscriber, "check", lambda _: pytest.fail("a log was compared"))


def append_words(platform: SimulatedPlatform, claims: list[Claim]) -> None:
    """Append twenty words to each response, one word of all of them per step, and end them."""
    for step in range(20):
        entries = [
            AppendRequest(
                claim.id, claim.replica, claim.fence, step + 1, (words_of(claim.id)[step].encode(),)
            )
            for claim in claims
        ]
        assert platform.step(claims[0], entries, []).stopped == {}
    for claim in claims:
        platform.release(claim)


def words_of(id: str) -> list[TextDelta]:
    return texts(*(f"{id}/{step}" for step in range(20)))


def test_events_arrive_in_order_and_the_end_is_last(platform: SimulatedPlatform, process: ApiProcess) -> None:
    reader, claim = begin(platform, process, "r1")
    platform.append_text(claim, 1, "a", "b")
    platform.append_text(claim, 3, "c")
    platform.release(claim, finish_reason="stop")
    events = reader.wait_for(4)
    assert events[:3] == texts("a", "b", "c")
    assert isinstance(events[3], End)
    assert (events[3].status, events[3].finish_reason) == ("completed", "stop")
    assert reader.cursor.number == 4


def test_no_log_is_read_while_all_copies_arrive(
    platform: SimulatedPlatform, process: ApiProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    forbid_reading(process, monkeypatch)
    reader, claim = begin(platform, process, "r1")
    for number in range(1, 50):
        platform.append_text(claim, number, f"{number}")
    assert reader.wait_for(49) == texts(*map(str, range(1, 50)))


def test_any_text_arrives_unchanged(platform: SimulatedPlatform, process: ApiProcess) -> None:
    words = ["", " ", "two\nlines", "r1 7 {}", "\u2028", '{"t":"end"}', "\U0001f525", "\x00"]
    reader, claim = begin(platform, process, "r1")
    platform.append_text(claim, 1, *words)
    assert reader.wait_for(len(words)) == texts(*words)


# ---- lost, late and duplicate copies


def test_after_a_gap_the_cursor_reads_the_log(platform: SimulatedPlatform, process: ApiProcess) -> None:
    reader, claim = begin(platform, process, "r1")
    platform.stop_copies("r1")
    platform.append_text(claim, 1, "a", "b")
    platform.ledger.subscribe("r1", process.subscriber.name)
    platform.append_text(claim, 3, "c")
    assert reader.wait_for(3) == texts("a", "b", "c")
    platform.append_text(claim, 4, "d")
    assert reader.wait_for(4) == texts("a", "b", "c", "d")


def test_duplicate_and_late_copies_are_ignored(platform: SimulatedPlatform, process: ApiProcess) -> None:
    reader, claim = begin(platform, process, "r1")
    platform.append_text(claim, 1, "a", "b", "c")
    reader.wait_for(3)
    for number in (1, 3, 2, 3):
        process.call(process.subscriber.deliver, b"r1 %d %s" % (number, TextDelta("again").encode()))
    platform.append_text(claim, 4, "d")
    assert reader.wait_for(4) == texts("a", "b", "c", "d")


def test_old_copies_of_several_responses_in_one_message_are_ignored(
    platform: SimulatedPlatform, process: ApiProcess
) -> None:
    first, claim = begin(platform, process, "r1")
    second, other = begin(platform, process, "r2")
    platform.append_text(claim, 1, "a", "b", "c", "d")
    platform.append_text(other, 1, "x", "y")
    first.wait_for(4)  # otherwise an old copy may come before the event itself
    second.wait_for(2)
    lines = [b"r1 2 %s", b"r1 1 %s", b"r2 1 %s", b"r1 4 %s", b"r2 2 %s", b"r2 2 %s"]
    process.call(process.subscriber.deliver, b"\n".join(line % b"{}" for line in lines))
    assert first.wait_for(4) == texts("a", "b", "c", "d")
    assert second.wait_for(2) == texts("x", "y")


def test_a_log_of_many_pages_is_read_while_its_copies_arrive(
    platform: SimulatedPlatform, process: ApiProcess
) -> None:
    words = [str(number) for number in range(1, 5 * PAGE)]
    reader, claim = begin(platform, process, "r1")
    process.call(reader.cursor.catch_up)
    for number, word in enumerate(words, 1):
        platform.append_text(claim, number, word)
        if number % 70 == 0:
            process.call(reader.cursor.catch_up)
    assert reader.wait_for(len(words)) == texts(*words)


def test_a_late_reader_begins_at_the_first_event(platform: SimulatedPlatform, process: ApiProcess) -> None:
    words = [str(number) for number in range(2 * PAGE)]
    id = platform.admit()
    claim = platform.run(id)
    platform.append_text(claim, 1, *words)
    reader = process.subscribe(id)
    platform.ledger.subscribe(id, process.subscriber.name)
    process.call(reader.cursor.catch_up)
    platform.append_text(claim, 2 * PAGE + 1, "new")
    platform.release(claim)
    events = reader.wait_for(2 * PAGE + 2)
    assert events[:-1] == texts(*words, "new")
    assert isinstance(events[-1], End)


def test_an_ended_response_is_read_from_its_log(platform: SimulatedPlatform, process: ApiProcess) -> None:
    id = platform.admit()
    claim = platform.run(id)
    platform.append_text(claim, 1, "a")
    platform.release(claim)
    reader = process.subscribe(id)
    process.call(reader.cursor.catch_up)
    first, end = reader.wait_for(2)
    assert first == TextDelta("a")
    assert isinstance(end, End)


# ---- silence


@pytest.fixture
def no_sweeps(monkeypatch: pytest.MonkeyPatch) -> None:
    """Processes that begin after this sweep only when the test does."""
    monkeypatch.setattr(module, "SWEEP_S", 3600.0)


def sweep_after(process: ApiProcess, seconds: float) -> None:
    """Sweep as if that time had passed since the last event."""

    def sweep() -> None:
        process.subscriber.sweep(process.subscriber.now + seconds)

    process.call(sweep)
    process.wait_until_caught_up()


@pytest.mark.usefixtures("no_sweeps")
def test_after_a_silence_the_cursor_is_compared_and_reads_what_it_missed(
    platform: SimulatedPlatform, process: ApiProcess
) -> None:
    reader, claim = begin(platform, process, "r1")
    platform.stop_copies("r1")
    platform.append_text(claim, 1, "no copy")
    sweep_after(process, SILENCE_S - 1)
    assert reader.events == []
    sweep_after(process, SILENCE_S)
    assert reader.wait_for(1) == texts("no copy")


@pytest.mark.usefixtures("no_sweeps")
def test_a_silent_response_costs_two_small_commands_per_silence(
    platform: SimulatedPlatform, process: ApiProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process.subscriber, "read", lambda _: pytest.fail("a log was read"))
    begin(platform, process, "r1")
    asked: list[object] = []
    exchange = process.connection.exchange

    async def recorded(commands: list[object]) -> object:
        asked.extend(commands)
        return await exchange(commands)  # type: ignore[arg-type]

    monkeypatch.setattr(process.connection, "exchange", recorded)
    sweep_after(process, SILENCE_S)
    assert [command[0] for command in asked] == ["HMGET", "XLEN"]  # type: ignore[index]


@pytest.mark.usefixtures("no_sweeps")
def test_a_sweep_compares_a_bounded_number_of_cursors(
    platform: SimulatedPlatform, process: ApiProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "CHECKS_PER_SWEEP", 3)
    readers = [begin(platform, process, f"r{number}")[0] for number in range(5)]
    for reader in readers:
        reader.cursor.active_at = 0.0
    sweep_after(process, 0.0)
    assert sum(reader.cursor.active_at == 0.0 for reader in readers) == 2
    sweep_after(process, 0.0)
    assert sum(reader.cursor.active_at == 0.0 for reader in readers) == 0


# ---- slow readers


def test_a_paused_reader_gets_nothing_and_after_it_resumes_everything(
    platform: SimulatedPlatform, process: ApiProcess
) -> None:
    words = [str(number) for number in range(1, 301)]
    reader, claim = begin(platform, process, "r1")
    process.call(reader.cursor.pause)
    platform.append_text(claim, 1, *words[:250])
    platform.append_text(claim, 251, *words[250:])
    process.call(int)
    assert reader.events == []
    process.call(reader.cursor.resume)
    assert reader.wait_for(300) == texts(*words)
    platform.append_text(claim, 301, "live again")
    assert reader.wait_for(301)[-1:] == texts("live again")


def test_a_reader_that_pauses_at_each_page_misses_nothing(
    platform: SimulatedPlatform, process: ApiProcess
) -> None:
    words = [str(number).rjust(PAGE_BYTES // 3) for number in range(1, 31)]
    reader, claim = begin(platform, process, "r1")
    reader.is_slow = True
    for number, word in enumerate(words, 1):
        platform.append_text(claim, number, word)
    while len(reader.events) < 30:
        count = len(reader.events)
        process.call(reader.cursor.resume)
        process.wait_until_caught_up()
        assert len(reader.events) == 30 or 0 < len(reader.events) - count <= 30
    platform.release(claim)
    process.call(reader.cursor.resume)
    assert reader.wait_for(31)[:-1] == texts(*words)


def test_a_slow_reader_does_not_delay_the_others(platform: SimulatedPlatform, process: ApiProcess) -> None:
    slow, claim = begin(platform, process, "r1")
    second = process.subscribe("r1")
    process.call(slow.cursor.pause)
    platform.append_text(claim, 1, "a")
    assert second.wait_for(1) == texts("a")
    assert slow.events == []


# ---- several cursors


def test_all_readers_of_one_response_get_the_same_events(
    platform: SimulatedPlatform, process: ApiProcess, make_process: MakeProcess
) -> None:
    first, claim = begin(platform, process, "r1")
    second, other = process.subscribe("r1"), make_process()
    third = other.subscribe("r1")
    platform.ledger.subscribe("r1", other.subscriber.name)
    platform.append_text(claim, 1, "a", "b")
    assert first.wait_for(2) == texts("a", "b")
    process.call(first.cursor.close)
    assert process.subscriber.open_responses() == 1
    platform.append_text(claim, 3, "c")
    platform.release(claim)
    for owner, reader in ((process, second), (other, third)):
        assert reader.wait_for(4)[:3] == texts("a", "b", "c")
        owner.call(reader.cursor.close)
    assert first.events == texts("a", "b")
    assert process.subscriber.open_responses() == other.subscriber.open_responses() == 0


def test_copies_without_a_reader_are_ignored(platform: SimulatedPlatform, process: ApiProcess) -> None:
    platform.admit(id="r1", subscriber=process.subscriber.name)
    platform.append_text(platform.run("r1"), 1, "no reader")
    reader, claim = begin(platform, process, "r2")
    platform.append_text(claim, 1, "a")
    assert reader.wait_for(1) == texts("a")


def test_two_hundred_responses_reach_their_readers(platform: SimulatedPlatform, process: ApiProcess) -> None:
    pairs = [begin(platform, process, f"r{number}") for number in range(200)]
    append_words(platform, [claim for _, claim in pairs])
    for reader, claim in pairs:
        events = reader.wait_for(21)
        assert events[:20] == words_of(claim.id)
        assert isinstance(events[20], End)


def test_an_error_of_one_reader_ends_its_cursor_only(
    platform: SimulatedPlatform, process: ApiProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken, claim = begin(platform, process, "r1")
    well = process.subscribe("r1")
    monkeypatch.setattr(broken, "on_events", lambda _: {}["x"])
    platform.append_text(claim, 1, "a", "b")
    assert well.wait_for(2) == texts("a", "b")
    assert [type(error) for error in broken.failures] == [KeyError]
    assert process.subscriber.open_responses() == 1


# ---- Redis disconnects and restarts


def test_a_broken_connection_loses_nothing(
    platform: SimulatedPlatform, process: ApiProcess, client: redis.Redis
) -> None:
    reader, claim = begin(platform, process, "r1")
    platform.append_text(claim, 1, "1")
    reader.wait_for(1)
    for number in (2, 4, 6):
        assert client.client_kill_filter(_type="pubsub") >= 1
        platform.append_text(claim, number, str(number), str(number + 1))
        reader.wait_for(number + 1)
    platform.release(claim)
    events = reader.wait_for(8)
    assert events[:-1] == texts(*map(str, range(1, 8)))
    assert isinstance(events[-1], End)


def test_after_a_new_subscription_only_cursors_that_are_behind_read_their_logs(
    platform: SimulatedPlatform, process: ApiProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    pairs = [begin(platform, process, f"r{number}") for number in range(20)]
    platform.stop_copies("r7")
    platform.append_text(pairs[7][1], 1, "a")
    read: list[str] = []
    original = process.subscriber.read
    monkeypatch.setattr(process.subscriber, "read", lambda cursor: (read.append(cursor.id), original(cursor)))
    process.call(process.subscriber.catch_up_all)
    assert pairs[7][0].wait_for(1) == texts("a")
    assert read == ["r7"]


def test_a_new_subscription_before_the_admission_does_not_end_the_reader(
    platform: SimulatedPlatform, process: ApiProcess
) -> None:
    reader = process.subscribe("r1")
    process.call(process.subscriber.catch_up_all)
    process.wait_until_caught_up()
    platform.admit(id="r1", subscriber=process.subscriber.name)
    platform.append_text(platform.run("r1"), 1, "a")
    assert reader.wait_for(1) == texts("a")
    assert reader.failures == []


@pytest.mark.parametrize("message", [b"\xff", b"", b"r1", b"r1 x {}", b"\n"])
def test_an_invalid_message_on_the_channel_does_not_stop_the_delivery(
    platform: SimulatedPlatform, process: ApiProcess, client: redis.Redis, message: bytes
) -> None:
    reader, claim = begin(platform, process, "r1")
    client.publish(process.subscriber.channel, message)
    platform.append_text(claim, 1, "a")
    assert reader.wait_for(1) == texts("a")


def test_a_restart_of_redis_loses_nothing(own_server: ValkeyServer, settings: Settings) -> None:
    own = with_url(settings, own_server)
    client = redis.Redis.from_url(own_server.url, retry=redis.retry.Retry(redis.backoff.NoBackoff(), 0))
    platform = SimulatedPlatform(client, own)
    platform.register()
    platform.load()
    process = ApiProcess(own)
    process.start()
    process.wait_until_subscribed()
    reader, claim = begin(platform, process, "r1")
    platform.append_text(claim, 1, "before")
    reader.wait_for(1)
    own_server.kill()
    process.call(reader.cursor.catch_up)
    own_server.start()
    platform.append_text(claim, 2, "after")
    assert reader.wait_for(2) == texts("before", "after")
    assert reader.failures == []
    process.stop()


def test_a_process_starts_while_redis_is_unreachable(own_server: ValkeyServer, settings: Settings) -> None:
    own_server.kill()
    process = ApiProcess(with_url(settings, own_server))
    process.start()
    reader = process.subscribe("r1")
    own_server.start()
    process.wait_until_subscribed()
    platform = SimulatedPlatform(redis.Redis.from_url(own_server.url), with_url(settings, own_server))
    platform.register()
    platform.load()
    process.call(reader.cursor.close)
    reader, claim = begin(platform, process, "r2")
    platform.append_text(claim, 1, "a")
    assert reader.wait_for(1) == texts("a")
    process.stop()


def with_url(settings: Settings, server: ValkeyServer) -> Settings:
    return replace(settings, redis=replace(settings.redis, url=server.url))
