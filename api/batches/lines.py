"""The lines of a batch's input: one JSON object each, with the request of that line.

A line is checked in two steps. Its form is checked before the batch begins, for all lines; the request in it
when its turn comes, so that a wrong one is the outcome of this line alone.
"""

from __future__ import annotations

import hashlib
from codecs import BOM_UTF8
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

from api.batches.record import MESSAGES
from api.http.errors import ApiError
from api.http.request_body import parse_json

Result = TypeVar("Result")

MAX_LINES = 50_000
MAX_ID_CHARS = 512
MAX_ERRORS = 100
"""The most problems of a file that are listed."""

MAX_BLANK_LINES = 50_000
"""Each takes time to read, and a file has room for half a billion of them."""

Steps = Generator[bool, None, Result]
"""Work done a step at a time: it yields after each, False if the next one has to wait for something."""


@dataclass(frozen=True, slots=True)
class Line:
    """A line of the input; `number` counts from 1."""

    number: int
    custom_id: str
    body: dict[str, Any]


class InvalidLine(Exception):
    """Raised for a line that is not one of a batch."""

    def __init__(self, code: str, message: str, param: str | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.param = param


def read_lines(file: BinaryIO, max_bytes: int) -> Iterator[tuple[int, bytes]]:
    """The lines without white space around them, with their numbers from 1; a blank one is empty.

    One that is too long is cut after `max_bytes` and one more. At most one line is in memory. A byte order
    mark before the first line, as Windows' tools write it, is left out.
    """
    number = 0
    while raw := file.readline(max_bytes + 1):
        number += 1
        text = (raw.removeprefix(BOM_UTF8) if number == 1 else raw).strip()
        while raw and not raw.endswith(b"\n"):
            raw = file.readline(max_bytes + 1)
        yield number, text


def parse_line(number: int, raw: bytes, kind: str, endpoint: str) -> Line:
    """The line of a text. Raises `InvalidLine`."""
    try:
        value = parse_json(raw)
    except ApiError as error:
        raise InvalidLine("invalid_json_line", error.message.replace("the body", "the line")) from None
    if type(value) is not dict:
        raise InvalidLine("invalid_json_line", "the line is not a JSON object")
    custom_id = value.get("custom_id")
    if type(custom_id) is not str or not 1 <= len(custom_id) <= MAX_ID_CHARS:
        raise InvalidLine(
            "invalid_custom_id", f"must be a string of 1 to {MAX_ID_CHARS} characters", "custom_id"
        )
    name = "params" if kind == MESSAGES else "body"
    if kind != MESSAGES:
        if value.get("method") != "POST":
            raise InvalidLine("invalid_method", "must be POST", "method")
        if value.get("url") != endpoint:
            raise InvalidLine("mismatched_url", f"must be {endpoint}, the batch's endpoint", "url")
    body = value.get(name)
    if type(body) is not dict:
        raise InvalidLine("invalid_body", "must be an object", name)
    for field in ("stream",) if kind == MESSAGES else ("stream", "background"):
        if body.get(field):
            raise InvalidLine("unsupported_parameter", "is not supported in a batch", f"{name}.{field}")
    return Line(number, custom_id, body)


def validate(path: Path, kind: str, endpoint: str, max_bytes: int) -> Steps[tuple[int, list[dict[str, Any]]]]:
    """How many lines a file has, and its problems in the form of OpenAI's `errors.data`, in steps of a line.

    What is in memory grows by 50 bytes for each line.
    """
    seen: set[bytes] = set()
    total, blank, errors = 0, 0, list[dict[str, Any]]()

    def problem(code: str, message: str, number: int | None = None, param: str | None = None) -> None:
        errors.append({"code": code, "message": message, "line": number, "param": param})

    with path.open("rb") as file:
        for number, raw in read_lines(file, max_bytes):
            yield True
            if not raw:
                blank += 1
                if blank > MAX_BLANK_LINES:
                    message = f"the file has more than {MAX_BLANK_LINES} blank lines"
                    problem("too_many_lines", message, number)
                    break
                continue
            total += 1
            if total > MAX_LINES:
                problem("too_many_lines", f"the file has more than {MAX_LINES} lines", number)
                break
            if len(errors) >= MAX_ERRORS:
                break
            if len(raw) > max_bytes:
                problem("invalid_json_line", f"the line has more than {max_bytes} bytes", number)
                continue
            try:
                line = parse_line(number, raw, kind, endpoint)
            except InvalidLine as error:
                problem(error.code, error.message, number, error.param)
                continue
            digest = hashlib.sha256(line.custom_id.encode("utf-8", "surrogatepass")).digest()[:16]
            if digest in seen:
                problem("duplicate_custom_id", "an earlier line has the same custom_id", number, "custom_id")
            seen.add(digest)
    if not total and not errors:
        problem("empty_file", "the file has no lines")
    return total, errors
