"""`Idempotency-Key` and retries, on every route that makes a job."""

from __future__ import annotations

import struct
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import anthropic
import httpx
import openai
import pytest
from flask.testing import FlaskClient

from api.http.open_streams import OpenStreams
from api.services import AppServices
from config.settings import ModelDefinition, Settings
from scheduler.job import Admission, Job
from store.errors import QueueFull, RateLimited, StokerError
from streams.events import End, Event, Usage, VectorDelta
from tests.api.conftest import KEY, OTHER_KEY
from tests.support.api_fakes import HELLO, Fakes
from tests.support.waiting import scaled, wait_until

MESSAGES = [{"role": "user", "content": "Hi"}]
CHAT = {"model": "demo", "messages": MESSAGES}
ROUTES: dict[str, dict[str, Any]] = {
    "/v1/responses": {"model": "demo", "input": "Hi"},
    "/v1/chat/completions": CHAT,
    "/v1/completions": {"model": "demo", "prompt": "Hi"},
    "/v1/messages": CHAT | {"max_tokens": 7},
    "/api/chat": CHAT | {"stream": False},
    "/api/generate": {"model": "demo", "prompt": "Hi", "stream": False},
    "/v1/embeddings": {"model": "vectors", "input": ["Hi"]},
    "/v1/rerank": {"model": "ranker", "query": "Hi", "documents": ["Hi"]},
    "/api/embed": {"model": "vectors", "input": "Hi"},
    "/api/embeddings": {"model": "vectors", "prompt": "Hi"},
    "/v1/responses/input_tokens": {"model": "demo", "input": "Hi"},
    "/v1/responses/compact": {"model": "demo", "input": "Hi"},
    "/v1/messages/count_tokens": CHAT,
}
OF_VECTORS = ("/v1/embeddings", "/v1/rerank", "/api/embed", "/api/embeddings")
STREAMED = tuple(ROUTES)[:6]
VECTOR: list[Event] = [VectorDelta.of(0, struct.pack("<2f", 1, 0)), End("completed", "stop", usage=Usage(7))]
HEADERS = {"Idempotency-Key": "k"}

each_route = pytest.mark.parametrize("path", ROUTES)


@pytest.fixture
def settings(settings: Settings) -> Settings:
    vectors = ModelDefinition("vectors", "stub", options={"stub_dimensions": 8})
    ranker = ModelDefinition("ranker", "stub", options={"stub_rerank": True})
    return replace(settings, models={**settings.models, "vectors": vectors, "ranker": ranker})


@pytest.fixture(autouse=True)
def _script(fakes: Fakes, request: pytest.FixtureRequest) -> None:
    path = getattr(request.node, "callspec", None) and request.node.callspec.params.get("path")
    fakes.ledger.script = [*(VECTOR if path in OF_VECTORS else HELLO)]


def code_of(answer: Any) -> str:
    """The error's code. Ollama's errors are a text, which begins with it or not: its status counts."""
    error = answer.json["error"]
    return str(error.get("code", "")) if isinstance(error, dict) else ""


@pytest.mark.parametrize(
    ("path", "stream"), [*((path, False) for path in ROUTES), *((path, True) for path in STREAMED)]
)
def test_repeat_gets_the_first_answer_and_runs_nothing(
    http: FlaskClient, fakes: Fakes, path: str, stream: bool
) -> None:
    body = ROUTES[path] | ({"stream": True} if stream else {})
    first, second = (http.post(path, json=body, headers=HEADERS) for _ in range(2))
    assert first.status_code == 200
    assert second.text == first.text
    assert len(fakes.ledger.jobs) == 1


@each_route
def test_key_is_refused_for_another_body_and_on_another_route(
    http: FlaskClient, fakes: Fakes, path: str
) -> None:
    assert http.post(path, json=ROUTES[path], headers=HEADERS).status_code == 200
    changed = ROUTES[path] | {"user": "another", "options": {}}
    others = [(path, changed), *[item for item in ROUTES.items() if item[0] != path]]
    for other, body in others:
        answer = http.post(other, json=body, headers=HEADERS)
        assert answer.status_code == 409, other
        assert code_of(answer) in ("idempotency_key_reused", ""), other
        assert answer.headers["x-should-retry"] == "false"
    assert len(fakes.ledger.jobs) == 1


@each_route
def test_key_of_another_tenant_is_another_key(http: FlaskClient, fakes: Fakes, path: str) -> None:
    for key in (KEY, OTHER_KEY):
        answer = http.post(path, json=ROUTES[path], headers=HEADERS | {"Authorization": f"Bearer {key}"})
        assert answer.status_code == 200
    assert len(fakes.ledger.jobs) == 2


@each_route
def test_malformed_key_is_refused(http: FlaskClient, fakes: Fakes, path: str) -> None:
    for key in ("a b", "k" * 256, "ö"):
        answer = http.post(path, json=ROUTES[path], headers={"Idempotency-Key": key})
        assert answer.status_code == 400
    assert not fakes.ledger.jobs


