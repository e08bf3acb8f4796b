"""The input of a batch: its form, with the number of each wrong line, in bounded memory."""

from __future__ import annotations

from codecs import BOM_UTF8
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest

from api.batches.lines import MAX_ERRORS, read_lines, validate
from tests.support.batch_lines import CHAT, chat_line, jsonl, result_of

GOOD = chat_line("a", "x", "m")


def problems(tmp_path: Path, content: bytes, kind: str = "openai", max_bytes: int = 10_000) -> list[Any]:
    """Code, line and param of each problem."""
    path = tmp_path / "input"
    path.write_bytes(content)
    _, errors = result_of(validate(path, kind, CHAT, max_bytes))
    assert all(set(error) == {"code", "message", "line", "param"} for error in errors)
    return [(error["code"], error["line"], error["param"]) for error in errors]


@pytest.mark.parametrize(
    ("line", "code", "param"),
    [
        (b"{", "invalid_json_line", None),
        (b"[]", "invalid_json_line", None),
        (b"\xff", "invalid_json_line", None),
        (b"[" * 100 + b"]" * 100, "invalid_json_line", None),
        (b'{"a": NaN}', "invalid_json_line", None),
        ({**GOOD, "custom_id": ""}, "invalid_custom_id", "custom_id"),
        ({**GOOD, "custom_id": 1}, "invalid_custom_id", "custom_id"),
        ({**GOOD, "custom_id": "x" * 513}, "invalid_custom_id", "custom_id"),
        ({**GOOD, "method": "GET"}, "invalid_method", "method"),
        ({**GOOD, "url": "/v1/responses"}, "mismatched_url", "url"),
        ({**GOOD, "body": []}, "invalid_body", "body"),
        ({**GOOD, "body": {"stream": True}}, "unsupported_parameter", "body.stream"),
        ({**GOOD, "body": {"background": True}}, "unsupported_parameter", "body.background"),
    ],
)
def test_a_wrong_line_is_listed_with_its_number_and_the_others_are_not(
    tmp_path: Path, line: Any, code: str, param: str | None
) -> None:
    raw = line + b"\n" if isinstance(line, bytes) else jsonl(line)
    content = jsonl(chat_line("1", "x", "m")) + b"\n  \n" + raw + jsonl(chat_line("2", "x", "m"))
    assert problems(tmp_path, content) == [(code, 4, param)]


def test_a_custom_id_is_given_once(tmp_path: Path) -> None:
    content = jsonl(GOOD, chat_line("b", "x", "m"), GOOD)
    assert problems(tmp_path, content) == [("duplicate_custom_id", 3, "custom_id")]


@pytest.mark.parametrize("content", [b"", b"\n \n"])
def test_an_empty_file_is_refused(tmp_path: Path, content: bytes) -> None:
    assert problems(tmp_path, content) == [("empty_file", None, None)]


def test_a_file_of_wrong_lines_has_a_bounded_number_of_problems(tmp_path: Path) -> None:
    assert len(problems(tmp_path, b"{\n" * 1000)) == MAX_ERRORS


def test_a_file_with_one_line_too_many_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    most = 500
    monkeypatch.setattr("api.batches.lines.MAX_LINES", most)
    content = b"".join(
        b'{"custom_id":"%d","method":"POST","url":"%b","body":{}}\n' % (at, CHAT.encode())
        for at in range(most + 1)
    )
    assert problems(tmp_path, content) == [("too_many_lines", most + 1, None)]
    assert problems(tmp_path, content[: content.rindex(b"{", 0, -20)]) == []


def test_a_file_of_blank_lines_is_refused_when_it_has_too_many(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    most = 500
    monkeypatch.setattr("api.batches.lines.MAX_BLANK_LINES", most)
    path = tmp_path / "input"
    path.write_bytes(jsonl(GOOD) + b"\n" * most)
    assert result_of(validate(path, "openai", CHAT, 10_000)) == (1, [])
    assert problems(tmp_path, jsonl(GOOD) + b" \r\n" * 10_000) == [("too_many_lines", most + 2, None)]
    assert problems(tmp_path, b"\n" * 10_000) == [("too_many_lines", most + 1, None)]


def test_a_line_is_refused_with_its_bound_when_it_is_too_long(tmp_path: Path) -> None:
    path = tmp_path / "input"
    path.write_bytes(jsonl({**GOOD, "body": {"input": "x" * 1000}}, chat_line("b", "x", "m")))
    total, errors = result_of(validate(path, "openai", CHAT, 500))
    assert (total, [error["message"] for error in errors]) == (2, ["the line has more than 500 bytes"])


def test_a_line_of_messages_has_params(tmp_path: Path) -> None:
    line = {"custom_id": "a", "params": {"background": True}}
    assert problems(tmp_path, jsonl(line), "messages") == []
    assert problems(tmp_path, jsonl(GOOD), "messages") == [("invalid_body", 1, "params")]


def test_a_line_that_is_too_long_is_cut_and_the_next_one_is_read() -> None:
    file = BytesIO(b"x" * 35 + b"\n" + b"y\n" + b"z" * 11)
    assert list(read_lines(file, 10)) == [(1, b"x" * 11), (2, b"y"), (3, b"z" * 11)]


def test_each_line_is_a_step_of_the_validation(tmp_path: Path) -> None:
    path = tmp_path / "input"
    path.write_bytes(jsonl(*(chat_line(str(at), "x", "m") for at in range(100))) + b"\n" * 10)
    assert list(validate(path, "openai", CHAT, 1000)) == [True] * 110


def test_a_byte_order_mark_before_the_first_line_is_left_out(tmp_path: Path) -> None:
    assert problems(tmp_path, BOM_UTF8 + jsonl(GOOD)) == []
    second = chat_line("b", "x", "m")
    inside = jsonl(GOOD) + BOM_UTF8 + jsonl(second)
    assert problems(tmp_path, inside) == [("invalid_json_line", 2, None)]
    assert [raw[:1] for _, raw in read_lines(BytesIO(BOM_UTF8 + jsonl(GOOD)), 10_000)] == [b"{"]
