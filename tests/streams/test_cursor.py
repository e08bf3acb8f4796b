"""A log cursor in any order of copies, losses, page reads and pauses: each event once, in order."""

from __future__ import annotations

from collections.abc import Callable
from unittest.mock import patch

from hypothesis import given, settings
from hypothesis import strategies as st

from streams import cursor as cursor_module
from streams.cursor import CursorState, LogCursor
from streams.log import PAGE, PAGE_BYTES, StreamLost


class Log:
    """A log, and the reads and checks that cursors have asked for. Fulfils `CatchUp`."""

    def __init__(self) -> None:
        self.now = 0.0
        self.events: list[bytes] = []
        self.to_read: list[LogCursor] = []
        self.to_check: list[LogCursor] = []
        self.in_flight: list[Callable[[], None]] = []  # replies arrive in the order of the commands
        self.forgotten: list[LogCursor] = []

    def append(self) -> None:
        self.events.append(b"%d" % (len(self.events) + 1))

    def read(self, cursor: LogCursor) -> None:
        self.to_read.append(cursor)

    def check(self, cursor: LogCursor) -> None:
        self.to_check.append(cursor)

    def forget(self, cursor: LogCursor) -> None:
        self.forgotten.append(cursor)

    def send_read(self) -> None:
        """Redis reads a page now; the reply arrives with `receive_reply`."""
        if not self.to_read:
            return
        cursor = self.to_read.pop(0)
        if cursor.state is CursorState.READING:
            size = cursor.before_page()
            entries = list(enumerate(self.events, 1))[cursor.number :][:size]
            self.in_flight.append(lambda: cursor.on_page(entries, size))

    def send_check(self) -> None:
        """Redis reads the latest number now; the reply arrives with `receive_reply`."""
        if not self.to_check:
            return
        cursor = self.to_check.pop(0)
        if cursor.state is CursorState.LIVE:
            last, place = len(self.events), cursor.before_check()
            self.in_flight.append(lambda: cursor.on_last(last, place))

    def receive_reply(self) -> None:
        if self.in_flight:
            self.in_flight.pop(0)()

    def settle(self) -> None:
        """Answer everything that is asked for."""
        for _ in range(1000):
            if not (self.to_read or self.in_flight or self.to_check):
                return
            self.send_read()
            self.send_check()
            self.receive_reply()
        raise AssertionError("the cursor asks without end")


class Reader:
    """Keeps the events; pauses at each call if it is slow."""

    def __init__(self) -> None:
        self.events: list[bytes] = []
        self.failures: list[Exception] = []
        self.is_slow = False
        self.cursor: LogCursor

    def on_events(self, events: list[bytes]) -> None:
        self.events += events
        if self.is_slow:
            self.cursor.pause()

    def on_failure(self, error: Exception) -> None:
        self.failures.append(error)


def follow(log: Log) -> Reader:
    reader = Reader()
    reader.cursor = LogCursor(log, "r1", reader)
    return reader


class Scenario:
    """A cursor, its log, and the copies that are on their way."""

    def __init__(self) -> None:
        self.log = Log()
        self.reader = follow(self.log)
        self.copies: list[tuple[int, bytes]] = []

    def append(self) -> None:
        self.log.append()
        self.copies.append((len(self.log.events), self.log.events[-1]))

    def append_and_lose_the_copy(self) -> None:
        self.log.append()

    def lose_a_copy(self) -> None:
        self.copies[:1] = []

    def deliver_a_copy(self, count: int = 1) -> None:
        if self.copies:
            number, event = self.copies.pop(0)
            for _ in range(count):
                self.reader.cursor.on_copies(number, [event])

    def deliver_all_copies(self) -> None:
        """Those with consecutive numbers come together."""
        while self.copies:
            first, event = self.copies.pop(0)
            events = [event]
            while self.copies and self.copies[0][0] == first + len(events):
                events.append(self.copies.pop(0)[1])
            self.reader.cursor.on_copies(first, events)

    def deliver_a_copy_twice(self) -> None:
        self.deliver_a_copy(2)

    def send_a_read(self) -> None:
        self.log.send_read()

    def send_a_check(self) -> None:
        self.log.send_check()

    def receive_a_reply(self) -> None:
        self.log.receive_reply()

    def pause(self) -> None:
        self.reader.cursor.pause()

    def be_slow(self) -> None:
        self.reader.is_slow = True

    def resume(self) -> None:
        self.reader.is_slow = False
        self.reader.cursor.resume()

    def catch_up(self) -> None:
        self.reader.cursor.catch_up()

    def subscribe_again(self) -> None:
        self.copies.clear()
        self.reader.cursor.on_lost_copies()

    def settle(self) -> None:
        """Deliver everything that is not lost, and subscribe again."""
        self.deliver_all_copies()
        self.resume()
        self.log.settle()
        self.subscribe_again()
        self.log.settle()


