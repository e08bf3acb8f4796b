"""Parses JSON that is signed: a text that two parsers could read differently is refused.

Refused are duplicate keys, NaN and infinities, lone surrogates, other encodings than UTF-8, integers of more
than 64 bits, and fractions where `fractions` is False. The size and the depth are bounded before anything is
parsed: Python's parser recurses, and its recursion error would be no error of the caller.
"""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass
from typing import Any, NoReturn

MAX_BYTES = 16 * 1024
MAX_DEPTH = 8
"""Of an opToken: its deepest value is an item of a list of the opToken or of the signatures."""

MAX_INTEGER_CHARS = 20

STRING = re.compile(r'"(?:[^"\\]++|\\.)*+"?', re.DOTALL)
"""A string, or the beginning of one that has no end: from each quotation mark there is a match without a
second try, so that the time grows with the length of the text only."""

BRACKETS = re.compile(r"[\[\]{}]")
SPACE = re.compile(r"[ \t\n\r]*")


class InvalidJson(ValueError):
    """Raised for a text that is refused; the text of the error says why, without repeating the input."""


@dataclass(frozen=True, slots=True)
class Member:
    """A member of an object: its value, and the bytes of the value as they were received."""

    value: Any
    source: bytes


def parse(
    data: bytes, *, max_bytes: int = MAX_BYTES, max_depth: int = MAX_DEPTH, fractions: bool = False
) -> Any:
    """The value of a JSON text. Raises `InvalidJson`."""
    text = _checked_text(data, max_bytes, max_depth)
    value, end = _value_at(_decoder(fractions), text, _after_space(text, 0))
    _check_end(text, end)
    return value


def parse_members(
    data: bytes, *, max_bytes: int = MAX_BYTES, max_depth: int = MAX_DEPTH
) -> dict[str, Member]:
    """The members of a JSON object without fractions, each with its source. Raises `InvalidJson`."""
    text = _checked_text(data, max_bytes, max_depth)
    decoder = _decoder(fractions=False)
    position = _expect(text, _after_space(text, 0), "{")
    members: dict[str, Member] = {}
    if text[position : position + 1] == "}":
        _check_end(text, position + 1)
        return members
    while True:
        key, position = _value_at(decoder, text, position)
        if not isinstance(key, str):
            raise InvalidJson("a key is not a string")
        if key in members:
            raise InvalidJson("a key appears twice in one object")
        start = _expect(text, _after_space(text, position), ":")
        value, position = _value_at(decoder, text, start)
        members[key] = Member(value, text[start:position].encode())
        position = _after_space(text, position)
        if text[position : position + 1] == "}":
            _check_end(text, position + 1)
            return members
        position = _expect(text, position, ",")


def _checked_text(data: bytes, max_bytes: int, max_depth: int) -> str:
    if len(data) > max_bytes:
        raise InvalidJson(f"more than {max_bytes} bytes")
    try:
        text = data.decode("utf-8")  # refuses encoded surrogates and overlong forms
    except UnicodeDecodeError:
        raise InvalidJson("not UTF-8") from None
    depth = deepest = 0
    for bracket in BRACKETS.findall(STRING.sub("", text)):
        depth += 1 if bracket in "[{" else -1
        deepest = max(deepest, depth)
    if deepest > max_depth:
        raise InvalidJson(f"nested deeper than {max_depth} levels")
    return text


def _decoder(fractions: bool) -> json.JSONDecoder:
    return json.JSONDecoder(
        object_pairs_hook=_object,
        parse_constant=_refuse_constant,
        parse_int=_integer,
        parse_float=_fraction if fractions else _refuse_fraction,
    )


def _value_at(decoder: json.JSONDecoder, text: str, position: int) -> tuple[Any, int]:
    try:
        value, end = decoder.raw_decode(text, position)
    except json.JSONDecodeError as error:
        raise InvalidJson(f"not valid JSON at character {error.pos}") from None
    # an escape may have made a lone surrogate, which is no text and has no encoding
    if "\\u" in text[position:end] and _has_surrogate(value):
        raise InvalidJson("a lone surrogate")
    return value, end


def _after_space(text: str, position: int) -> int:
    found = SPACE.match(text, position)
    return position if found is None else found.end()


def _expect(text: str, position: int, char: str) -> int:
    """The position after the char and the space that follows it."""
    if text[position : position + 1] != char:
        raise InvalidJson(f"no {char} at character {position}")
    return _after_space(text, position + 1)


def _check_end(text: str, position: int) -> None:
    if _after_space(text, position) != len(text):
        raise InvalidJson(f"unexpected text at character {position}")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) != len(pairs):
        raise InvalidJson("a key appears twice in one object")
    return result


def _integer(digits: str) -> int:
    if len(digits) > MAX_INTEGER_CHARS or not -(2**63) <= int(digits) < 2**64:
        raise InvalidJson("an integer of more than 64 bits")
    return int(digits)


def _fraction(digits: str) -> float:
    value = float(digits)
    if not math.isfinite(value):
        raise InvalidJson("a number that is too large")
    return value


def _refuse_fraction(_digits: str) -> NoReturn:
    raise InvalidJson("a number that is not an integer")


def _refuse_constant(_name: str) -> NoReturn:
    raise InvalidJson("NaN or an infinity")


def _has_surrogate(value: Any) -> bool:
    if isinstance(value, str):
        return any("\ud800" <= char <= "\udfff" for char in value)
    if isinstance(value, dict):
        return any(_has_surrogate(key) or _has_surrogate(item) for key, item in value.items())
    return isinstance(value, list) and any(map(_has_surrogate, value))
