"""Keeps special tokens in the texts of a request apart from those of the chat template.

A template writes special tokens (`<|im_start|>`) and the texts of clients into one prompt. A text that spells
such a token must not become one: it could end its message and begin one of another role. So the texts are
marked before the template is rendered, with a character that Unicode reserves for such uses within each
special token, and the tokenizer gets the marked ones as parts of their own, to be tokenized as text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

MARK = "\ufdd0"
"""A noncharacter (Unicode, section 23.7). It stands behind the first character of each marked token."""

INVISIBLE_MARK = "\u200b"
"""A zero-width space: the mark in prompts that a server tokenizes as a whole, where it stays in the text."""

IMAGE = re.compile(r"data:image/[a-z0-9.+-]+;base64,[A-Za-z0-9+/=\s]*")
"""The URL of an image, which is no text."""

AUDIO = re.compile(r"(?:UklGR|SUQz|//)[A-Za-z0-9+/=]*")
"""A recording in base64, a WAV or an MP3 file, which is no text."""

TEXT_FIELDS = ("messages", "tools")
"""The fields of a request whose texts are the client's."""

AUDIO_FIELDS = {"data", "format"}
"""The fields of the recording in an audio part."""

Tree = dict[str, Any]


class LiteralText:
    """The special tokens of one model, by their texts; `mark` is what stands within the marked ones."""

    def __init__(self, tokens: Iterable[str], mark: str = MARK) -> None:
        known = {token for token in tokens if token}
        self._mark = mark
        self._found = _any_of(known)
        self._marked = _any_of({token[0] + mark + token[1:] for token in known})

    def marked(self, body: Mapping[str, Any]) -> Mapping[str, Any]:
        """The body of a chat completion with each special token in its texts marked."""
        if self._found is None:
            return body
        return {key: self._in(value) if key in TEXT_FIELDS else value for key, value in body.items()}

    def marked_text(self, text: str) -> str:
        """The text with each special token marked."""
        return text if self._found is None else self._in_text(text)

    def parts(self, prompt: str) -> list[tuple[str, bool]]:
        """The parts of a rendered prompt, each with whether it is text alone, without special tokens."""
        if self._marked is None or self._mark not in prompt:
            return [(prompt, False)]
        parts: list[tuple[str, bool]] = []
        end = 0
        for found in self._marked.finditer(prompt):
            parts += [(prompt[end : found.start()], False), (found[0].replace(self._mark, "", 1), True)]
            end = found.end()
        parts.append((prompt[end:], False))
        return [part for part in parts if part[0]]

    def _in(self, value: Any) -> Any:
        if isinstance(value, str):
            return self._in_text(value)
        if isinstance(value, list):
            return [self._in(item) for item in value]
        if isinstance(value, Mapping):
            if value.keys() == AUDIO_FIELDS and AUDIO.fullmatch(str(value["data"])):
                return value
            return {self._in(key): self._in(item) for key, item in value.items()}
        return value

    def _in_text(self, text: str) -> str:
        assert self._found is not None  # noqa: S101 - `marked` has checked it
        if text.startswith("data:image/") and IMAGE.fullmatch(text):
            return text
        mark = self._mark
        return self._found.sub(lambda found: found[0][0] + mark + found[0][1:], text)


def _any_of(texts: Iterable[str]) -> re.Pattern[str] | None:
    """An expression for the longest of these texts, which reads each character once; None without texts.

    A list of thousands of alternatives would be tried one by one at each character.
    """
    root: Tree = {}
    for text in texts:
        node = root
        for character in text:
            node = node.setdefault(character, {})
        node[""] = {}
    return re.compile(_expression(root)) if root else None


def _expression(node: Tree) -> str:
    prefix = ""
    while len(node) == 1 and "" not in node:
        ((character, node),) = node.items()
        prefix += re.escape(character)
    branches = [re.escape(character) + _expression(rest) for character, rest in node.items() if character]
    if not branches:
        return prefix
    return f"{prefix}(?:{'|'.join(branches)}){'?' if '' in node else ''}"
