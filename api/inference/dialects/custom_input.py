"""The input of a call of a custom tool: a text, which the model writes as the argument of a function.

The arguments are a JSON text, `{"input": "..."}`, and come in pieces. The input is read from them piece by
piece, so that it can be streamed.
"""

from __future__ import annotations

import re

import orjson

INPUT = "input"
"""The name of the argument."""

SCHEMA = {
    "type": "object",
    "properties": {INPUT: {"type": "string"}},
    "required": [INPUT],
    "additionalProperties": False,
}
"""The parameters of the function that stands for a custom tool."""

MAX_BEGINNING = 256
"""Characters within which the input begins, or it is read when all pieces are there."""

_BEGINNING = re.compile(rf'\s*{{\s*"{INPUT}"\s*:\s*"')
_SPECIAL = re.compile(r'["\\]')
_ESCAPE = re.compile(
    r"""\\(?:["\\/bfnrt]|u(?:[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|[0-9a-fA-F]{4}))"""
)
_CUT_ESCAPE = re.compile(r"\\(?:u[0-9a-fA-F]{0,3}|u[dD][89abAB][0-9a-fA-F]{2}(?:\\(?:u[0-9a-fA-F]{0,3})?)?)?")


def arguments_of(text: str) -> str:
    """The arguments of a call with this input."""
    return orjson.dumps({INPUT: text}).decode()


def input_of(arguments: str) -> str:
    """The input of a call with these arguments, which may be cut off; if they hold none, they are it."""
    reader = CustomInput()
    return reader.add(arguments) + reader.finish()


class CustomInput:
    """Reads the input of one call. What `add` and then `finish` return is the whole input."""

    def __init__(self) -> None:
        self._pieces: list[str] = []  # all of them, until the input begins
        self._length = 0  # characters of them
        self._unread: str | None = None  # the rest of an escape, once the input has begun

    def add(self, piece: str) -> str:
        """Add a piece of the arguments. Returns what of the input it has completed."""
        if self._unread is not None:
            return self._read(self._unread + piece)
        is_late = self._length >= MAX_BEGINNING
        self._pieces.append(piece)
        self._length += len(piece)
        if is_late:
            return ""
        arguments = "".join(self._pieces)
        beginning = _BEGINNING.match(arguments, 0, MAX_BEGINNING)
        return "" if beginning is None else self._read(arguments[beginning.end() :])

    def _read(self, text: str) -> str:
        """Read to the end of the string, or to an escape that is not complete."""
        found: list[str] = []
        at = 0
        while at < len(text) and text[at] != '"':
            if text[at] != "\\":
                end = _find_special(text, at)
                found.append(text[at:end])
            elif _CUT_ESCAPE.fullmatch(text, at) is not None:
                break  # the rest of it may come
            elif (escape := _ESCAPE.match(text, at)) is not None:
                end = escape.end()
                found.append(_unescaped(escape[0]))
            else:  # no escape of JSON
                end = at + 1
                found.append("\\")
            at = end
        self._unread = text[at:]
        if self._unread.startswith('"'):
            self._unread = '"'  # what follows the end is of no interest
        return "".join(found)

    def finish(self) -> str:
        """The rest of the input, once there are no more pieces."""
        if self._unread is not None:
            return ""
        arguments = "".join(self._pieces)
        try:
            whole = orjson.loads(arguments)
        except orjson.JSONDecodeError:
            return arguments
        found = whole.get(INPUT) if isinstance(whole, dict) else whole
        return found if isinstance(found, str) else arguments


def _find_special(text: str, start: int) -> int:
    """The place of the next quotation mark or backslash; the end without one."""
    found = _SPECIAL.search(text, start)
    return len(text) if found is None else found.start()


def _unescaped(escape: str) -> str:
    try:
        text: str = orjson.loads(f'"{escape}"')
    except orjson.JSONDecodeError:  # half of a pair
        return "\ufffd"
    return text