ACTIONS: tuple[Callable[[Scenario], None], ...] = (
    Scenario.append,
    Scenario.append_and_lose_the_copy,
    Scenario.lose_a_copy,
    Scenario.deliver_a_copy,
    Scenario.deliver_a_copy_twice,
    Scenario.deliver_all_copies,
    Scenario.send_a_read,
    Scenario.send_a_check,
    Scenario.receive_a_reply,
    Scenario.pause,
    Scenario.be_slow,
    Scenario.resume,
    Scenario.catch_up,
    Scenario.subscribe_again,
)


@settings(max_examples=300)
@given(st.lists(st.sampled_from(ACTIONS), max_size=80))
def test_each_event_is_delivered_once_and_in_order(actions: list[Callable[[Scenario], None]]) -> None:
    with patch.object(cursor_module, "PAGE", 3):
        scenario = Scenario()
        log, reader = scenario.log, scenario.reader
        for action in actions:
            action(scenario)
            assert reader.events == log.events[: len(reader.events)]
            assert reader.cursor.number == len(reader.events)
        scenario.settle()
    assert reader.events == log.events
    assert reader.cursor.state is CursorState.LIVE
    assert reader.failures == []


@given(st.integers(0, 60), st.integers(0, 60))
def test_copies_that_are_lost_during_a_read_are_noticed_after_the_new_subscription(
    before: int, lost: int
) -> None:
    log = Log()
    reader = follow(log)
    for _ in range(before):
        log.append()
    reader.cursor.catch_up()
    log.send_read()
    for _ in range(lost):
        log.append()
    reader.cursor.on_lost_copies()
    log.settle()
    assert reader.events == log.events


def test_two_reads_at_once_deliver_each_event_once() -> None:
    log = Log()
    reader = follow(log)
    for _ in range(3 * PAGE):
        log.append()
    reader.cursor.catch_up()
    reader.cursor.pause()
    reader.cursor.resume()
    log.send_read()
    log.send_read()
    log.settle()
    assert reader.events == log.events


def test_copies_that_came_already_are_left_out_of_a_message() -> None:
    log = Log()
    reader = follow(log)
    for _ in range(5):
        log.append()
    reader.cursor.on_copies(1, log.events[:2])
    reader.cursor.on_copies(1, log.events[:2])
    reader.cursor.on_copies(2, log.events[1:5])
    assert reader.events == log.events
    assert log.to_read == []


def test_pages_of_large_events_are_short() -> None:
    log = Log()
    reader = follow(log)
    for _ in range(3 * PAGE):
        log.append()
    log.events[PAGE : PAGE + 10] = [b"x" * PAGE_BYTES] * 10
    reader.is_slow = True
    reader.cursor.catch_up()
    sizes = []
    while len(reader.events) < 3 * PAGE:
        log.send_read()
        before = len(reader.events)
        log.receive_reply()
        sizes.append(len(reader.events) - before)
        reader.cursor.resume()
    assert sizes == [PAGE, *[1] * 10, 1, PAGE, PAGE - 11]
    assert reader.events == log.events


