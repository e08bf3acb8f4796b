"""Valid JSON bodies are read, and no other body causes an internal error."""

from __future__ import annotations

import json

import orjson
import pytest
from flask.testing import FlaskClient
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from api.http.errors import ApiError
from api.http.request_body import _SLICE_BYTES, MAX_DEPTH, MAX_VALUES, parse_json

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=12,
)
FIELDS = [
    "model",
    "input",
    "messages",
    "instructions",
    "stream",
    "background",
    "store",
    "max_output_tokens",
    "temperature",
    "top_p",
    "metadata",
    "tools",
    "tool_choice",
    "text",
    "reasoning",
    "thinking",
    "truncation",
    "stop",
    "n",
    "seed",
    "stream_options",
    "max_tokens",
    "response_format",
]


def nested(levels: int, kind: str = "[]") -> bytes:
    if kind == "[]":
        return b"[" * levels + b"]" * levels
    return b'{"a":' * levels + b"1" + b"}" * levels


@pytest.mark.parametrize("kind", ["[]", "{}"])
def test_nesting_is_bounded(kind: str) -> None:
    parse_json(nested(MAX_DEPTH, kind))
    for levels in (MAX_DEPTH + 1, 500, 1100, 100_000):
        with pytest.raises(ApiError) as caught:
            parse_json(nested(levels, kind))
        assert caught.value.code == "invalid_json"


def test_brackets_in_strings_do_not_count() -> None:
    text = '[[{{"\\' * 100
    assert parse_json(orjson.dumps([text, {text: text}, [[]] * 100])) == [text, {text: text}, [[]] * 100]


@pytest.mark.parametrize("item", [b"[]", b"{}", b"1", b'"\\\\"', b'{"a":"\\""}'])
def test_a_body_with_too_many_values_is_refused_before_it_is_parsed(
    item: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("api.http.request_body.orjson.loads", lambda _: pytest.fail("the body was parsed"))
    for body in (b"[" + b",".join([item] * (MAX_VALUES + 1)) + b"]", b"[" * 8_000_000):
        with pytest.raises(ApiError) as caught:
            parse_json(body)
        assert (caught.value.code, caught.value.message) == (
            "invalid_json",
            f"the body has more than {MAX_VALUES} values",
        )


@pytest.mark.parametrize("text", ["[{,", '\\"[,', "\\\\,", '"'])
def test_text_in_strings_does_not_count_as_values(text: str) -> None:
    """Shifted by one byte each time, so that a slice ends at each byte of an escape."""
    for shift in range(4):
        value = [text * MAX_VALUES, "x" * (_SLICE_BYTES - shift) + text * 3, 1, [], {text: text}]
        assert parse_json(orjson.dumps(value)) == value


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"NaN",
        b"[Infinity]",
        b"1e400",
        b'"\\ud800"',
        b"\xff\xfe{\x00}\x00",
        b"\xef\xbb\xbf",
        b"\xef\xbb\xbf\xef\xbb\xbf{}",
        b"{}\xef\xbb\xbf",
        b'"\x00"',
    ],
)
def test_invalid_json_is_refused_without_the_parsers_message(body: bytes) -> None:
    with pytest.raises(ApiError) as caught:
        parse_json(body)
    assert caught.value.code == "invalid_json"
    assert caught.value.message.startswith("the body is not valid JSON, at character")


def test_a_byte_order_mark_before_the_body_is_skipped(http: FlaskClient) -> None:
    body = b'\xef\xbb\xbf{"model": "demo", "input": "x"}'
    assert http.post("/v1/responses", data=body, content_type="application/json").status_code == 200


@given(values)
def test_json_is_read_exactly_or_refused(value: object) -> None:
    try:
        body = json.dumps(value).encode()
        parsed = parse_json(body)
    except ApiError:
        return
    assert parsed == json.loads(body) or "e+" in str(parsed)  # integers over 64 bits become floats


@hypothesis_settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=150)
@given(st.dictionaries(st.sampled_from(FIELDS), values), st.sampled_from(["responses", "chat/completions"]))
def test_no_body_causes_an_internal_error(http: FlaskClient, body: dict[str, object], path: str) -> None:
    full = {"model": "demo", "input": "x", **body} if path == "responses" else {"model": "demo", **body}
    answer = http.post(f"/v1/{path}", data=json.dumps(full), content_type="application/json")
    assert answer.status_code in (200, 400, 404)


def test_the_content_type_has_to_be_json(http: FlaskClient) -> None:
    answer = http.post("/v1/responses", data=b"model=demo", content_type="application/x-www-form-urlencoded")
    assert (answer.status_code, answer.json["error"]["code"]) == (415, "unsupported_media_type")
    body = b'{"model": "demo", "input": "x"}'
    assert http.post("/v1/responses", data=body, content_type="application/vnd.x+json").status_code == 200
    assert (
        http.post("/v1/responses", data=body, content_type="application/json; charset=utf-8").status_code
        == 200
    )


def test_a_body_that_is_too_large_is_413(http: FlaskClient) -> None:
    answer = http.post("/v1/responses", json={"model": "demo", "input": "x" * 1_000_001})
    assert (answer.status_code, answer.json["error"]["code"]) == (413, "request_too_large")


def test_a_body_that_is_not_an_object_is_refused(http: FlaskClient) -> None:
    answer = http.post("/v1/responses", json=[1])
    assert answer.status_code == 400
    assert answer.json["error"]["message"] == "the body must be an object"
    assert answer.json["error"]["param"] is None
