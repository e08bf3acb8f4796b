"""The Completions dialect: what a request becomes, and what it answers; with OpenAI's SDK, too."""

from __future__ import annotations

import json
from typing import Any

import openai
import pytest
from flask.testing import FlaskClient

from api.inference.completions.schema import TextCompletion
from generation.generation import Generation
from streams.events import End, Event, ScoredTextDelta, TextDelta, TokenLogprob, Usage
from tests.support.api_fakes import Fakes

ASK = {"model": "demo", "prompt": "Once upon"}
TOLD = [TextDelta(" a"), TextDelta(" time"), End("completed", finish_reason="stop", usage=Usage(3, 2, 1))]
CUT = [TextDelta(" a"), End("incomplete", finish_reason="length", usage=Usage(3, 1))]


def generation_of(fakes: Fakes) -> Generation:
    return Generation.from_json(fakes.ledger.only().generation)


def test_a_prompt_is_continued_without_messages(http: FlaskClient, fakes: Fakes) -> None:
    fakes.ledger.script = [*TOLD]
    body = {"max_tokens": 7, "temperature": 0.5, "top_p": 0.9, "seed": 3, "stop": ["\n", "."]}
    answer = http.post("/v1/completions", json=ASK | body).get_json()
    assert TextCompletion().validate(answer) == {}
    assert answer["id"].startswith("cmpl-")
    assert (answer["object"], answer["model"]) == ("text_completion", "demo")
    assert answer["choices"] == [{"index": 0, "text": " a time", "logprobs": None, "finish_reason": "stop"}]
    assert (answer["usage"]["prompt_tokens"], answer["usage"]["total_tokens"]) == (3, 5)
    asked = generation_of(fakes)
    assert (asked.prompt, asked.messages) == ("Once upon", ())
    sampling = asked.sampling
    assert (sampling.max_tokens, sampling.temperature, sampling.top_p) == (7, 0.5, 0.9)
    assert (sampling.seed, sampling.stop) == (3, ("\n", "."))


def test_sixteen_tokens_are_generated_without_max_tokens(http: FlaskClient, fakes: Fakes) -> None:
    http.post("/v1/completions", json={"model": "demo", "prompt": ["Once upon"]})
    assert generation_of(fakes).prompt == "Once upon"
    assert generation_of(fakes).sampling.max_tokens == 16


def test_the_prompt_begins_the_answer_if_the_request_asks_for_it(http: FlaskClient, fakes: Fakes) -> None:
    fakes.ledger.script = [*CUT]
    choice = http.post("/v1/completions", json=ASK | {"echo": True}).get_json()["choices"][0]
    assert (choice["text"], choice["finish_reason"]) == ("Once upon a", "length")


@pytest.mark.parametrize(
    ("fields", "param", "code"),
    [
        ({"prompt": ["a", ""]}, "prompt[1]", "invalid_request"),
        ({"prompt": ["a"] * 33}, "prompt", "invalid_request"),
        ({"prompt": [1, 2]}, "prompt", "unsupported_input"),
        ({"prompt": [[1, 2]]}, "prompt", "unsupported_input"),
        ({"prompt": [[1, 2], "a"], "echo": True}, "echo", "unsupported_input"),
        ({"prompt": [1, "a"]}, "prompt[1]", "invalid_request"),
        ({"prompt": [1, [2]]}, "prompt[1]", "invalid_request"),
        ({"prompt": [[1, "a"]]}, "prompt[0][1]", "invalid_request"),
        ({"prompt": [[]]}, "prompt[0]", "invalid_request"),
        ({"prompt": [1, -1]}, "prompt[1]", "invalid_request"),
        ({"prompt": []}, "prompt", "invalid_request"),
        ({"prompt": ""}, "prompt", "invalid_request"),
        ({"prompt": [""]}, "prompt", "invalid_request"),
        ({"prompt": None}, "prompt", "invalid_request"),
        ({"n": 9}, "n", "invalid_request"),
        ({"best_of": 2}, "best_of", "unsupported_parameter"),
        ({"suffix": 1}, "suffix", "invalid_request"),
        ({"model": "org/plain", "suffix": "end"}, "suffix", "unsupported_parameter"),
        ({"max_tokens": 0}, "max_tokens", "invalid_request"),
        ({"stream": "yes"}, "stream", "invalid_request"),
    ],
)
def test_a_field_that_is_not_supported_is_refused(
    http: FlaskClient, fakes: Fakes, fields: dict[str, object], param: str, code: str
) -> None:
    answer = http.post("/v1/completions", json=ASK | fields)
    error = answer.get_json()["error"]
    assert (answer.status_code, error["param"], error["code"]) == (400, param, code)
    assert not fakes.ledger.jobs


