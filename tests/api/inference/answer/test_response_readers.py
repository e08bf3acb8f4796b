"""How a response's events reach its client: streamed or whole, early, late, slow, lost."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import replace
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from api.http import sse
from api.inference.answer.response_readers import LOST, ResponseReader, WholeReader, longest_wait_s
from api.inference.answer.streaming_reader import LARGE_WRITE_BYTES, StreamingReader
from api.inference.chat import dialect as chat
from api.inference.dialects.base import Dialect, ResponseMetadata
from api.inference.responses import dialect as responses
from config.settings import ApiSettings, Settings
from store.errors import StorageFull
from streams.events import End, Event, TextDelta
from streams.log import PAGE
from streams.subscriber import EventSubscriber
from tests.support.api_fakes import FakeStore, encode
from tests.support.event_logs import logs
from tests.support.recorded_client import RecordedClient
from tests.support.rendering import render_stream

SETTINGS = replace(Settings(), api=ApiSettings(keep_alive_s=15.0))
END = End("completed", "stop")


class Exchange:
    """A client, its reader, and the log that the reader follows. The test plays worker and Redis."""

    def __init__(self, make: Callable[[RecordedClient], ResponseReader]) -> None:
        self.store = FakeStore()
        self.log = self.store.logs["r1"] = []
        self.subscriber = EventSubscriber(self.store, "fake")
        self.client = RecordedClient()
        self.reader = make(self.client)
        self.reader.follow(self.subscriber, "r1")

    def append(self, *events: Event, is_copied: bool = True) -> None:
        """Append events, and deliver their copies in one message."""
        first = len(self.log) + 1
        self.log += [encode(event) for event in events]
        lines = [b"r1 %d %s" % entry for entry in enumerate(self.log, 1)][first - 1 :]
        if is_copied:
            self.subscriber.deliver(b"\n".join(lines))

    def begin(self) -> None:
        assert isinstance(self.reader, StreamingReader)
        self.reader.begin([responses.stream_renderer(ResponseMetadata("resp_1", 1, "m", {}))])

    async def caught_up(self) -> None:
        while self.subscriber._catching_up is not None:
            await asyncio.sleep(0)


def streaming(after: int = -1) -> Exchange:
    return Exchange(lambda client: StreamingReader(client, SETTINGS, after=after))


def whole() -> Exchange:
    return Exchange(lambda client: WholeReader(client, SETTINGS))


def on_loop(test: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., None]:
    """Run a test on an event loop."""

    def run() -> None:
        asyncio.run(test())

    run.__name__, run.__doc__ = test.__name__, test.__doc__
    return run


def deltas(client: RecordedClient) -> list[str]:
    """The text of each delta that was written."""
    return [
        piece.split(b'"delta":"')[1].split(b'"')[0].decode()
        for piece in client.body.split(b"\n\n")
        if b'"delta":"' in piece
    ]


# ---- streams


@on_loop
async def test_the_events_of_a_step_are_written_at_once_and_the_end_closes_the_stream() -> None:
    exchange = streaming()
    exchange.begin()
    assert exchange.client.status == 200
    begun = len(exchange.client.written)
    exchange.append(TextDelta("Hel"), TextDelta("lo."))
    assert deltas(exchange.client) == ["Hel", "lo."]
    assert len(exchange.client.written) == begun + 1
    exchange.append(END)
    assert exchange.client.body.endswith(sse.DONE)
    assert exchange.client.is_ended
    assert exchange.reader.has_ended
    assert exchange.reader.done.done()
    assert exchange.subscriber.open_responses() == 0


ECHOES = st.sampled_from([{}, {"include_usage": True}, {"background": True}])


@given(logs(), st.sampled_from([chat, responses]), ECHOES)
def test_any_log_is_streamed_as_the_dialect_renders_it(
    log: list[Event], dialect: Dialect, echo: dict[str, Any]
) -> None:
    metadata = ResponseMetadata(f"{dialect.ID_PREFIX}1", 1, 'a "model"', echo)

    async def test() -> bytes:
        exchange = streaming()
        assert isinstance(exchange.reader, StreamingReader)
        exchange.reader.begin([dialect.stream_renderer(metadata)])
        exchange.append(*log)
        assert exchange.client.is_ended
        return exchange.client.body

    expected = sse.encode(render_stream(dialect.stream_renderer(metadata), log)) + sse.DONE
    assert asyncio.run(test()) == expected


@on_loop
async def test_events_before_the_begin_are_kept() -> None:
    exchange = streaming()
    exchange.append(TextDelta("Hel"))
    exchange.append(TextDelta("lo."), END)
    assert exchange.client.written == []
    exchange.begin()
    assert deltas(exchange.client) == ["Hel", "lo."]
    assert exchange.client.is_ended
    assert exchange.reader.has_ended


@on_loop
async def test_a_response_that_is_lost_before_the_begin_is_reported_in_the_stream() -> None:
    exchange = streaming()
    exchange.append(TextDelta("a"))
    exchange.reader.sweep(asyncio.get_running_loop().time() + longest_wait_s(SETTINGS))
    exchange.begin()
    assert b"stream_lost" in exchange.client.body
    assert exchange.client.body.endswith(sse.DONE)
    assert exchange.reader.done.done()
    assert not exchange.reader.has_ended, "the job may still run"


@on_loop
async def test_a_slow_client_is_written_to_only_while_it_is_writable() -> None:
    exchange = streaming()
    exchange.begin()
    exchange.append(TextDelta("1"))
    exchange.client.writable = False
    exchange.append(TextDelta("2"))  # this one finds out
    written = len(exchange.client.written)
    for number in range(3, 3 * PAGE):
        exchange.append(TextDelta(f"{number}"))
    await exchange.caught_up()
    assert len(exchange.client.written) == written
    exchange.client.become_writable()
    await exchange.caught_up()
    exchange.append(TextDelta("last"))
    assert deltas(exchange.client) == [*map(str, range(1, 3 * PAGE)), "last"]


@on_loop
async def test_a_client_that_becomes_slow_while_the_log_is_read_gets_a_page_at_a_time() -> None:
    exchange = streaming()
    exchange.begin()
    for number in range(3 * PAGE):
        exchange.append(TextDelta(f"{number}"), is_copied=False)
    exchange.client.writable = False
    exchange.append(TextDelta("end of the gap"))
    for pages in (1, 2):
        await exchange.caught_up()
        assert len(deltas(exchange.client)) == pages * PAGE
        exchange.reader._on_writable()
    exchange.client.become_writable()
    await exchange.caught_up()
    assert deltas(exchange.client) == [*map(str, range(3 * PAGE)), "end of the gap"]


@on_loop
async def test_the_last_frames_of_a_long_text_are_written_one_by_one_to_a_slow_client() -> None:
    exchange = streaming()
    exchange.begin()
    exchange.append(TextDelta("x" * LARGE_WRITE_BYTES))
    exchange.client.writable = False
    exchange.append(TextDelta("y"))
    exchange.client.become_writable()
    await exchange.caught_up()
    exchange.client.pauses_after_write = True
    exchange.append(END)
    assert exchange.subscriber.open_responses() == 0
    pieces = 1
    while not exchange.client.is_ended:
        assert not exchange.reader.done.done()
        exchange.client.become_writable()
        pieces += 1
    assert pieces == 4, "the text, its part, its item, the response"
    assert exchange.client.body.endswith(sse.DONE)
    assert exchange.reader.has_ended
    assert exchange.reader.done.done()


@on_loop
async def test_a_client_that_leaves_during_the_last_frames_ends_the_reading() -> None:
    exchange = streaming()
    exchange.begin()
    exchange.append(TextDelta("x" * LARGE_WRITE_BYTES))
    exchange.client.pauses_after_write = True
    exchange.append(END)
    assert not exchange.reader.done.done()
    exchange.client.disconnect()
    assert exchange.reader.done.done()
    assert exchange.reader.has_ended, "the response itself is complete"


@on_loop
async def test_a_silent_stream_gets_keep_alives() -> None:
    exchange = streaming()
    now = asyncio.get_running_loop().time()
    exchange.reader.sweep(now + 20)
    assert exchange.client.written == [], "the answer has not begun"
    exchange.begin()
    written = len(exchange.client.written)
    exchange.reader.sweep(now + 10)
    assert len(exchange.client.written) == written
    exchange.reader.sweep(now + 16)
    assert exchange.client.written[-1] == sse.KEEP_ALIVE
    exchange.client.writable = False
    exchange.reader.sweep(now + 1000)
    assert exchange.client.body.count(sse.KEEP_ALIVE) == 1, "a slow client has enough to read"


@on_loop
async def test_a_stream_of_which_all_events_are_skipped_gets_keep_alives() -> None:
    exchange = streaming(after=10**6)
    exchange.begin()
    assert exchange.client.written == [sse.KEEP_ALIVE]
    exchange.append(TextDelta("a"), TextDelta("b"))
    assert exchange.client.written == [sse.KEEP_ALIVE]
    exchange.reader.sweep(asyncio.get_running_loop().time() + 16)
    assert exchange.client.written == [sse.KEEP_ALIVE] * 2
    exchange.append(END)
    assert exchange.client.written[-1] == sse.DONE


@on_loop
async def test_a_stream_that_is_lost_ends_with_a_failed_response() -> None:
    exchange = streaming()
    exchange.begin()
    exchange.append(TextDelta("a"))
    del exchange.store.logs["r1"]
    exchange.subscriber.catch_up_all()
    await exchange.caught_up()
    assert b'"response.failed"' in exchange.client.body
    assert exchange.client.body.endswith(sse.DONE)
    assert exchange.reader.done.done()
    assert not exchange.reader.has_ended


@on_loop
async def test_an_event_that_cannot_be_decoded_cuts_its_own_stream_only() -> None:
    exchange = streaming()
    exchange.begin()
    other = RecordedClient()
    reader = WholeReader(other, SETTINGS)
    reader.follow(exchange.subscriber, "r1")
    exchange.log.append(b'{"t":"unknown"}')
    exchange.subscriber.deliver(b'r1 1 {"t":"unknown"}')
    assert exchange.client.is_aborted
    assert exchange.reader.done.done()
    assert not reader.done.done()


@on_loop
async def test_an_event_that_cannot_be_decoded_cuts_a_stream_that_begins_with_it() -> None:
    exchange = streaming()
    exchange.subscriber.deliver(b'r1 1 {"t":"unknown"}')
    exchange.begin()
    assert exchange.client.is_aborted
    assert exchange.reader.done.done()


@pytest.mark.parametrize("make", [streaming, whole])
def test_a_disconnect_ends_the_reading(make: Callable[[], Exchange]) -> None:
    async def test() -> None:
        exchange = make()
        exchange.append(TextDelta("a"))
        exchange.client.disconnect()
        assert exchange.reader.done.done()
        assert exchange.reader.disconnected
        assert not exchange.reader.has_ended
        assert exchange.subscriber.open_responses() == 0

    asyncio.run(test())


@on_loop
async def test_a_client_that_leaves_after_the_end_has_not_disconnected() -> None:
    exchange = streaming()
    exchange.begin()
    exchange.append(END)
    exchange.client.disconnect()
    assert not exchange.reader.disconnected


# ---- several choices


class SeveralChoices:
    """A client that streams two choices of a chat, with a log of each."""

    def __init__(self) -> None:
        self.store = FakeStore()
        self.subscriber = EventSubscriber(self.store, "fake")
        self.client = RecordedClient()
        self.reader = StreamingReader(self.client, SETTINGS, 2)
        for choice in range(2):
            self.store.logs[f"r{choice}"] = []
            self.reader.follow(self.subscriber, f"r{choice}", choice)

    def begin(self) -> None:
        metadata = ResponseMetadata("chatcmpl-1", 1, "m", {})
        self.reader.begin(chat.choice_renderers([metadata] * 2, 2), chat.FRAMING)

    def append(self, choice: int, event: Event) -> None:
        log = self.store.logs[f"r{choice}"]
        log.append(encode(event))
        self.subscriber.deliver(b"r%d %d %s" % (choice, len(log), log[-1]))

    def texts(self) -> list[tuple[int, str]]:
        """The choice and the text of each chunk with a text."""
        frames = [
            orjson.loads(line[6:]) for line in self.client.body.split(b"\n\n") if line[:7] == b"data: {"
        ]
        pieces = [
            (choice["index"], choice["delta"].get("content"))
            for frame in frames
            for choice in frame["choices"]
        ]
        return [(index, text) for index, text in pieces if text]


@on_loop
async def test_events_of_all_choices_before_the_begin_are_written_in_their_order() -> None:
    exchange = SeveralChoices()
    for choice, text in ((1, "a"), (0, "b"), (0, "c"), (1, "d")):
        exchange.append(choice, TextDelta(text))
    exchange.begin()
    assert exchange.texts() == [(1, "a"), (0, "b"), (0, "c"), (1, "d")]


@on_loop
async def test_a_stream_of_choices_ends_with_the_last_end_of_them() -> None:
    exchange = SeveralChoices()
    exchange.begin()
    exchange.append(1, END)
    assert not exchange.reader.has_ended
    assert not exchange.client.is_ended
    exchange.append(0, END)
    assert exchange.reader.has_ended
    assert exchange.reader.done.done()
    assert exchange.client.body.endswith(sse.DONE)
    assert exchange.subscriber.open_responses() == 0


@on_loop
async def test_a_slow_client_pauses_the_cursors_of_all_choices() -> None:
    exchange = SeveralChoices()
    exchange.begin()
    exchange.client.writable = False
    exchange.append(0, TextDelta("a"))  # this one finds out
    exchange.append(1, TextDelta("b"))
    assert exchange.texts() == [(0, "a")]
    exchange.client.become_writable()
    while exchange.subscriber._catching_up is not None:
        await asyncio.sleep(0)
    assert exchange.texts() == [(0, "a"), (1, "b")]


@on_loop
async def test_a_stream_ends_with_an_error_when_one_of_its_choices_is_lost() -> None:
    exchange = SeveralChoices()
    exchange.begin()
    exchange.append(0, TextDelta("a"))
    exchange.reader.sweep(asyncio.get_running_loop().time() + longest_wait_s(SETTINGS))
    assert exchange.client.body.count(b"stream_lost") == 1
    assert exchange.client.body.endswith(sse.DONE)
    assert exchange.reader.done.done()
    assert not exchange.reader.has_ended


# ---- whole answers


@on_loop
async def test_a_whole_reader_is_done_at_the_end_and_has_all_events() -> None:
    exchange = whole()
    reader = exchange.reader
    assert isinstance(reader, WholeReader)
    exchange.append(TextDelta("Hel"))
    exchange.append(TextDelta("lo."))
    assert not reader.done.done()
    assert reader.logs() == [[TextDelta("Hello.")]]
    exchange.append(END)
    assert reader.done.done()
    assert reader.logs() == [[TextDelta("Hello."), END]]
    assert exchange.client.written == []


@on_loop
async def test_a_whole_reader_of_a_lost_response_ends_with_the_loss() -> None:
    exchange = whole()
    reader = exchange.reader
    assert isinstance(reader, WholeReader)
    reader.sweep(asyncio.get_running_loop().time() + longest_wait_s(SETTINGS) - 5)
    assert not reader.done.done()
    reader.sweep(asyncio.get_running_loop().time() + longest_wait_s(SETTINGS))
    assert reader.done.done()
    assert reader.logs() == [[LOST]]
    assert not reader.has_ended


# ---- a store that refuses writes


@on_loop
async def test_a_wait_ends_with_the_refusal_of_the_store_when_it_is_ended() -> None:
    streamed, waiting = streaming(), whole()
    streamed.begin()
    streamed.append(TextDelta("Hel"))
    for exchange in (streamed, waiting):
        exchange.reader.refuse(StorageFull("the disk is full"))
        assert exchange.reader.done.done()
        assert not exchange.reader.has_ended
        assert exchange.subscriber.open_responses() == 0
    assert b"event: response.failed" in streamed.client.body
    assert b"the disk is full" in streamed.client.body
    assert streamed.client.is_ended
    assert isinstance(waiting.reader, WholeReader)
    assert waiting.reader.logs() == [[End("failed", code="storage_full", message="the disk is full")]]


@on_loop
async def test_a_reader_that_still_reads_its_log_goes_on_when_waits_are_ended() -> None:
    exchange = streaming()
    exchange.begin()
    exchange.append(TextDelta("Hel"), END, is_copied=False)
    cursor = exchange.reader._choices[0].cursor
    assert cursor is not None
    cursor.catch_up()
    exchange.reader.refuse(StorageFull("the disk is full"))
    assert not exchange.reader.done.done()
    await exchange.caught_up()
    assert exchange.reader.has_ended
    assert b"the disk is full" not in exchange.client.body
