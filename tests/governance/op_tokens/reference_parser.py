"""A slow parser of JSON for the reference verifier: one function for each rule of RFC 8259's grammar."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


class Bad(Exception):
    """The text is refused."""


@dataclass
class Parsed:
    """A value, and where it stands in the text."""

    value: Any
    begin: int
    end: int
    members: dict[str, Parsed] | None = None


ESCAPES = {'"': '"', "\\": "\\", "/": "/", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
MAX_DEPTH = 8


def parse(data: bytes) -> Parsed:
    """The value of a text of at most 16 KiB."""
    if len(data) > 16384:
        raise Bad
    try:
        text = data.decode("utf-8", "strict")
    except UnicodeDecodeError:
        raise Bad from None
    parsed = _value(text, _space(text, 0), 0)
    if _space(text, parsed.end) != len(text):
        raise Bad
    return parsed


def _at(text: str, position: int) -> str:
    return text[position] if position < len(text) else ""


def _space(text: str, position: int) -> int:
    while _at(text, position) in (" ", "\t", "\n", "\r"):
        position += 1
    return position


def _value(text: str, position: int, depth: int) -> Parsed:
    char = _at(text, position)
    if char == "{":
        return _object(text, position, depth + 1)
    if char == "[":
        return _array(text, position, depth + 1)
    if char == '"':
        return _string(text, position)
    for word, value in (("true", True), ("false", False), ("null", None)):
        if text[position : position + len(word)] == word:
            return Parsed(value, position, position + len(word))
    return _integer(text, position)


def _object(text: str, position: int, depth: int) -> Parsed:
    if depth > MAX_DEPTH:
        raise Bad
    begin, members = position, dict[str, Parsed]()
    position = _space(text, position + 1)
    while _at(text, position) != "}":
        key = _string(text, position)
        position = _space(text, key.end)
        if _at(text, position) != ":" or key.value in members:
            raise Bad
        item = _value(text, _space(text, position + 1), depth)
        members[key.value] = item
        position = _space(text, item.end)
        if _at(text, position) == ",":
            position = _space(text, position + 1)
            if _at(text, position) != '"':
                raise Bad
        elif _at(text, position) != "}":
            raise Bad
    return Parsed({key: item.value for key, item in members.items()}, begin, position + 1, members)


def _array(text: str, position: int, depth: int) -> Parsed:
    if depth > MAX_DEPTH:
        raise Bad
    begin, items = position, list[Any]()
    position = _space(text, position + 1)
    while _at(text, position) != "]":
        item = _value(text, position, depth)
        items.append(item.value)
        position = _space(text, item.end)
        if _at(text, position) == ",":
            position = _space(text, position + 1)
            if _at(text, position) == "]":
                raise Bad
        elif _at(text, position) != "]":
            raise Bad
    return Parsed(items, begin, position + 1)


def _string(text: str, position: int) -> Parsed:
    if _at(text, position) != '"':
        raise Bad
    begin, units = position, list[int]()  # UTF-16 code units
    position += 1
    while (char := _at(text, position)) != '"':
        if char == "" or char < " ":
            raise Bad
        if char == "\\":
            escape = _at(text, position + 1)
            if escape == "u":
                digits = text[position + 2 : position + 6]
                if len(digits) < 4 or not set(digits) <= set("0123456789abcdefABCDEF"):
                    raise Bad
                units.append(int(digits, 16))
                position += 6
                continue
            if escape == "" or escape not in ESCAPES:
                raise Bad
            char, position = ESCAPES[escape], position + 1
        encoded = char.encode("utf-16-be")
        units += [int.from_bytes(encoded[at : at + 2], "big") for at in range(0, len(encoded), 2)]
        position += 1
    try:
        value = b"".join(unit.to_bytes(2, "big") for unit in units).decode("utf-16-be", "strict")
    except UnicodeDecodeError:
        raise Bad from None  # a lone surrogate
    return Parsed(value, begin, position + 1)


def _integer(text: str, position: int) -> Parsed:
    begin = position
    if _at(text, position) == "-":
        position += 1
    first = position
    while "0" <= _at(text, position) <= "9":
        position += 1
    digits = text[first:position]
    if digits == "" or (digits[0] == "0" and digits != "0") or _at(text, position) in (".", "e", "E"):
        raise Bad
    if position - begin > 20 or not -(2**63) <= int(text[begin:position]) < 2**64:
        raise Bad
    return Parsed(int(text[begin:position]), begin, position)
