"""The headers of the prefix cache: what they ask for, what they are refused for, and what answers measure."""

from __future__ import annotations

from typing import Any

import openai
import pytest
from flask import Flask
from flask.testing import FlaskClient

from generation.generation import Generation
from store.errors import StorageUnavailable
from streams.events import End, TextDelta, Usage
from tests.api.conftest import KEY, OTHER_KEY
from tests.api.inference.test_generation import ASK, CHAT, frames
from tests.seeds import MODEL_RUNNER_API
from tests.support.api_fakes import Fakes

ROUTES = [("/v1/responses", ASK), ("/v1/chat/completions", CHAT)]
MEASURED = {"cache_hit": True, "cache_tokens_reused": 3, "queue_wait_ms": 4, "gpu_time_ms": 50}


def generation(http: FlaskClient, fakes: Fakes, key: str = KEY, **headers: str) -> Generation:
    """The generation that a request with these headers becomes."""
    named = {f"X-Cache-{name.capitalize()}": value for name, value in headers.items()}
    answer = http.post("/v1/responses", json=ASK, headers={"Authorization": f"Bearer {key}", **named})
    assert answer.status_code == 200
    job = fakes.ledger.jobs[answer.json["id"]]
    return Generation.from_json(job.generation)


@pytest.mark.rule("runner/cache-tag")
def test_tenants_and_tags_have_namespaces_of_their_own(http: FlaskClient, fakes: Fakes) -> None:
    asked: list[dict[str, Any]] = [
        {"key": key, **tag} for key in (KEY, OTHER_KEY) for tag in ({}, {"tag": "a"})
    ]
    found = [generation(http, fakes, **fields).cache_namespace for fields in asked]
    again = [generation(http, fakes, **fields).cache_namespace for fields in asked]
    assert found == again
    assert len({*found, generation(http, fakes, tag="A").cache_namespace}) == 5
    assert None not in found


@pytest.mark.rule("runner/tenant-header", "runner/cache-tag")
def test_unknown_tenants_have_namespaces_of_their_own_though_they_share_limits(
    open_app: Flask, fakes: Fakes
) -> None:
    http = open_app.test_client()
    http.environ_base["HTTP_HOST"] = "localhost"

    def asked(**headers: str) -> tuple[str, str | None]:
        answer = http.post("/v1/responses", json=ASK, headers=headers)
        job = fakes.ledger.jobs[answer.json["id"]]
        return job.tenant, Generation.from_json(job.generation).cache_namespace

    names = ("ghost", "shade", "default", "one")
    found = {name: asked(**{"X-Tenant-ID": name}) for name in names}
    assert [found[name][0] for name in names] == ["default", "default", "default", "one"]
    assert len({namespace for _, namespace in found.values()}) == len(names)
    assert asked(**{"X-Tenant-ID": "ghost"}) == found["ghost"]
    assert asked() == found["default"]


@pytest.mark.rule("runner/cache-mode")
@pytest.mark.parametrize(
    ("given", "mode"),
    [(None, "prefix"), ("prefix", "prefix"), ("auto", "prefix"), ("none", "none"), ("NONE", "none")],
)
def test_a_mode_is_passed_to_the_engine(
    http: FlaskClient, fakes: Fakes, given: str | None, mode: str
) -> None:
    assert generation(http, fakes, **({} if given is None else {"mode": given})).cache_mode == mode


@pytest.mark.rule("runner/cache-mode", "runner/cache-tag")
@pytest.mark.parametrize("route", ROUTES)
@pytest.mark.parametrize(
    "header",
    [
        ("X-Cache-Mode", "prefixes"),
        ("X-Cache-Mode", ""),
        ("X-Cache-Tag", ""),
        ("X-Cache-Tag", "two words"),
        ("X-Cache-Tag", "t" * 65),
        ("X-Cache-Tag", "caf\u00e9"),
    ],
)
def test_an_invalid_header_is_refused_by_its_name(
    http: FlaskClient, fakes: Fakes, route: tuple[str, dict[str, Any]], header: tuple[str, str]
) -> None:
    path, body = route
    answer = http.post(path, json=body, headers=dict([header]))
    assert answer.status_code == 400
    assert (answer.json["error"]["code"], answer.json["error"]["param"]) == ("invalid_request", header[0])
    assert not fakes.ledger.jobs


@pytest.mark.rule("runner/cache-tag")
def test_a_tag_of_64_visible_characters_is_accepted(http: FlaskClient, fakes: Fakes) -> None:
    assert generation(http, fakes, tag="!~" * 32).cache_namespace


@pytest.mark.rule("runner/response-headers")
@pytest.mark.parametrize(("path", "body"), ROUTES)
@pytest.mark.parametrize("options", [{}, {"stream_options": {"include_usage": True}}])
def test_the_last_event_of_a_stream_has_the_measurements(
    http: FlaskClient, path: str, body: dict[str, Any], options: dict[str, Any]
) -> None:
    options = {} if path == "/v1/responses" else options
    *others, last = frames(http.post(path, json={**body, **options, "stream": True}).text)
    assert last["measurements"] == MEASURED
    assert not any("measurements" in frame for frame in others)


