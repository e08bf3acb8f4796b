"""Audio on its way to the client: early and late failures, slow clients, parts that are read in threads."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from api.inference.audio.audio_stream import AudioReader
from api.inference.audio.speech import SpeechRenderer
from api.inference.dialects.base import ResponseMetadata
from api.inference.media.results import Results
from api.services import AppServices
from config.settings import Settings
from generation.job_folder import folder_of
from governance.cache_namespaces import CacheNamespaces
from streams.events import End, Event
from streams.log import StreamLost
from streams.media_events import MediaDelta
from streams.subscriber import EventSubscriber
from tests.support.api_fakes import FakeStore, encode
from tests.support.recorded_client import RecordedClient
from tests.support.waiting import scaled

ID = "spc_" + "0" * 32
PART = b"x" * 1000


class Speech:
    """An answer with audio, whose file has what the test has announced."""

    def __init__(self, folder: Path, *, events: bool = False) -> None:
        settings = replace(Settings(), data_dir=folder)
        services = AppServices()
        services.add(settings, Results(settings, None, CacheNamespaces()))  # type: ignore[arg-type]
        self.file = folder / "files" / folder_of("one", ID) / "speech.pcm"
        self.file.parent.mkdir(parents=True)
        self.file.touch()
        self.store = FakeStore()
        self.log = self.store.logs[ID] = []
        self.subscriber = EventSubscriber(self.store, "fake")
        self.client = RecordedClient()
        self.reader = AudioReader(self.client, services, "one")
        self.reader.follow(self.subscriber, ID)
        echo = {"format": "pcm", "events": events}
        self.renderer = SpeechRenderer(ResponseMetadata(ID, 1, "m", echo))

    def begin(self) -> None:
        self.reader.begin([self.renderer])

    def append(self, *events: Event) -> None:
        first = len(self.log) + 1
        self.log += [encode(event) for event in events]
        lines = [b"%b %d %b" % (ID.encode(), *entry) for entry in enumerate(self.log, 1)][first - 1 :]
        self.subscriber.deliver(b"\n".join(lines))

    def speak(self, parts: int = 1) -> list[MediaDelta]:
        """Add parts to the file, and return their events."""
        deltas = []
        for _ in range(parts):
            with self.file.open("ab") as file:
                file.write(PART)
            deltas.append(MediaDelta(0, "speech.pcm", "audio/pcm", self.file.stat().st_size))
        return deltas

    async def until(self, condition: Callable[[], bool]) -> None:
        async with asyncio.timeout(scaled(30)):
            while not condition():
                await asyncio.sleep(0.001)


def on_loop(test: Callable[[Path], Coroutine[Any, Any, None]]) -> Callable[[Path], None]:
    """Run a test on an event loop."""

    def run(tmp_path: Path) -> None:
        asyncio.run(test(tmp_path))

    return run


@on_loop
async def test_audio_is_sent_in_the_order_of_its_parts(folder: Path) -> None:
    speech = Speech(folder)
    speech.begin()
    assert speech.client.status is None
    speech.append(*speech.speak(3))
    speech.append(*speech.speak(), End("completed", "stop"))
    await speech.until(lambda: speech.client.is_ended)
    assert speech.client.answer_headers["Content-Type"] == "audio/pcm"
    assert speech.client.body == PART * 4


@on_loop
async def test_a_failure_before_the_first_part_has_its_own_status(folder: Path) -> None:
    speech = Speech(folder)
    speech.begin()
    speech.append(End("failed", code="unknown_voice", message="no such voice", run_ms=1))
    assert speech.client.status == 400
    assert speech.reader.has_ended


@on_loop
async def test_a_log_that_is_lost_before_the_begin_is_answered_at_once(folder: Path) -> None:
    speech = Speech(folder)
    speech.reader.fail(StreamLost(ID))
    speech.begin()
    assert speech.client.status is not None
    assert speech.client.status >= 500
    assert speech.reader.done.done()
    assert not speech.reader.has_ended, "the job may still run, and has to be cancelled"


@pytest.mark.parametrize("failure", ["end", "lost"])
def test_a_failure_amid_the_audio_closes_the_connection(tmp_path: Path, failure: str) -> None:
    async def run() -> None:
        speech = Speech(tmp_path)
        speech.begin()
        speech.append(*speech.speak())
        await speech.until(lambda: bool(speech.client.written))
        if failure == "end":
            speech.append(End("failed", code="engine_crashed", message="gone", run_ms=1))
        else:
            speech.reader.fail(StreamLost(ID))
        assert speech.client.is_aborted
        assert not speech.client.is_ended

    asyncio.run(run())


@on_loop
async def test_a_slow_client_holds_up_the_reading_of_parts(folder: Path) -> None:
    speech = Speech(folder)
    speech.client.pauses_after_write = True
    speech.begin()
    speech.append(*speech.speak(50), End("completed", "stop"))
    await speech.until(lambda: bool(speech.client.written))
    await asyncio.sleep(0.05)
    assert len(speech.client.written) == 1
    for sent in range(2, 51):
        speech.client.become_writable()
        await speech.until(lambda sent=sent: len(speech.client.written) == sent)  # type: ignore[misc]
    speech.client.become_writable()
    await speech.until(lambda: speech.client.is_ended)
    assert speech.client.body == PART * 50


@on_loop
async def test_events_have_the_audio_as_base64_and_an_error_at_the_end(folder: Path) -> None:
    speech = Speech(folder, events=True)
    speech.begin()
    speech.append(*speech.speak())
    await speech.until(lambda: b"speech.audio.delta" in speech.client.body)
    speech.append(End("failed", code="engine_crashed", message="gone", run_ms=1))
    assert b"event: error" in speech.client.body
    assert speech.client.is_ended
