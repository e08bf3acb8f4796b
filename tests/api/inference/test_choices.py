"""Requests for several choices: each is a job; a refusal, a failure or a disconnect ends them all."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from typing import Any

import openai
import orjson
import pytest
from flask import Flask, g, request
from flask.testing import FlaskClient

from api.access.authenticator import Caller
from api.http.detached import DetachedResponse, run_detached
from api.http.errors import InvalidRequest
from api.http.open_streams import OpenStreams
from api.inference.chat import dialect as chat
from api.inference.completions import dialect as completions
from api.inference.exchange import generate
from api.inference.parse_request import parse_request
from api.services import AppServices
from config.api_keys import ApiKey
from config.settings import Tenant
from generation.generation import Generation
from scheduler.job import Admission, Job
from scheduler.ledger import AsyncLedger
from store.errors import QueueFull
from streams.events import End, Event, TextDelta, Usage
from tests.support.api_fakes import FakeAsyncLedger, Fakes
from tests.support.recorded_client import RecordedClient
from tests.support.waiting import scaled

ASK = {"model": "demo", "messages": [{"role": "user", "content": "Hi"}], "n": 3}
ANSWER = [TextDelta("Hel"), TextDelta("lo."), End("completed", "stop", usage=Usage(4, 2, 1), run_ms=5)]
CRASH = End("failed", code="engine_crashed", message="killed by SIGKILL")


class RefusingLedger(FakeAsyncLedger):
    """Refuses the admission of the job with that number (from 0)."""

    def __init__(self, fakes: Fakes, refused: int) -> None:
        super().__init__(fakes.ledger)
        self._left = refused

    async def admit(self, job: Job) -> Admission:
        if not self._left:
            raise QueueFull("the queue is full", retry_after_s=2)
        self._left -= 1
        return await super().admit(job)


class ScriptedLedger(FakeAsyncLedger):
    """Ends the response of the choice with that number by a crash; the others have the events `rest`."""

    def __init__(self, fakes: Fakes, failing: str, rest: Sequence[Event] = ()) -> None:
        super().__init__(fakes.ledger)
        self._fakes, self._failing, self._rest = fakes, failing, rest

    async def admit(self, job: Job) -> Admission:
        crashes = job.id.endswith(self._failing)
        self._fakes.ledger.script = [TextDelta("a"), CRASH] if crashes else [*self._rest]
        return await super().admit(job)


Detach = Callable[..., DetachedResponse]


@pytest.fixture
def detach(app: Flask) -> Detach:
    """The detached response to a request of the first tenant."""

    def detach(key: str | None = None, **fields: object) -> DetachedResponse:
        headers = {"Idempotency-Key": key} if key else {}
        with app.test_request_context(headers=headers, content_type="application/json"):
            g.caller = Caller(Tenant("one"), "normal", ApiKey("key_1", "", "one", frozenset(["inference"])))
            response = generate(chat, {**ASK, **fields})
        assert isinstance(response, DetachedResponse)
        return response

    return detach


def on_loop(services: AppServices, test: Coroutine[Any, Any, Any]) -> Any:
    return asyncio.run_coroutine_threadsafe(test, services.loop).result(scaled(10))


def frames_of(client: RecordedClient) -> list[dict[str, Any]]:
    lines = client.body.decode().split("\n\n")
    return [orjson.loads(line[6:]) for line in lines if line.startswith("data: {")]


def test_each_choice_is_a_job_of_the_tenant(http: FlaskClient, fakes: Fakes) -> None:
    fakes.ledger.script = [*ANSWER]
    answer = http.post("/v1/chat/completions", json={**ASK, "seed": 5})
    whole = answer.get_json()
    assert [choice["index"] for choice in whole["choices"]] == [0, 1, 2]
    assert {choice["message"]["content"] for choice in whole["choices"]} == {"Hello."}
    assert (whole["usage"]["prompt_tokens"], whole["usage"]["completion_tokens"]) == (4, 6)
    assert answer.headers["X-GPU-Time-Ms"] == "15"
    first = whole["id"]
    assert set(fakes.ledger.jobs) == {first, f"{first}-1", f"{first}-2"}
    seeds = [
        Generation.from_json(fakes.ledger.jobs[id].generation).sampling.seed
        for id in sorted(fakes.ledger.jobs)
    ]
    assert seeds == [5, 6, 7]
    assert {job.tenant for job in fakes.ledger.jobs.values()} == {"one"}


def test_openais_sdk_streams_several_choices(sdk: openai.OpenAI, fakes: Fakes) -> None:
    fakes.ledger.script = [*ANSWER]
    chunks = list(
        sdk.chat.completions.create(
            model="demo",
            messages=[{"role": "user", "content": "Hi"}],
            n=2,
            stream=True,
            stream_options={"include_usage": True},
        )
    )
    texts = ["", ""]
    for chunk in chunks[:-1]:
        texts[chunk.choices[0].index] += chunk.choices[0].delta.content or ""
    assert texts == ["Hello.", "Hello."]
    assert len({chunk.id for chunk in chunks}) == 1
    assert chunks[-1].usage is not None
    assert chunks[-1].usage.completion_tokens == 4
    assert chunks[-1].model_extra is not None
    assert chunks[-1].model_extra["measurements"]["gpu_time_ms"] == 10


def test_prompts_are_answered_in_their_order(sdk: openai.OpenAI, fakes: Fakes) -> None:
    fakes.ledger.script = [*ANSWER]
    completion = sdk.completions.create(model="demo", prompt=["a", "b"], n=2, echo=True)
    assert [choice.text for choice in completion.choices] == ["aHello.", "aHello.", "bHello.", "bHello."]
    assert completion.usage is not None
    assert (completion.usage.prompt_tokens, completion.usage.completion_tokens) == (8, 8)


@pytest.mark.parametrize("stream", [True, False])
def test_a_disconnect_cancels_all_choices(
    services: AppServices, fakes: Fakes, detach: Detach, stream: bool
) -> None:
    fakes.ledger.script = ANSWER[:1]

    async def test() -> None:
        client = RecordedClient()
        task = asyncio.get_running_loop().create_task(run_detached(detach(stream=stream), client))
        while len(fakes.ledger.jobs) < 3:
            await asyncio.sleep(0)
        client.disconnect()
        await task

    on_loop(services, test())
    assert sorted(fakes.ledger.cancelled) == sorted(fakes.ledger.jobs)
    assert len(services[OpenStreams]) == fakes.subscriber.open_responses() == 0


@pytest.mark.parametrize("refused", [0, 1, 2])
def test_a_refused_choice_refuses_the_request_and_cancels_the_others(
    services: AppServices, fakes: Fakes, detach: Detach, refused: int
) -> None:
    fakes.ledger.script = []

    async def test() -> RecordedClient:
        services[AsyncLedger] = RefusingLedger(fakes, refused)  # type: ignore[assignment]
        client = RecordedClient()
        await run_detached(detach(), client)
        return client

    client = on_loop(services, test())
    assert client.status == 503
    assert orjson.loads(client.body)["error"]["code"] == "queue_full"
    assert len(fakes.ledger.jobs) == refused
    assert set(fakes.ledger.jobs) <= set(fakes.ledger.cancelled)
    assert len(services[OpenStreams]) == fakes.subscriber.open_responses() == 0


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("failing", ["-1", "-2"])
def test_a_failing_choice_fails_the_request_and_cancels_the_others(
    services: AppServices, fakes: Fakes, detach: Detach, stream: bool, failing: str
) -> None:
    async def test() -> RecordedClient:
        services[AsyncLedger] = ScriptedLedger(fakes, failing)  # type: ignore[assignment]
        client = RecordedClient()
        await run_detached(detach(stream=stream), client)
        return client

    client = on_loop(services, test())
    if stream:
        assert frames_of(client)[-1]["error"]["code"] == "engine_crashed"
        assert client.body.endswith(b"data: [DONE]\n\n")
    else:
        assert client.status == 502
        assert orjson.loads(client.body)["error"]["code"] == "engine_crashed"
    assert set(fakes.ledger.cancelled) == set(fakes.ledger.jobs)
    assert len(services[OpenStreams]) == fakes.subscriber.open_responses() == 0


@pytest.mark.parametrize("stream", [True, False])
def test_a_repeat_under_one_idempotency_key_gets_the_same_choices(
    services: AppServices, fakes: Fakes, detach: Detach, stream: bool
) -> None:
    fakes.ledger.script = [*ANSWER]

    async def test() -> list[RecordedClient]:
        clients = [RecordedClient(), RecordedClient()]
        for client in clients:
            await run_detached(detach("k", stream=stream), client)
        return clients

    first, second = on_loop(services, test())
    assert len(fakes.ledger.jobs) == 3
    assert not fakes.ledger.cancelled
    if stream:
        texts = ["", "", ""]
        for frame in frames_of(second):
            for choice in frame["choices"]:
                texts[choice["index"]] += choice["delta"].get("content", "")
        assert texts == ["Hello."] * 3
        assert frames_of(second)[0]["id"] == frames_of(first)[0]["id"]
    else:
        assert orjson.loads(second.body)["id"] == orjson.loads(first.body)["id"]
        assert orjson.loads(second.body)["choices"] == orjson.loads(first.body)["choices"]


@pytest.mark.parametrize("ending", ["failed", "gone"])
def test_a_repeat_runs_all_choices_again_when_one_has_no_result(
    services: AppServices, fakes: Fakes, detach: Detach, ending: str
) -> None:
    clients = [RecordedClient(), RecordedClient(), RecordedClient()]

    async def test() -> None:
        ledger = services[AsyncLedger]
        if ending == "failed":
            services[AsyncLedger] = ScriptedLedger(fakes, "-1", ANSWER)  # type: ignore[assignment]
        await run_detached(detach("k"), clients[0])
        services[AsyncLedger] = ledger
        if ending == "gone":
            del fakes.ledger.rows[orjson.loads(clients[0].body)["id"] + "-1"]
        fakes.ledger.script = [*ANSWER]
        for client in clients[1:]:
            await run_detached(detach("k"), client)

    fakes.ledger.script = [*ANSWER]
    on_loop(services, test())
    assert clients[0].status == (502 if ending == "failed" else 200)
    assert [client.status for client in clients[1:]] == [200, 200]
    assert clients[2].body == clients[1].body
    assert len(fakes.ledger.jobs) == 6


@pytest.mark.parametrize(
    ("dialect", "fields", "param"),
    [(chat, {}, "n"), (completions, {"prompt": ["a", "b"], "n": 1}, "prompt")],
)
def test_several_choices_are_refused_in_a_line_of_a_batch(
    app: Flask, services: AppServices, dialect: Any, fields: dict[str, Any], param: str
) -> None:
    caller = Caller(Tenant("one"), "normal", ApiKey("key_1", "", "one", frozenset(["inference"])))
    with app.test_request_context(content_type="application/json"), pytest.raises(InvalidRequest) as caught:
        parse_request(services, caller, dialect, {**ASK, **fields}, request, 1_700_000_000, in_batch=True)
    assert (caught.value.code, caught.value.param) == ("unsupported_parameter", param)


def test_the_choices_of_a_request_without_n_are_one_job(http: FlaskClient, fakes: Fakes) -> None:
    fakes.ledger.script = [*ANSWER]
    for n in (1, None):
        assert http.post("/v1/chat/completions", json={**ASK, "n": n}).status_code == 200
    assert len(fakes.ledger.jobs) == 2
