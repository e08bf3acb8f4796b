"""The form of an answer in the fields of vLLM and llama-server: enforced or refused, never ignored."""

from __future__ import annotations

import json
from typing import Any

import pytest
from flask.testing import FlaskClient

from generation.generation import Generation, JsonFormat
from tests.support.api_fakes import Fakes

SCHEMA = {
    "type": "object",
    "properties": {"zq": {"type": "integer"}},
    "required": ["zq"],
    "additionalProperties": False,
}
MESSAGES = [{"role": "user", "content": "Hi."}]
BODIES: dict[str, dict[str, Any]] = {
    "/v1/chat/completions": {"messages": MESSAGES},
    "/v1/completions": {"prompt": "Hi."},
    "/v1/responses": {"input": "Hi."},
    "/v1/messages": {"messages": MESSAGES, "max_tokens": 8},
    "/api/chat": {"messages": MESSAGES, "stream": False},
    "/api/generate": {"prompt": "Hi.", "stream": False},
}


def error_of(body: Any) -> Any:
    """The fields of an error, which Ollama's API has beside its text."""
    return body["error"] if isinstance(body["error"], dict) else body


def format_of(fakes: Fakes) -> JsonFormat | None:
    return Generation.from_json(fakes.ledger.only().generation).output_format


@pytest.mark.parametrize(
    "fields",
    [
        {"guided_json": SCHEMA},
        {"guided_json": json.dumps(SCHEMA)},
        {"json_schema": SCHEMA},
        {"structured_outputs": {"json": SCHEMA}},
        {"structured_outputs": {"json": json.dumps(SCHEMA), "regex": None}},
        {"response_format": {"type": "json_object", "schema": SCHEMA}},
        {"response_format": {"type": "text"}, "guided_json": SCHEMA, "guided_choice": None, "grammar": ""},
    ],
)
def test_a_schema_at_the_top_of_a_chat_is_the_format_of_its_answer(
    http: FlaskClient, fakes: Fakes, fields: dict[str, Any]
) -> None:
    answer = http.post("/v1/chat/completions", json={"model": "demo", "messages": MESSAGES, **fields})
    assert answer.status_code == 200
    asked = format_of(fakes)
    assert asked is not None
    assert asked.schema == SCHEMA


def test_a_json_object_of_responses_fits_its_schema(http: FlaskClient, fakes: Fakes) -> None:
    text = {"format": {"type": "json_object", "schema": SCHEMA}}
    assert http.post("/v1/responses", json={"model": "demo", "input": "Hi.", "text": text}).status_code == 200
    asked = format_of(fakes)
    assert asked is not None
    assert asked.schema == SCHEMA


@pytest.mark.parametrize(
    "fields", [{"structured_outputs": {"json_object": True}}, {"response_format": {"type": "json_object"}}]
)
def test_an_object_without_a_schema_is_any_object(
    http: FlaskClient, fakes: Fakes, fields: dict[str, Any]
) -> None:
    http.post("/v1/chat/completions", json={"model": "demo", "messages": MESSAGES, **fields})
    assert format_of(fakes) == JsonFormat()


@pytest.mark.parametrize("path", BODIES)
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("guided_regex", "a+"),
        ("guided_choice", ["yes", "no"]),
        ("guided_grammar", 'root ::= "a"'),
        ("guided_whitespace_pattern", " ?"),
        ("grammar", 'root ::= "a"'),
        ("regex", "a+"),
        ("ebnf", 'root ::= "a"'),
        ("structural_tag", {"type": "structural_tag"}),
    ],
)
def test_another_constraint_is_refused_by_its_name(
    http: FlaskClient, fakes: Fakes, path: str, name: str, value: object
) -> None:
    answer = http.post(path, json={"model": "demo", **BODIES[path], name: value})
    error = error_of(answer.json)
    assert (answer.status_code, error["code"], error["param"]) == (400, "unsupported_parameter", name)
    assert not fakes.ledger.jobs


@pytest.mark.parametrize("path", [path for path in BODIES if path != "/v1/chat/completions"])
@pytest.mark.parametrize(
    ("name", "value"),
    [("guided_json", SCHEMA), ("json_schema", SCHEMA), ("structured_outputs", {"json": SCHEMA})],
)
def test_a_schema_is_refused_where_it_cannot_be_enforced(
    http: FlaskClient, path: str, name: str, value: object
) -> None:
    error = error_of(http.post(path, json={"model": "demo", **BODIES[path], name: value}).json)
    assert (error["code"], error["param"]) == ("unsupported_parameter", name)


def test_completions_refuse_a_response_format_but_text(http: FlaskClient) -> None:
    body = {"model": "demo", "prompt": "Hi."}
    wanted = {"response_format": {"type": "json_object"}}
    assert http.post("/v1/completions", json=body | wanted).json["error"]["param"] == "response_format"
    assert http.post("/v1/completions", json=body | {"response_format": {"type": "text"}}).status_code == 200


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"guided_json": "{"}, "guided_json"),
        ({"guided_json": "[1]"}, "guided_json"),
        ({"guided_json": 7}, "guided_json"),
        ({"guided_json": {"type": "object", "uniqueItems": True}}, "guided_json.uniqueItems"),
        ({"structured_outputs": {"regex": "a"}}, "structured_outputs.regex"),
        ({"structured_outputs": {"choice": ["a"]}}, "structured_outputs.choice"),
        ({"structured_outputs": {"grammar": "a"}}, "structured_outputs.grammar"),
        ({"structured_outputs": {"json": SCHEMA}, "guided_json": SCHEMA}, "guided_json"),
        ({"response_format": {"type": "json_object"}, "json_schema": SCHEMA}, "json_schema"),
        ({"response_format": {"type": "json_object", "schema": 7}}, "response_format.schema"),
    ],
)
def test_a_constraint_that_cannot_be_enforced_is_refused_with_its_path(
    http: FlaskClient, fakes: Fakes, fields: dict[str, Any], param: str
) -> None:
    answer = http.post("/v1/chat/completions", json={"model": "demo", "messages": MESSAGES, **fields})
    assert (answer.status_code, answer.json["error"]["param"]) == (400, param)
    assert not fakes.ledger.jobs


@pytest.mark.parametrize("empty", [None, "", [], {}, False])
@pytest.mark.parametrize("path", BODIES)
def test_empty_values_constrain_nothing(http: FlaskClient, fakes: Fakes, path: str, empty: object) -> None:
    names = ("guided_regex", "guided_choice", "guided_grammar", "grammar", "regex", "ebnf")
    assert (
        http.post(path, json={"model": "demo", **BODIES[path], **dict.fromkeys(names, empty)}).status_code
        == 200
    )
    assert format_of(fakes) is None