def test_a_suffix_is_the_text_after_the_answer(http: FlaskClient, fakes: Fakes) -> None:
    for suffix, expected in (("end", "end"), ("", None), (None, None)):
        assert http.post("/v1/completions", json=ASK | {"suffix": suffix}).status_code == 200
        *_, job = fakes.ledger.jobs.values()
        assert Generation.from_json(job.generation).suffix == expected


def test_a_model_that_takes_messages_only_refuses_a_prompt(http: FlaskClient, fakes: Fakes) -> None:
    answer = http.post("/v1/completions", json={"model": "org/plain", "prompt": "Once upon"})
    assert (answer.status_code, answer.get_json()["error"]["code"]) == (400, "prompt_unsupported")
    assert not fakes.ledger.jobs


def test_openais_sdk_gets_a_completion(sdk: openai.OpenAI, fakes: Fakes) -> None:
    fakes.ledger.script = [*TOLD]
    completion = sdk.completions.create(model="demo", prompt="Once upon", max_tokens=5)
    assert completion.choices[0].text == " a time"
    assert completion.choices[0].finish_reason == "stop"
    assert completion.usage is not None
    assert completion.usage.total_tokens == 5


@pytest.fixture
def lenient(sdk: openai.OpenAI) -> openai.OpenAI:
    """A client as users have it: the SDK's types know no chunk without a finish reason, OpenAI sends them."""
    return openai.OpenAI(api_key=sdk.api_key, base_url=sdk.base_url, max_retries=0)


def test_openais_sdk_streams_a_completion(lenient: openai.OpenAI, fakes: Fakes) -> None:
    fakes.ledger.script = [*TOLD]
    chunks = [
        *lenient.completions.create(
            model="demo",
            prompt="Once upon",
            echo=True,
            stream=True,
            stream_options={"include_usage": True},
        )
    ]
    assert "".join(chunk.choices[0].text for chunk in chunks[:-1]) == "Once upon a time"
    assert [chunk.choices[0].finish_reason for chunk in chunks[:-1]][-2:] == [None, "stop"]
    assert chunks[-1].choices == []
    assert chunks[-1].usage is not None
    assert chunks[-1].usage.completion_tokens == 2


def test_a_failed_stream_raises_an_error_in_openais_sdk(lenient: openai.OpenAI, fakes: Fakes) -> None:
    fakes.ledger.script = [TextDelta(" a"), End("failed", code="engine_crashed", message="it died", run_ms=5)]
    with pytest.raises(openai.APIError, match="it died"):
        list(lenient.completions.create(model="demo", prompt="Once upon", stream=True))


SCORED_PROMPT: list[Event] = [
    ScoredTextDelta("Once upon", (TokenLogprob("Once", 0.0), TokenLogprob(" upon", -0.5))),
    ScoredTextDelta(" a", (TokenLogprob(" a", -0.25, top=(TokenLogprob(" the", -1.0),)),)),
    End("incomplete", "length", usage=Usage(2, 1)),
]


@pytest.mark.parametrize("stream", [False, True])
def test_first_token_of_an_echoed_prompt_has_no_log_probability(
    http: FlaskClient, fakes: Fakes, stream: bool
) -> None:
    fakes.ledger.script = [*SCORED_PROMPT]
    answer = http.post("/v1/completions", json=ASK | {"echo": True, "logprobs": 1, "stream": stream})
    assert generation_of(fakes).scores_prompt
    if stream:
        chunks = [json.loads(line[6:]) for line in answer.text.splitlines() if line.startswith("data: {")]
        choices = [chunk["choices"][0] for chunk in chunks]
    else:
        choices = answer.get_json()["choices"]
    assert "".join(choice["text"] for choice in choices) == "Once upon a"
    lists = [choice["logprobs"] for choice in choices if choice["logprobs"]]

    def joined(name: str) -> list[Any]:
        return [value for each in lists for value in each[name]]

    assert joined("tokens") == ["Once", " upon", " a"]
    assert joined("token_logprobs") == [None, -0.5, -0.25]
    assert joined("text_offset") == [0, 4, 9]
    assert joined("top_logprobs") == [None, {" upon": -0.5}, {" the": -1.0, " a": -0.25}]