def test_an_unknown_later_copy_does_not_make_the_cursor_read_for_ever() -> None:
    log = Log()
    reader = follow(log)
    reader.cursor.on_copies(1000, [b"not in the log"])
    log.settle()
    assert reader.cursor.state is CursorState.LIVE
    log.append()
    reader.cursor.on_copies(1, log.events[:1])
    assert reader.events == log.events


def test_a_closed_cursor_delivers_nothing() -> None:
    log = Log()
    reader = follow(log)
    log.append()
    reader.cursor.catch_up()
    log.send_read()
    reader.cursor.close()
    reader.cursor.close()
    log.receive_reply()
    reader.cursor.on_copies(1, [b"x"])
    reader.cursor.on_failure(ValueError())
    reader.cursor.resume()
    assert (reader.events, reader.failures, log.forgotten) == ([], [], [reader.cursor])


def test_a_cursor_without_its_response_fails_once() -> None:
    log = Log()
    reader = follow(log)
    reader.cursor.on_last(None, 0)
    reader.cursor.on_last(None, 0)
    assert [type(error) for error in reader.failures] == [StreamLost]
    assert log.forgotten == [reader.cursor]


def test_a_cursor_whose_response_is_not_admitted_yet_does_not_fail() -> None:
    """A new subscription makes all cursors ask the ledger, which may reply before it admits the response."""
    log = Log()
    reader = follow(log)
    reader.cursor.on_last(None, reader.cursor.before_check())
    reader.cursor.on_admitted()
    log.append()
    reader.cursor.on_copies(1, log.events)
    assert (reader.events, reader.failures) == (log.events, [])


def test_a_check_from_before_the_admission_does_not_fail_the_cursor_after_it() -> None:
    log = Log()
    reader = follow(log)
    place = reader.cursor.before_check()
    reader.cursor.on_admitted()
    reader.cursor.on_last(None, place)
    assert reader.failures == []
    reader.cursor.on_last(None, reader.cursor.before_check())
    assert [type(error) for error in reader.failures] == [StreamLost]


def test_a_cursor_that_is_ahead_of_the_ledger_fails() -> None:
    log = Log()
    reader = follow(log)
    for _ in range(5):
        log.append()
    reader.cursor.on_copies(1, log.events[:5])
    del log.events[3:]  # Redis restarts without its latest writes
    reader.cursor.on_lost_copies()
    log.settle()
    assert [type(error) for error in reader.failures] == [StreamLost]


def test_an_end_with_the_number_of_an_event_that_the_reader_has_fails_the_cursor() -> None:
    """Redis has lost that event; without this the reader would wait for an end that it has passed."""
    for number in (1, 2):
        log = Log()
        reader = follow(log)
        reader.cursor.on_copies(1, [b"1", b"2"])
        reader.cursor.on_copies(number, [b'{"t":"end","status":"failed"}'])
        assert [type(error) for error in reader.failures] == [StreamLost]


def test_a_log_that_ended_at_the_readers_place_fails_the_cursor() -> None:
    """The copy of that end was lost with the connection."""
    log = Log()
    reader = follow(log)
    reader.cursor.on_copies(1, [b"1", b"2"])
    reader.cursor.on_last(2, 2, has_ended=False)
    assert reader.failures == []
    reader.cursor.on_last(2, 2, has_ended=True)
    assert [type(error) for error in reader.failures] == [StreamLost]


def test_a_copy_that_overtakes_a_check_is_not_ahead_of_the_ledger() -> None:
    log = Log()
    reader = follow(log)
    reader.cursor.on_lost_copies()
    log.send_check()
    log.append()
    reader.cursor.on_copies(1, log.events)
    log.settle()
    assert (reader.events, reader.failures) == (log.events, [])


def test_a_log_without_the_events_that_the_ledger_has_counted_is_lost() -> None:
    log = Log()
    reader = follow(log)
    reader.cursor.on_last(3, 0)
    log.settle()
    assert [type(error) for error in reader.failures] == [StreamLost]
    assert log.forgotten == [reader.cursor]


def test_an_idle_cursor_is_small() -> None:
    assert not hasattr(follow(Log()).cursor, "__dict__")