@each_route
def test_repeat_joins_the_run_of_the_first_request(
    port: int, services: AppServices, fakes: Fakes, path: str
) -> None:
    script, fakes.ledger.script = fakes.ledger.script or [], None
    answers: list[httpx.Response] = []

    def ask() -> None:
        headers = HEADERS | {"Authorization": f"Bearer {KEY}"}
        answers.append(httpx.post(f"http://127.0.0.1:{port}{path}", json=ROUTES[path], headers=headers))

    threads = [threading.Thread(target=ask) for _ in range(2)]
    threads[0].start()
    assert fakes.ledger.admitted.wait(scaled(10))
    (id,) = fakes.ledger.jobs
    threads[1].start()
    wait_until(lambda: len(services[OpenStreams]) == 2, 10)
    fakes.ledger.append(id, *script)
    for thread in threads:
        thread.join(scaled(10))
    assert [answer.status_code for answer in answers] == [200, 200]
    assert answers[0].json() == answers[1].json()
    assert len(fakes.ledger.jobs) == 1


@each_route
def test_first_request_that_failed_is_run_again_by_its_repeat(
    http: FlaskClient, fakes: Fakes, path: str
) -> None:
    script, fakes.ledger.script = fakes.ledger.script, [End("failed", code="worker_lost", run_ms=1)]
    failed = http.post(path, json=ROUTES[path], headers=HEADERS)
    assert failed.status_code == 503
    assert int(failed.headers["Retry-After"]) > 0
    fakes.ledger.script = script
    assert http.post(path, json=ROUTES[path], headers=HEADERS).status_code == 200
    assert len(fakes.ledger.jobs) == 2


@each_route
@pytest.mark.parametrize(
    ("error", "status", "retried"),
    [
        (RateLimited("too many", retry_after_s=7), 429, True),
        (QueueFull("full", retry_after_s=3), 503, True),
        (RateLimited("never"), 429, False),
    ],
)
def test_refusal_names_the_time_of_a_retry_when_one_helps(
    http: FlaskClient, fakes: Fakes, *, path: str, error: StokerError, status: int, retried: bool
) -> None:
    fakes.ledger.rejection = error
    answer = http.post(path, json=ROUTES[path], headers=HEADERS)
    assert answer.status_code == status
    assert answer.headers.get("Retry-After") == (str(error.retry_after_s) if retried else None)
    assert answer.headers.get("x-should-retry") == (None if retried else "false")


@pytest.fixture
def refused_once(fakes: Fakes, monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The times of the admissions, of which the first one is refused with 429 for a second."""
    times: list[float] = []
    admit: Callable[[Job], Admission] = fakes.ledger.admit

    def refuse_first(job: Job) -> Admission:
        times.append(time.monotonic())
        if len(times) == 1:
            raise RateLimited("too many", retry_after_s=1)
        return admit(job)

    monkeypatch.setattr(fakes.ledger, "admit", refuse_first)
    return times


def test_sdk_of_openai_retries_after_the_time_of_a_429_with_one_run(
    port: int, fakes: Fakes, refused_once: list[float]
) -> None:
    with openai.OpenAI(api_key=KEY, base_url=f"http://127.0.0.1:{port}/v1", max_retries=1) as sdk:
        assert sdk.responses.create(model="demo", input="Hi", extra_headers=HEADERS).output_text == "Hello."
    assert len(refused_once) == 2
    assert refused_once[1] - refused_once[0] >= 1
    assert len(fakes.ledger.jobs) == 1


def test_sdk_of_anthropic_retries_after_the_time_of_a_429_with_one_run(
    port: int, fakes: Fakes, refused_once: list[float]
) -> None:
    with anthropic.Anthropic(api_key=KEY, base_url=f"http://127.0.0.1:{port}", max_retries=1) as sdk:
        sdk.messages.create(
            model="demo", max_tokens=7, messages=[{"role": "user", "content": "Hi"}], extra_headers=HEADERS
        )
    assert refused_once[1] - refused_once[0] >= 1
    assert len(fakes.ledger.jobs) == 1


@pytest.mark.parametrize("vendor", ["openai", "anthropic"])
def test_sdk_does_not_retry_when_it_is_pointless(port: int, fakes: Fakes, vendor: str) -> None:
    fakes.ledger.rejection = RateLimited("never")
    url = f"http://127.0.0.1:{port}"
    if vendor == "openai":
        with openai.OpenAI(api_key=KEY, base_url=f"{url}/v1") as sdk, pytest.raises(openai.RateLimitError):
            sdk.responses.create(model="demo", input="Hi")
    else:
        with (
            anthropic.Anthropic(api_key=KEY, base_url=url) as other,
            pytest.raises(anthropic.RateLimitError),
        ):
            other.messages.create(model="demo", max_tokens=7, messages=[{"role": "user", "content": "Hi"}])
    assert fakes.ledger.refusals == 1
