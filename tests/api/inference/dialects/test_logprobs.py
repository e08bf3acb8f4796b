"""Log probabilities, and the sampling fields beyond the basic ones, in OpenAI's three APIs."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import openai
import orjson
import pytest
from flask.testing import FlaskClient

from generation.generation import Generation, Sampling
from streams.events import End, Event, ScoredTextDelta, TokenLogprob, Usage
from tests.support.api_fakes import Fakes

A = TokenLogprob("a", -0.25, None, (TokenLogprob("a", -0.25), TokenLogprob("b", -2.0)))
HALF = TokenLogprob("", -math.inf, b"\xc3")
REST = TokenLogprob("é", -0.5, None)
SCRIPT: list[Event] = [
    ScoredTextDelta("a", (A,)),
    ScoredTextDelta("", (HALF,)),
    ScoredTextDelta("é", (REST,)),
    End("completed", finish_reason="stop", usage=Usage(3, 3)),
]
A_OBJECT = {
    "token": "a",
    "logprob": -0.25,
    "bytes": [97],
    "top_logprobs": [
        {"token": "a", "logprob": -0.25, "bytes": [97]},
        {"token": "b", "logprob": -2.0, "bytes": [98]},
    ],
}
HALF_OBJECT = {"token": "", "logprob": -9999.0, "bytes": [0xC3], "top_logprobs": []}
REST_OBJECT = {"token": "é", "logprob": -0.5, "bytes": [0xC3, 0xA9], "top_logprobs": []}
TOKENS = [A_OBJECT, HALF_OBJECT, REST_OBJECT]
CHAT: dict[str, Any] = {"model": "demo", "messages": [{"role": "user", "content": "x"}]}


def sampling_of(fakes: Fakes) -> Sampling:
    return Generation.from_json(fakes.ledger.only().generation).sampling


def frames(http: FlaskClient, path: str, body: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for line in http.post(path, json={**body, "stream": True}).text.splitlines():
        if line.startswith("data: {"):
            yield orjson.loads(line.removeprefix("data: "))


def test_chat_completions_has_the_tokens_of_the_answer(http: FlaskClient, fakes: Fakes) -> None:
    fakes.ledger.script = [*SCRIPT]
    body = CHAT | {"logprobs": True, "top_logprobs": 2}
    choice = http.post("/v1/chat/completions", json=body).get_json()["choices"][0]
    assert choice["message"]["content"] == "aé"
    assert choice["logprobs"] == {"content": TOKENS, "refusal": None}
    assert sampling_of(fakes).top_logprobs == 2


def test_chat_completions_streams_the_tokens_with_their_text(http: FlaskClient, fakes: Fakes) -> None:
    fakes.ledger.script = [*SCRIPT]
    choices = [
        chunk["choices"][0] for chunk in frames(http, "/v1/chat/completions", CHAT | {"logprobs": True})
    ]
    assert sampling_of(fakes).top_logprobs == 0
    assert "".join(choice["delta"].get("content", "") for choice in choices) == "aé"
    scored = [choice["logprobs"]["content"] for choice in choices if choice["logprobs"]]
    assert scored == [[token] for token in TOKENS]


def test_completions_has_parallel_lists_streamed_and_whole(http: FlaskClient, fakes: Fakes) -> None:
    body = {"model": "demo", "prompt": "x", "logprobs": 5}
    expected = {
        "tokens": ["a", "", "é"],
        "token_logprobs": [-0.25, -9999.0, -0.5],
        "top_logprobs": [{"a": -0.25, "b": -2.0}, {"": -9999.0}, {"é": -0.5}],
        "text_offset": [0, 1, 1],
    }
    fakes.ledger.script = [*SCRIPT]
    assert http.post("/v1/completions", json=body).get_json()["choices"][0]["logprobs"] == expected
    assert sampling_of(fakes).top_logprobs == 5

    pieces = [
        choice["logprobs"]
        for chunk in frames(http, "/v1/completions", body)
        if (choice := chunk["choices"][0])["logprobs"]
    ]
    assert {name: [piece[name][0] for piece in pieces] for name in expected} == expected


@pytest.mark.parametrize(
    ("fields", "asked"),
    [({"top_logprobs": 2}, 2), ({"include": ["message.output_text.logprobs"]}, 0)],
)
def test_responses_has_the_tokens_in_each_place_of_the_text(
    http: FlaskClient, fakes: Fakes, fields: dict[str, Any], asked: int
) -> None:
    fakes.ledger.script = [*SCRIPT]
    body = {"model": "demo", "input": "x", **fields}
    answer = http.post("/v1/responses", json=body).get_json()
    assert answer["output"][0]["content"][0]["logprobs"] == TOKENS
    assert answer["top_logprobs"] == fields.get("top_logprobs", 0)
    assert sampling_of(fakes).top_logprobs == asked

    events = list(frames(http, "/v1/responses", body))
    deltas = [event["logprobs"] for event in events if event["type"] == "response.output_text.delta"]
    assert deltas == [[token] for token in TOKENS]
    (opened,) = (event for event in events if event["type"] == "response.content_part.added")
    assert opened["part"]["logprobs"] == []
    (done,) = (event for event in events if event["type"] == "response.output_text.done")
    (part,) = (event for event in events if event["type"] == "response.content_part.done")
    assert done["logprobs"] == part["part"]["logprobs"] == TOKENS
    assert events[-1]["response"]["output"][0]["content"] == answer["output"][0]["content"]


def test_openais_sdk_reads_them_strictly(sdk: openai.OpenAI, fakes: Fakes) -> None:
    fakes.ledger.script = [*SCRIPT]
    chat = sdk.chat.completions.create(**CHAT, logprobs=True, top_logprobs=2)
    assert [one.logprob for one in chat.choices[0].logprobs.content] == [-0.25, -9999.0, -0.5]
    text = sdk.completions.create(model="demo", prompt="x", logprobs=1)
    assert text.choices[0].logprobs.text_offset == [0, 1, 1]
    response = sdk.responses.create(model="demo", input="x", top_logprobs=2)
    assert response.output[0].content[0].logprobs[0].top_logprobs[1].token == "b"


@pytest.mark.parametrize(
    ("path", "body", "param", "code"),
    [
        ("chat/completions", CHAT | {"top_logprobs": 1}, "top_logprobs", "invalid_request"),
        (
            "chat/completions",
            CHAT | {"logprobs": True, "top_logprobs": 21},
            "top_logprobs",
            "invalid_request",
        ),
        ("chat/completions", CHAT | {"logit_bias": {"a": 1}}, "logit_bias", "invalid_request"),
        ("chat/completions", CHAT | {"logit_bias": {"7": 101}}, "logit_bias.7", "invalid_request"),
        ("chat/completions", CHAT | {"logit_bias": {"7": True}}, "logit_bias.7", "invalid_request"),
        (
            "chat/completions",
            CHAT | {"logit_bias": {str(n): 1 for n in range(1025)}},
            "logit_bias",
            "invalid_request",
        ),
        ("completions", {"model": "demo", "prompt": "x", "logprobs": 6}, "logprobs", "invalid_request"),
        ("responses", {"model": "demo", "input": "x", "include": [1]}, "include[0]", "invalid_request"),
    ],
)
def test_a_wrong_value_is_refused(
    http: FlaskClient, path: str, body: dict[str, Any], param: str, code: str
) -> None:
    answer = http.post(f"/v1/{path}", json=body)
    error = answer.get_json()["error"]
    assert (answer.status_code, error["param"], error["code"]) == (400, param, code)


@pytest.mark.parametrize("path", ["chat/completions", "completions"])
def test_sampling_fields_reach_the_engine(http: FlaskClient, fakes: Fakes, path: str) -> None:
    prompt = {"prompt": "x"} if path == "completions" else {"messages": CHAT["messages"]}
    fields = {"top_k": 4, "min_p": 0.1, "repetition_penalty": 1.5, "presence_penalty": 1}
    body = {"model": "demo", **prompt, **fields, "logit_bias": {"7": -100, "12": 2.5}}
    assert http.post(f"/v1/{path}", json=body).status_code == 200
    sampling = sampling_of(fakes)
    assert {name: getattr(sampling, name) for name in fields} == fields
    assert sampling.logit_bias == ((7, -100), (12, 2.5))
