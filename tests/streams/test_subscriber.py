"""Copies may be lost, duplicated or late; a client receives the log, each event once and in order."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import pytest
import redis

from config.settings import Settings
from scheduler.job import AppendRequest, Claim
from streams import subscriber as module
from streams.events import End, Event, TextDelta
from streams.log import StreamLost
from streams.subscriber import EventSubscriber, LogCursor
from tests.conftest import ValkeyServer
from tests.streams.conftest import MakeSubscriber, events_of
from tests.support.simulated_platform import SimulatedPlatform
from tests.support.waiting import wait_until


def begin(platform: SimulatedPlatform, subscriber: EventSubscriber, id: str) -> tuple[LogCursor, Claim]:
    """Subscribe, then admit, as the API does."""
    cursor = subscriber.subscribe(id)
    platform.admit(id=id, subscriber=subscriber.name)
    return cursor, platform.run(id)


def texts(*words: str) -> list[TextDelta]:
    return [TextDelta(word) for word in words]


def test_events_arrive_in_order_and_the_end_is_last(
    platform: SimulatedPlatform, subscriber: EventSubscriber
) -> None:
    cursor, claim = begin(platform, subscriber, "r1")
    platform.append_text(claim, 1, "a", "b")
    platform.append_text(claim, 3, "c")
    platform.release(claim, finish_reason="stop")
    assert events_of(cursor, 3) == texts("a", "b", "c")
    (end,) = events_of(cursor, 1)
    assert isinstance(end, End)
    assert (end.status, end.finish_reason) == ("completed", "stop")
    assert cursor.number == 4
    cursor.close()


def test_the_log_is_not_read_while_all_copies_arrive(
    platform: SimulatedPlatform, subscriber: EventSubscriber, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "read", lambda *_: pytest.fail("the log was read"))
    cursor, claim = begin(platform, subscriber, "r1")
    for number in range(1, 50):
        platform.append_text(claim, number, f"{number}")
    assert events_of(cursor, 49) == texts(*map(str, range(1, 50)))


def test_any_text_arrives_unchanged(platform: SimulatedPlatform, subscriber: EventSubscriber) -> None:
    words = ["", " ", "two\nlines", "r1 7 {}", "\u2028", '{"t":"end"}', "\U0001f525", "\x00"]
    cursor, claim = begin(platform, subscriber, "r1")
    platform.append_text(claim, 1, *words)
    assert events_of(cursor, len(words)) == texts(*words)


def append_words(platform: SimulatedPlatform, claims: list[Claim]) -> None:
    """Append twenty words to each response, one word of all of them per step, and end them."""
    for step in range(20):
        entries = [
            AppendRequest(claim.id, claim.fence, step + 1, (words_of(claim.id)[step].encode(),))
            for claim in claims
        ]
        assert platform.ledger.append_and_release(entries, []) == {}
    for claim in claims:
        platform.release(claim)


def words_of(id: str) -> list[TextDelta]:
    return texts(*(f"{id}/{step}" for step in range(20)))


# ---- lost, late and duplicate copies


def test_after_a_gap_the_cursor_reads_the_log(
    platform: SimulatedPlatform, subscriber: EventSubscriber
) -> None:
    cursor, claim = begin(platform, subscriber, "r1")
    platform.stop_copies("r1")
    platform.append_text(claim, 1, "a", "b")
    platform.ledger.subscribe("r1", subscriber.name)
    platform.append_text(claim, 3, "c")
    assert events_of(cursor, 3) == texts("a", "b", "c")


def test_duplicate_and_late_copies_are_ignored(
    platform: SimulatedPlatform, subscriber: EventSubscriber
) -> None:
    cursor, claim = begin(platform, subscriber, "r1")
    platform.append_text(claim, 1, "a", "b", "c")
    assert events_of(cursor, 3) == texts("a", "b", "c")
    for number in (1, 3, 2, 3):
        cursor.on_event(number, TextDelta("again").encode())
    platform.append_text(claim, 4, "d")
    assert events_of(cursor, 1) == texts("d")


def test_thousands_of_late_copies_are_ignored(
    platform: SimulatedPlatform, subscriber: EventSubscriber
) -> None:
    words = [str(number) for number in range(3000)]
    cursor, claim = begin(platform, subscriber, "r1")
    platform.append_text(claim, 1, *words)
    cursor.catch_up()  # all events come from the log first, and then again as copies
    assert events_of(cursor, 3000) == texts(*words)
    platform.append_text(claim, 3001, "new")
    assert events_of(cursor, 1) == texts("new")


def test_after_a_silence_the_cursor_reads_the_log(
    platform: SimulatedPlatform, subscriber: EventSubscriber, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "SILENCE_S", 0.05)
    cursor, claim = begin(platform, subscriber, "r1")
    platform.stop_copies("r1")
    platform.append_text(claim, 1, "no copy")
    assert events_of(cursor, 1) == texts("no copy")


def test_a_late_cursor_begins_at_the_first_event(
    platform: SimulatedPlatform, subscriber: EventSubscriber
) -> None:
    id = platform.admit()
    claim = platform.run(id)
    platform.append_text(claim, 1, "a", "b")
    cursor = subscriber.subscribe(id)
    platform.ledger.subscribe(id, subscriber.name)
    cursor.catch_up()
    platform.append_text(claim, 3, "c")
    platform.release(claim)
    events = events_of(cursor, 4)
    assert events[:3] == texts("a", "b", "c")
    assert isinstance(events[3], End)


def test_an_ended_response_is_read_from_its_log(
    platform: SimulatedPlatform, subscriber: EventSubscriber
) -> None:
    id = platform.admit()
    claim = platform.run(id)
    platform.append_text(claim, 1, "a")
    platform.release(claim)
    cursor = subscriber.subscribe(id)
    cursor.catch_up()
    assert cursor.next(0) == TextDelta("a")
    assert isinstance(cursor.next(0), End)


# ---- waiting


def test_next_returns_after_its_timeout(platform: SimulatedPlatform, subscriber: EventSubscriber) -> None:
    cursor, _ = begin(platform, subscriber, "r1")
    before = time.monotonic()
    assert cursor.next(0) is None
    assert cursor.next(0.05) is None
    assert time.monotonic() - before < 1


def test_wake_ends_a_waiting_next_at_once(platform: SimulatedPlatform, subscriber: EventSubscriber) -> None:
    cursor, _ = begin(platform, subscriber, "r1")
    threading.Timer(0.02, cursor.wake).start()
    before = time.monotonic()
    assert cursor.next(30) is None
    assert time.monotonic() - before < 1.5


def test_a_waiting_next_returns_the_next_event_at_once(
    platform: SimulatedPlatform, subscriber: EventSubscriber
) -> None:
    cursor, claim = begin(platform, subscriber, "r1")
    threading.Timer(0.02, lambda: platform.append_text(claim, 1, "a")).start()
    assert cursor.next(1.9) == TextDelta("a")


# ---- the subscriber's thread delivers events


class Sink:
    """Accepts text; does not accept `refuses`, and raises on `breaks_on`."""

    def __init__(self, *, refuses: str = "", breaks_on: str = "") -> None:
        self.accepted: list[Event] = []
        self.threads: set[str] = set()
        self.refuses, self.breaks_on = TextDelta(refuses), TextDelta(breaks_on)

    def __call__(self, event: Event) -> bool:
        if event == self.breaks_on:
            raise ValueError(event)
        if isinstance(event, End) or event == self.refuses:
            return False
        self.threads.add(threading.current_thread().name)
        self.accepted.append(event)
        return True


def delivering(cursor: LogCursor, sink: Sink, timeout_s: float = 10) -> threading.Thread:
    """Start a thread that waits in `deliver_to`; returns once the subscriber delivers to the sink."""
    reader = threading.Thread(target=cursor.deliver_to, args=(sink, timeout_s), name="reader")
    reader.start()
    wait_until(lambda: cursor._accept)
    return reader


def test_the_subscriber_delivers_events_and_leaves_the_end_to_next(
    platform: SimulatedPlatform, subscriber: EventSubscriber
) -> None:
    cursor, claim = begin(platform, subscriber, "r1")
    sink = Sink()
    reader = delivering(cursor, sink)
    platform.append_text(claim, 1, "a", "b")
    platform.append_text(claim, 3, "c")
    platform.release(claim, finish_reason="stop")
    reader.join(5)
    assert sink.accepted == texts("a", "b", "c")
    assert sink.threads == {"subscriber"}
    assert cursor.number == 3
    assert isinstance(cursor.next(0), End)


def test_an_event_that_is_not_accepted_and_all_later_ones_are_left_in_order(
    platform: SimulatedPlatform, subscriber: EventSubscriber
) -> None:
    cursor, claim = begin(platform, subscriber, "r1")
    sink = Sink(refuses="not this")
    reader = delivering(cursor, sink)
    platform.append_text(claim, 1, "a", "not this", "c")
    reader.join(5)
    platform.append_text(claim, 4, "d")
    assert sink.accepted == texts("a")
    assert events_of(cursor, 3) == texts("not this", "c", "d")
    reader = delivering(cursor, sink)
    platform.append_text(claim, 5, "e")
    platform.release(claim)
    reader.join(5)
    assert sink.accepted == texts("a", "e")
    assert isinstance(cursor.next(0), End)


def test_events_are_not_delivered_while_an_event_waits_for_next(
    platform: SimulatedPlatform, subscriber: EventSubscriber
) -> None:
    cursor, claim = begin(platform, subscriber, "r1")
    platform.append_text(claim, 1, "a")
    assert cursor.next(1.9) == TextDelta("a")
    platform.append_text(claim, 2, "b")
    wait_until(lambda: not cursor._copies.empty())
    sink = Sink()
    cursor.deliver_to(sink, 10)
    cursor.deliver_to(sink, 10)
    assert cursor.next(0) == TextDelta("b")
    cursor.catch_up()
    cursor.deliver_to(sink, 10)  # the log has to be read first
    assert sink.accepted == []


def test_old_copies_are_not_delivered_and_after_a_gap_the_log_is_read(
    platform: SimulatedPlatform, subscriber: EventSubscriber
) -> None:
    cursor, claim = begin(platform, subscriber, "r1")
    sink = Sink()
    reader = delivering(cursor, sink)
    platform.append_text(claim, 1, "a")
    platform.stop_copies("r1")
    platform.append_text(claim, 2, "b")
    platform.ledger.subscribe("r1", subscriber.name)
    cursor.on_event(1, TextDelta("again").encode())
    platform.append_text(claim, 3, "c")
    reader.join(5)
    assert sink.accepted == texts("a")
    assert events_of(cursor, 2) == texts("b", "c")


@pytest.mark.parametrize("wake", [LogCursor.wake, LogCursor.catch_up])
def test_deliver_to_is_woken_at_once(
    platform: SimulatedPlatform, subscriber: EventSubscriber, wake: Callable[[LogCursor], None]
) -> None:
    cursor, claim = begin(platform, subscriber, "r1")
    sink = Sink()
    reader = delivering(cursor, sink)
    wake(cursor)
    reader.join(1.5)
    assert not reader.is_alive()
    platform.append_text(claim, 1, "a")
    assert events_of(cursor, 1) == texts("a")
    assert sink.accepted == []


def test_after_its_timeout_deliver_to_delivers_no_more(
    platform: SimulatedPlatform, subscriber: EventSubscriber
) -> None:
    cursor, claim = begin(platform, subscriber, "r1")
    sink = Sink()
    cursor.deliver_to(sink, 0.01)
    platform.append_text(claim, 1, "a")
    assert events_of(cursor, 1) == texts("a")
    assert sink.accepted == []


def test_a_silence_counts_from_the_last_event_and_not_from_the_wait(
    platform: SimulatedPlatform, subscriber: EventSubscriber
) -> None:
    cursor, claim = begin(platform, subscriber, "r1")
    platform.stop_copies("r1")
    platform.append_text(claim, 1, "a")
    cursor._checked_at -= module.SILENCE_S
    began = time.monotonic()
    cursor.deliver_to(Sink(), 10)
    assert time.monotonic() - began < module.SILENCE_S / 2
    assert cursor.next(0) == TextDelta("a")


def test_an_error_of_a_sink_is_raised_only_in_its_own_thread(
    platform: SimulatedPlatform, subscriber: EventSubscriber
) -> None:
    broken, claim = begin(platform, subscriber, "r1")
    well, other = begin(platform, subscriber, "r2")
    raised: list[Exception] = []

    def read() -> None:
        try:
            broken.deliver_to(Sink(breaks_on="b"), 10)
        except ValueError as error:
            raised.append(error)

    reader = threading.Thread(target=read)
    reader.start()
    wait_until(lambda: broken._accept)
    platform.append_text(claim, 1, "a", "b")
    reader.join(5)
    assert len(raised) == 1
    platform.append_text(other, 1, "a")
    assert events_of(well, 1) == texts("a")


def test_two_hundred_concurrent_responses_are_delivered_in_order(
    platform: SimulatedPlatform, subscriber: EventSubscriber
) -> None:
    pairs = [begin(platform, subscriber, f"r{number}") for number in range(200)]
    sinks = {cursor.id: Sink() for cursor, _ in pairs}
    ends: dict[str, Event | None] = {}

    def read(cursor: LogCursor) -> None:
        while not isinstance(ends.get(cursor.id), End):
            cursor.deliver_to(sinks[cursor.id], 1)
            if (event := cursor.next(0)) is not None and not sinks[cursor.id](event):
                ends[cursor.id] = event

    readers = [threading.Thread(target=read, args=(cursor,)) for cursor, _ in pairs]
    for reader in readers:
        reader.start()
    append_words(platform, [claim for _, claim in pairs])
    for reader in readers:
        reader.join(20)
    for cursor, _ in pairs:
        assert sinks[cursor.id].accepted == words_of(cursor.id)
        assert isinstance(ends[cursor.id], End)


# ---- several cursors


def test_all_cursors_of_one_response_return_the_same_events(
    platform: SimulatedPlatform, subscriber: EventSubscriber, make_subscriber: MakeSubscriber
) -> None:
    first, claim = begin(platform, subscriber, "r1")
    second = subscriber.subscribe("r1")
    other_process = make_subscriber()
    third = other_process.subscribe("r1")
    platform.ledger.subscribe("r1", other_process.name)
    platform.append_text(claim, 1, "a", "b")
    first_two = events_of(first, 2)
    first.close()
    assert subscriber.open_responses() == 1
    platform.append_text(claim, 3, "c")
    platform.release(claim)
    assert first_two == texts("a", "b")
    for cursor in (second, third):
        assert events_of(cursor, 4)[:3] == texts("a", "b", "c")
        cursor.close()
    assert subscriber.open_responses() == other_process.open_responses() == 0


def test_a_cursor_closes_at_the_end_of_its_block(subscriber: EventSubscriber) -> None:
    with subscriber.subscribe("r1"), subscriber.subscribe("r2"):
        assert subscriber.open_responses() == 2
    assert subscriber.open_responses() == 0


def test_copies_without_a_cursor_are_ignored(
    platform: SimulatedPlatform, subscriber: EventSubscriber
) -> None:
    platform.admit(id="r1", subscriber=subscriber.name)
    claim = platform.run("r1")
    platform.append_text(claim, 1, "no cursor")
    cursor, claim = begin(platform, subscriber, "r2")
    platform.append_text(claim, 1, "a")
    assert events_of(cursor, 1) == texts("a")


def test_two_hundred_concurrent_responses_reach_their_cursors(
    platform: SimulatedPlatform, subscriber: EventSubscriber
) -> None:
    pairs = [begin(platform, subscriber, f"r{number}") for number in range(200)]
    received: dict[str, list[object]] = {}

    def read(cursor: LogCursor) -> None:
        received[cursor.id] = list(events_of(cursor, 21))

    readers = [threading.Thread(target=read, args=(cursor,)) for cursor, _ in pairs]
    for reader in readers:
        reader.start()
    append_words(platform, [claim for _, claim in pairs])
    for reader in readers:
        reader.join()
    for cursor, _ in pairs:
        assert received[cursor.id][:20] == words_of(cursor.id)
        assert isinstance(received[cursor.id][20], End)


# ---- Redis disconnects and restarts


def test_a_broken_connection_loses_nothing(
    platform: SimulatedPlatform, subscriber: EventSubscriber, client: redis.Redis
) -> None:
    cursor, claim = begin(platform, subscriber, "r1")
    platform.append_text(claim, 1, "before")
    assert events_of(cursor, 1) == texts("before")
    for round_ in range(3):
        assert client.client_kill_filter(_type="pubsub") >= 1
        platform.append_text(claim, 2 + 2 * round_, "while disconnected", "and more")
        assert events_of(cursor, 2) == texts("while disconnected", "and more")
    platform.release(claim)
    assert isinstance(events_of(cursor, 1)[0], End)


def test_an_invalid_message_on_the_channel_does_not_stop_the_delivery(
    platform: SimulatedPlatform, subscriber: EventSubscriber, client: redis.Redis
) -> None:
    cursor, claim = begin(platform, subscriber, "r1")
    client.publish(f"{platform.prefix}subscriber:{subscriber.name}", b"\xff")
    platform.append_text(claim, 1, "a")
    assert events_of(cursor, 1) == texts("a")


def test_a_restart_of_redis_loses_nothing(own_server: ValkeyServer, settings: Settings) -> None:
    client = redis.Redis.from_url(own_server.url, retry=redis.retry.Retry(redis.backoff.NoBackoff(), 0))
    platform = SimulatedPlatform(client, settings)
    platform.register()
    platform.load()
    subscriber = EventSubscriber(
        client, redis.Redis.from_url(own_server.url, protocol=2), settings.redis.prefix
    )
    subscriber.start()
    cursor, claim = begin(platform, subscriber, "r1")
    platform.append_text(claim, 1, "before")
    assert events_of(cursor, 1) == texts("before")
    platform.append_text(claim, 2, "unread")
    own_server.kill()
    cursor.catch_up()
    for _ in range(4):
        event = cursor.next(0.05)
        assert event in {None, TextDelta("unread")}
        if event:
            break
    own_server.start()
    platform.append_text(claim, 3, "after")
    rest = ["after"] if event else ["unread", "after"]
    assert events_of(cursor, len(rest)) == texts(*rest)
    subscriber.stop()
    client.client_kill_filter(_type="pubsub")


def test_a_subscriber_starts_while_redis_is_unreachable(own_server: ValkeyServer, settings: Settings) -> None:
    client = redis.Redis.from_url(own_server.url)
    own_server.kill()
    subscriber = EventSubscriber(
        client, redis.Redis.from_url(own_server.url, protocol=2), settings.redis.prefix
    )
    starter = threading.Thread(target=subscriber.start)
    starter.start()
    own_server.start()
    starter.join()
    platform = SimulatedPlatform(client, settings)
    platform.register()
    platform.load()
    cursor, claim = begin(platform, subscriber, "r1")
    platform.append_text(claim, 1, "a")
    assert events_of(cursor, 1) == texts("a")
    subscriber.stop()
    client.client_kill_filter(_type="pubsub")


# ---- lost logs


def test_a_response_whose_log_is_gone_is_lost(
    platform: SimulatedPlatform, subscriber: EventSubscriber
) -> None:
    cursor, claim = begin(platform, subscriber, "r1")
    platform.append_text(claim, 1, "a")
    assert events_of(cursor, 1) == texts("a")
    platform.client.delete(f"{platform.prefix}job:r1", f"{platform.prefix}log:r1")
    cursor.catch_up()
    with pytest.raises(StreamLost):
        cursor.next(0)


def test_a_response_without_events_is_not_lost(
    platform: SimulatedPlatform, subscriber: EventSubscriber
) -> None:
    cursor, _ = begin(platform, subscriber, "r1")
    cursor.catch_up()
    assert [cursor.next(0) for _ in range(3)] == [None] * 3