def test_strict_clients_read_the_measurements_of_streams(sdk: openai.OpenAI) -> None:
    chunks = list(
        sdk.chat.completions.create(**CHAT, stream=True, stream_options={"include_usage": True})  # type: ignore[call-overload]
    )
    assert chunks[-1].usage.prompt_tokens_details.cached_tokens == 3
    assert chunks[-1].model_extra["measurements"] == MEASURED
    event = list(sdk.responses.create(model="demo", input="Hi", stream=True))[-1]
    assert event.type == "response.completed"
    assert (event.model_extra or {})["measurements"] == MEASURED
    with sdk.chat.completions.stream(**CHAT) as stream:  # type: ignore[arg-type]
        assert stream.get_final_completion().choices[0].message.content == "Hello."


@pytest.mark.rule("runner/response-headers-always")
@pytest.mark.parametrize(("path", "body"), ROUTES)
def test_a_failed_answer_has_what_was_measured(
    http: FlaskClient, fakes: Fakes, path: str, body: dict[str, Any]
) -> None:
    fakes.ledger.script = [
        TextDelta("Hel"),
        End("failed", code="engine_crashed", usage=Usage(7, 1, cached_tokens=2), queue_ms=4, run_ms=50),
    ]
    whole = http.post(path, json=body)
    if path == "/v1/chat/completions":  # a failed response is an answer
        assert whole.status_code == 502
    names = ("X-Cache-Hit", "X-Cache-Tokens-Reused", "X-Queue-Wait-Ms", "X-GPU-Time-Ms")
    assert [whole.headers[name] for name in names] == ["true", "2", "4", "50"]
    last = frames(http.post(path, json={**body, "stream": True}).text)[-1]
    assert last["measurements"] == {**MEASURED, "cache_tokens_reused": 2}


@pytest.mark.rule("runner/response-headers-always")
@pytest.mark.parametrize("route", ROUTES)
@pytest.mark.parametrize(
    ("changed", "headers", "status"),
    [
        ({"temperature": "hot"}, {}, 400),
        ({"model": "none"}, {}, 404),
        ({}, {"X-Cache-Mode": "all"}, 400),
        ({}, {"Authorization": "Bearer wrong"}, 401),
        ({}, {"X-Tenant-ID": "two"}, 403),
    ],
)
def test_an_invalid_request_for_a_generation_has_the_headers_too(
    http: FlaskClient,
    route: tuple[str, dict[str, Any]],
    changed: dict[str, Any],
    headers: dict[str, str],
    status: int,
) -> None:
    answer = http.post(route[0], json={**route[1], **changed}, headers=headers)
    assert answer.status_code == status
    names = ("X-Cache-Hit", "X-Cache-Tokens-Reused", "X-Queue-Wait-Ms", "X-GPU-Time-Ms")
    assert [answer.headers.get(name) for name in names] == ["false", "0", "0", "0"]
    assert "X-Cache-Hit" not in http.get("/v1/models/none").headers


@pytest.mark.rule("runner/response-headers-always")
def test_a_refused_request_has_waited_and_run_for_no_time(http: FlaskClient, fakes: Fakes) -> None:
    fakes.ledger.rejection = StorageUnavailable("not now", retry_after_s=2)
    for stream in (False, True):
        answer = http.post("/v1/responses", json={**ASK, "stream": stream})
        assert (answer.status_code, answer.headers["Retry-After"]) == (503, "2")
        names = ("X-Cache-Hit", "X-Cache-Tokens-Reused", "X-Queue-Wait-Ms", "X-GPU-Time-Ms")
        assert [answer.headers[name] for name in names] == ["false", "0", "0", "0"]


def test_a_response_that_is_fetched_has_its_measurements_once_it_has_ended(
    http: FlaskClient, fakes: Fakes
) -> None:
    fakes.ledger.script = None
    id = http.post("/v1/responses", json={**ASK, "background": True}).json["id"]
    assert "X-Cache-Hit" not in http.get(f"/v1/responses/{id}").headers
    fakes.ledger.append(
        id, End("completed", "stop", usage=Usage(7, 2, cached_tokens=3), queue_ms=4, run_ms=50)
    )
    answer = http.get(f"/v1/responses/{id}")
    assert (answer.headers["X-Cache-Tokens-Reused"], answer.headers["X-Queue-Wait-Ms"]) == ("3", "4")


@pytest.mark.rule("runner/headers-on-all-endpoints")
@pytest.mark.parametrize(
    ("path", "body"), [*ROUTES, ("/v1/completions", {"model": "demo", "prompt": "Once upon"})]
)
def test_the_headers_of_the_model_runner_api_count_on_every_endpoint(
    http: FlaskClient, fakes: Fakes, path: str, body: dict[str, Any]
) -> None:
    asked = {**MODEL_RUNNER_API["request_headers"], "X-Tenant-ID": "one", "X-Priority": "low"}
    answers = [http.post(path, json=body, headers=headers) for headers in ({}, asked)]
    for answer in answers:
        assert answer.status_code == 200
        assert set(MODEL_RUNNER_API["response_headers"]) <= set(answer.headers.keys())
    plain, tagged = fakes.ledger.jobs.values()
    assert (plain.priority, tagged.priority) == ("normal", "low")
    namespaces = [Generation.from_json(job.generation).cache_namespace for job in (plain, tagged)]
    assert namespaces[0] != namespaces[1], "the tag counts"
    other = http.post(path, json=body, headers={**asked, "X-Tenant-ID": "two"})
    assert (other.status_code, other.json["error"]["code"]) == (403, "tenant_mismatch")
