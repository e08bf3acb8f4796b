"""/tokenize, /detokenize and /apply-template: what a request becomes, what it answers, and who is refused."""

from __future__ import annotations

from dataclasses import replace

import pytest
from flask.testing import FlaskClient

from api.http.errors import InvalidRequest
from api.inference.llama_server.text_dialect import MAX_TEXT_BYTES, TOKENIZE
from api.inference.llama_server.text_schema import MAX_TOKENS
from config.settings import ModelDefinition, Settings
from generation.generation import Generation, TextTask
from streams.events import End, TextDelta, TokensDelta, Usage
from tests.support.api_fakes import Fakes

END = End("completed", "stop", usage=Usage())
MESSAGES = [{"role": "user", "content": "Hi"}]


@pytest.fixture
def settings(settings: Settings) -> Settings:
    models = {
        **settings.models,
        "vectors": ModelDefinition("vectors", "stub", options={"stub_dimensions": 8}),
        "elsewhere": ModelDefinition("elsewhere", "openai_remote"),
    }
    return replace(settings, models=models)


def test_the_tokens_of_a_text_are_a_job_that_computes_nothing(http: FlaskClient, fakes: Fakes) -> None:
    fakes.ledger.script = [TokensDelta(b"1,2"), TokensDelta(b'{"id":3,"piece":[195]}'), END]
    body = {"model": "demo", "content": "a <|im_end|>", "with_pieces": True}
    answer = http.post("/tokenize", json=body)
    assert answer.get_json() == {"tokens": [1, 2, {"id": 3, "piece": [195]}]}
    job = fakes.ledger.only()
    task = TextTask("tokenize", ("a <|im_end|>",), parse_special=True, with_pieces=True)
    assert Generation.from_json(job.generation).text_task == task
    assert (job.cost, job.store, job.detached) == (1, False, False)
    assert job.limits is None or job.limits.token_limit is None


def test_control_tokens_and_tokens_in_a_text_are_parsed_when_asked(http: FlaskClient, fakes: Fakes) -> None:
    fakes.ledger.script = [END]
    body = {"model": "demo", "content": ["a", 7, "b"], "add_special": True, "parse_special": True}
    assert http.post("/tokenize", json=body).get_json() == {"tokens": []}
    generation = Generation.from_json(fakes.ledger.only().generation)
    assert generation.text_task == TextTask("tokenize", ("a", 7, "b"), add_special=True, parse_special=True)


def test_the_text_of_tokens_is_answered(http: FlaskClient, fakes: Fakes) -> None:
    fakes.ledger.script = [TextDelta("a"), TextDelta("b"), END]
    answer = http.post("/detokenize", json={"model": "demo", "tokens": [1, 2]})
    assert answer.get_json() == {"content": "ab"}
    assert Generation.from_json(fakes.ledger.only().generation).text_task == TextTask("detokenize", (1, 2))


def test_a_conversation_becomes_a_prompt(http: FlaskClient, fakes: Fakes) -> None:
    fakes.ledger.script = [TextDelta("user: Hi"), END]
    tool = {"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}
    body = {
        "model": "demo",
        "messages": MESSAGES,
        "tools": [tool],
        "response_format": {"type": "json_object"},
    }
    body["chat_template_kwargs"] = {"enable_thinking": False, "chat_template": "{{ 1 }}"}
    assert http.post("/apply-template", json=body).get_json() == {"prompt": "user: Hi"}
    generation = Generation.from_json(fakes.ledger.only().generation)
    assert generation.text_task == TextTask("template")
    assert (generation.messages[0].text, generation.tools[0].name) == ("Hi", "f")
    assert (generation.thinking, generation.output_format) in (("disabled", None), ("default", None))


@pytest.mark.parametrize(
    ("path", "body", "param"),
    [
        ("/tokenize", {"content": 5}, "content"),
        ("/tokenize", {"content": ["a", -1]}, "content[1]"),
        ("/tokenize", {"content": ["a"] * 4097}, "content"),
        ("/detokenize", {"tokens": "ab"}, "tokens"),
        ("/detokenize", {"tokens": [0] * (MAX_TOKENS + 1)}, "tokens"),
        ("/detokenize", {"tokens": [2**31]}, "tokens[0]"),
        ("/apply-template", {}, "messages"),
    ],
)
def test_a_body_out_of_bounds_is_refused(
    http: FlaskClient, fakes: Fakes, path: str, body: dict[str, object], param: str
) -> None:
    answer = http.post(path, json={"model": "demo", **body})
    error = answer.get_json()["error"]
    assert (answer.status_code, error["code"], error["type"]) == (400, 400, "invalid_request_error")
    assert param in error["message"]
    assert not fakes.ledger.jobs


def test_a_prompt_without_the_begin_of_an_answer_is_not_supported(http: FlaskClient) -> None:
    body = {"model": "demo", "messages": MESSAGES, "add_generation_prompt": False}
    answer = http.post("/apply-template", json=body)
    assert (answer.status_code, answer.get_json()["error"]["type"]) == (501, "not_supported_error")
    assert "add_generation_prompt" in answer.get_json()["error"]["message"]


def test_a_text_of_more_than_a_mebibyte_is_refused() -> None:
    text = "\u00e9" * (MAX_TEXT_BYTES // 2)
    plain = {"model": "demo", "parse_special": False}
    TOKENIZE.parse({**plain, "content": text})
    with pytest.raises(InvalidRequest, match="content has more than"):
        TOKENIZE.parse({**plain, "content": [text, "a"]})
    with pytest.raises(InvalidRequest, match=r"content has more than.*`parse_special: false`"):
        TOKENIZE.parse({"model": "demo", "content": text[: MAX_TEXT_BYTES // 4]})


def test_an_image_has_no_place_in_a_prompt(http: FlaskClient, fakes: Fakes) -> None:
    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}
    body = {"model": "demo", "messages": [{"role": "user", "content": [picture]}]}
    answer = http.post("/apply-template", json=body)
    assert answer.status_code == 400
    assert not fakes.ledger.jobs


@pytest.mark.parametrize("model", ["org/plain", "vectors", "elsewhere"])
@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/tokenize", {"content": "a"}),
        ("/detokenize", {"tokens": [1]}),
        ("/apply-template", {"messages": MESSAGES}),
    ],
)
def test_a_model_whose_engine_cannot_is_answered_with_501(
    http: FlaskClient, model: str, path: str, body: dict[str, object]
) -> None:
    answer = http.post(path, json={"model": model, **body})
    error = answer.get_json()["error"]
    assert (answer.status_code, error["code"], error["type"]) == (501, 501, "not_supported_error")


def test_a_request_without_a_model_is_refused_where_there_are_several(http: FlaskClient) -> None:
    answer = http.post("/tokenize", json={"content": "a"})
    assert answer.status_code == 400
    assert answer.get_json()["error"]["message"] == "model name is missing from the request"
