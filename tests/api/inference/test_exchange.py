"""A client that disconnects at any point of a request cancels its response, and leaves nothing behind."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import AsyncExitStack
from typing import Any

import orjson
import pytest
from flask import Flask, g

from api.access.authenticator import Caller
from api.http.detached import DetachedResponse, run_detached
from api.http.open_streams import OpenStreams
from api.http.shutdown_flag import ShutdownFlag
from api.inference.answer.large_reads import LOG_READS_OF_ALL, ConversationJoins, LogReads
from api.inference.exchange import generate
from api.inference.responses import dialect as responses
from api.services import AppServices
from config.api_keys import ApiKey
from config.settings import Tenant
from scheduler.job import Admission, Job
from scheduler.ledger import AsyncLedger
from store.errors import StorageUnavailable
from tests.api.inference.test_generation import ASK
from tests.support.api_fakes import HELLO, FakeAsyncLedger, Fakes
from tests.support.recorded_client import RecordedClient
from tests.support.waiting import scaled


class HeldLedger(FakeAsyncLedger):
    """Holds the reply to each admission until `admit_now` is set; the job is admitted at once."""

    def __init__(self, fakes: Fakes) -> None:
        super().__init__(fakes.ledger)
        self.admit_now = asyncio.Event()

    async def admit(self, job: Job) -> Admission:
        admission = await super().admit(job)
        await self.admit_now.wait()
        return admission


Detach = Callable[..., DetachedResponse]


@pytest.fixture
def detach(app: Flask) -> Detach:
    """The detached response to a request of the first tenant."""

    def detach(**fields: object) -> DetachedResponse:
        headers = {"Idempotency-Key": "k"} if fields.pop("key", None) else {}
        with app.test_request_context(headers=headers, content_type="application/json"):
            g.caller = Caller(Tenant("one"), "normal", ApiKey("key_1", "", "one", frozenset(["inference"])))
            response = generate(responses, {**ASK, **fields})
        assert isinstance(response, DetachedResponse)
        return response

    return detach


def on_loop(services: AppServices, test: Coroutine[Any, Any, Any]) -> Any:
    return asyncio.run_coroutine_threadsafe(test, services.loop).result(scaled(10))


async def started(response: DetachedResponse) -> tuple[RecordedClient, asyncio.Task[None]]:
    """A client whose request is being served."""
    client = RecordedClient()
    task = asyncio.get_running_loop().create_task(run_detached(response, client))
    for _ in range(5):
        await asyncio.sleep(0)
    return client, task


@pytest.mark.parametrize("stream", [True, False])
def test_a_disconnect_while_the_response_is_awaited_cancels_it(
    services: AppServices, fakes: Fakes, detach: Detach, stream: bool
) -> None:
    fakes.ledger.script = HELLO[:1]

    async def test() -> None:
        client, task = await started(detach(stream=stream))
        assert len(services[OpenStreams]) == 1
        client.disconnect()
        await task

    on_loop(services, test())
    assert fakes.ledger.cancelled == [fakes.ledger.only().id]
    assert len(services[OpenStreams]) == fakes.subscriber.open_responses() == 0


@pytest.mark.parametrize("stream", [True, False])
def test_a_repeat_under_one_idempotency_key_runs_again_when_a_disconnect_has_cancelled_the_first(
    services: AppServices, fakes: Fakes, detach: Detach, stream: bool
) -> None:
    fakes.ledger.script = HELLO[:1]
    again = RecordedClient()

    async def test() -> None:
        client, task = await started(detach(stream=stream, key=True))
        client.disconnect()
        await task
        fakes.ledger.script = HELLO
        await run_detached(detach(stream=stream, key=True), again)

    on_loop(services, test())
    first, second = fakes.ledger.jobs
    assert fakes.ledger.cancelled == [first]
    assert again.status == 200
    assert second.encode() in again.body
    assert first.encode() not in again.body


@pytest.mark.parametrize(("stream", "script"), [(True, None), (False, None), (True, HELLO)])
def test_a_disconnect_during_the_admission_cancels_the_response(
    services: AppServices, fakes: Fakes, detach: Detach, stream: bool, script: Any
) -> None:
    fakes.ledger.script = script

    async def test() -> None:
        services[AsyncLedger] = ledger = HeldLedger(fakes)  # type: ignore[assignment]
        client, task = await started(detach(stream=stream))
        client.disconnect()
        ledger.admit_now.set()
        await task
        assert client.status is None

    on_loop(services, test())
    assert fakes.ledger.cancelled == [fakes.ledger.only().id]
    assert len(services[OpenStreams]) == fakes.subscriber.open_responses() == 0


def test_events_that_overtake_the_reply_to_the_admission_are_streamed(
    services: AppServices, fakes: Fakes, detach: Detach
) -> None:
    async def test() -> RecordedClient:
        services[AsyncLedger] = ledger = HeldLedger(fakes)  # type: ignore[assignment]
        client, task = await started(detach(stream=True))
        assert client.status is None
        ledger.admit_now.set()
        await task
        return client

    client = on_loop(services, test())
    assert b"Hello." in client.body
    assert client.is_ended
    assert fakes.ledger.cancelled == []


def test_a_request_that_is_cancelled_by_the_server_cancels_its_response(
    services: AppServices, fakes: Fakes, detach: Detach
) -> None:
    async def test() -> None:
        services[AsyncLedger] = HeldLedger(fakes)  # type: ignore[assignment]
        _, task = await started(detach())
        task.cancel()
        await asyncio.wait([task])

    fakes.ledger.script = None
    on_loop(services, test())
    assert fakes.ledger.cancelled == [fakes.ledger.only().id]
    assert len(services[OpenStreams]) == fakes.subscriber.open_responses() == 0


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("store", [True, False])
def test_a_stored_response_survives_the_end_of_its_api_process(
    services: AppServices, fakes: Fakes, detach: Detach, stream: bool, store: bool
) -> None:
    fakes.ledger.script = None

    async def test() -> None:
        client, task = await started(detach(stream=stream, store=store))
        services[ShutdownFlag].is_running = lambda: False
        client.disconnect()
        await task

    on_loop(services, test())
    assert fakes.ledger.cancelled == ([] if store else [fakes.ledger.only().id])
    assert len(services[OpenStreams]) == fakes.subscriber.open_responses() == 0


def test_a_background_response_is_answered_while_all_log_reads_are_taken(
    services: AppServices, fakes: Fakes, detach: Detach
) -> None:
    fakes.ledger.script = None

    async def test() -> RecordedClient:
        async with AsyncExitStack() as stack:
            for at in range(LOG_READS_OF_ALL.running):
                await stack.enter_async_context(services[LogReads].hold(f"t{at}"))
            client, task = await started(detach(background=True))
            await asyncio.wait_for(task, 5)
        return client

    client = on_loop(services, test())
    assert client.status == 200
    assert b'"queued"' in client.body


@pytest.mark.parametrize("background", [False, True])
def test_a_request_that_waits_for_an_earlier_response_ends_with_its_client_unless_in_the_background(
    services: AppServices, fakes: Fakes, detach: Detach, background: bool
) -> None:
    async def test() -> None:
        first, first_task = await started(detach(store=True))
        await first_task
        earlier = orjson.loads(first.body)["id"]
        async with services[ConversationJoins].hold("one"):
            client, task = await started(detach(previous_response_id=earlier, background=background))
            assert services[ConversationJoins].requests == 2
            client.disconnect()
            if not background:
                await task
                assert services[ConversationJoins].requests == 1
        await task

    on_loop(services, test())
    assert len(fakes.ledger.jobs) == (2 if background else 1)


@pytest.mark.parametrize("fields", [{"background": True, "stream": True}, {"key": True}])
def test_a_background_or_repeated_response_survives_its_client(
    services: AppServices, fakes: Fakes, detach: Detach, fields: dict[str, Any]
) -> None:
    fakes.ledger.script = None

    async def test() -> None:
        first, first_task = await started(detach(**fields))
        second, second_task = await started(detach(**fields))
        for client, task in ((second, second_task), (first, first_task)):
            assert fakes.ledger.cancelled == []
            client.disconnect()
            await task

    on_loop(services, test())
    assert fakes.ledger.cancelled == ([] if "background" in fields else [fakes.ledger.only().id])
    assert fakes.subscriber.open_responses() == 0


def test_a_refused_request_cancels_nothing(services: AppServices, fakes: Fakes, detach: Detach) -> None:
    fakes.ledger.rejection = StorageUnavailable("not now", retry_after_s=2)

    async def test() -> RecordedClient:
        client, task = await started(detach(stream=True))
        await task
        return client

    client = on_loop(services, test())
    assert (client.status, client.answer_headers["Retry-After"]) == (503, "2")
    assert b'"storage_unavailable"' in client.body
    assert fakes.ledger.cancelled == []
    assert fakes.subscriber.open_responses() == 0


def test_a_cancellation_that_fails_is_logged_in_one_line(
    services: AppServices,
    fakes: Fakes,
    detach: Detach,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def unreachable(_id: str, _tenant: str, *, disconnected: bool) -> None:  # noqa: ARG001
        raise StorageUnavailable("not now", retry_after_s=2)

    monkeypatch.setattr(services[AsyncLedger], "cancel", unreachable)
    fakes.ledger.script = None

    async def test() -> None:
        client, task = await started(detach())
        client.disconnect()
        await task

    on_loop(services, test())
    logged = [(record.getMessage(), record.exc_info) for record in caplog.records]
    assert logged == [("a response whose client is gone cannot be cancelled: not now", None)]
    assert len(services[OpenStreams]) == 0