def chunks_of(stream: str) -> list[Any]:
    return [json.loads(line[6:]) for line in stream.split("\n") if line.startswith("data: {")]


@pytest.mark.parametrize("stream", [False, True])
def test_the_answer_to_no_tokens_is_the_prompt(http: FlaskClient, fakes: Fakes, stream: bool) -> None:
    fakes.ledger.script = [End("completed", "stop", usage=Usage(3))]
    body = ASK | {"echo": True, "max_tokens": 0, "stream": stream, "stream_options": {"include_usage": True}}
    answer = http.post("/v1/completions", json=body)
    if stream:
        chunks = chunks_of(answer.get_data(as_text=True))
        text = "".join(choice["text"] for chunk in chunks for choice in chunk["choices"])
        reason, usage = chunks[-2]["choices"][0]["finish_reason"], chunks[-1]["usage"]
    else:
        (choice,), usage = answer.get_json()["choices"], answer.get_json()["usage"]
        text, reason = choice["text"], choice["finish_reason"]
    assert (text, reason) == ("Once upon", "length")
    assert (usage["prompt_tokens"], usage["completion_tokens"], usage["total_tokens"]) == (3, 0, 3)
    assert generation_of(fakes).count_only


@pytest.mark.parametrize("stream", [False, True])
def test_the_answer_to_no_tokens_has_the_log_probabilities_of_the_prompt_alone(
    http: FlaskClient, fakes: Fakes, stream: bool
) -> None:
    scored = [TokenLogprob("Once", 0.0), TokenLogprob(" upon", -0.5)]
    fakes.ledger.script = [
        ScoredTextDelta("Once upon", tuple(scored)),
        ScoredTextDelta(" a", (TokenLogprob(" a", -0.25),)),
        End("incomplete", "length", usage=Usage(2, 1)),
    ]
    body = ASK | {"echo": True, "max_tokens": 0, "logprobs": 0, "stream": stream}
    answer = http.post("/v1/completions", json=body)
    if stream:
        chunks = chunks_of(answer.get_data(as_text=True))
        choices = [choice for chunk in chunks for choice in chunk["choices"]]
        assert "".join(choice["text"] for choice in choices) == "Once upon"
        assert choices[0]["logprobs"]["token_logprobs"] == [None, -0.5]
        assert choices[-1]["finish_reason"] == "length"
    else:
        made = answer.get_json()
        assert made["choices"][0]["text"] == "Once upon"
        assert made["choices"][0]["logprobs"]["tokens"] == ["Once", " upon"]
        assert made["usage"]["completion_tokens"] == 0
    assert generation_of(fakes).sampling.max_tokens == 1


def test_each_of_several_prompts_is_an_answer_of_no_tokens(http: FlaskClient, fakes: Fakes) -> None:
    fakes.ledger.script = [End("completed", "stop", usage=Usage(3))]
    body = {"model": "demo", "prompt": ["a", "b"], "echo": True, "max_tokens": 0}
    made = http.post("/v1/completions", json=body).get_json()
    assert [choice["text"] for choice in made["choices"]] == ["a", "b"]
    assert made["usage"]["completion_tokens"] == 0


@pytest.mark.parametrize(
    ("path", "asked"), [("/v1/completions", ASK), ("/v1/chat/completions", {"model": "demo"})]
)
def test_minus_one_token_is_no_limit(
    http: FlaskClient, fakes: Fakes, path: str, asked: dict[str, Any]
) -> None:
    body = asked | {"max_tokens": -1, "messages": [{"role": "user", "content": "Hi."}]}
    assert http.post(path, json=body).status_code == 200
    assert generation_of(fakes).sampling.max_tokens is None
    for wrong in (-2, 0):
        assert http.post(path, json=body | {"max_tokens": wrong}).json["error"]["param"] == "max_tokens"
