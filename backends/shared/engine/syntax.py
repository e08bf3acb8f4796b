"""The markers of reasoning and tool calls in a model's output, by prompt format.

Sources: the chat templates of Qwen 3 (think tags; calls as in Nous Research's Hermes), of Gemma 4 (channels;
calls in a notation that is not JSON) and of Mistral ([TOOL_CALLS] and a list, or name and arguments).
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

QUOTE = '<|"|>'
BARE_TEXT = re.compile(r"[^,:{}\[\]]+")
HERMES_HEAD = re.compile(
    r'\s*+\{\s*+"name"\s*+:\s*+"([^"\\]++)"\s*+,\s*+"(?:arguments|parameters)"\s*+:\s*+(?=\{)'
)
MISTRAL_HEAD = re.compile(r"\s*+([\w.-]++)\s*+(?:\[ARGS\]\s*+)?(?=\{)")
NUMBER = re.compile(r"-?\d+(\.\d+)?([eE][+-]?\d+)?")

Calls = list[tuple[str, str]]
"""Function names with their arguments as JSON texts."""


@dataclass(frozen=True)
class Syntax:
    """The markers in a model's output; None for a marker that the model does not have.

    `reasoning_start` and `reasoning_end` enclose reasoning; `reasoning_label` may follow `reasoning_start`.
    `call_start` and `call_end` enclose a tool call; without a `call_end`, the next call or the end of the
    answer ends it. Where the arguments are a JSON object, `call_head` matches the text of a call before them,
    with the name as its group. `parse_calls` parses the complete text between the markers, and
    raises `ValueError` if it is not a call. `forced_call` are the constant parts of a call, for grammars: the
    text before the name, between name and arguments, and after the arguments. `quote` delimits the strings
    of a notation that is not JSON.
    """

    reasoning_start: str | None = None
    reasoning_end: str | None = None
    reasoning_label: str = ""
    call_start: str | None = None
    call_end: str | None = None
    call_head: re.Pattern[str] | None = None
    parse_calls: Callable[[str], Calls] = lambda _text: []
    forced_call: tuple[str, str, str] | None = None
    quote: str | None = None

    def opens_reasoning(self, prompt: str) -> bool:
        """Whether a prompt ends inside the model's reasoning."""
        end = prompt.rstrip()
        if self.reasoning_label:
            end = end.removesuffix(self.reasoning_label).rstrip()
        return self.reasoning_start is not None and end.endswith(self.reasoning_start)

    def continued(self, prompt: str, text: str) -> str:
        """Return a prompt with the text that the answer continues, after reasoning that it opens."""
        if text and self.opens_reasoning(prompt):
            prompt = f"{prompt.rstrip()}\n{self.reasoning_end}\n\n"
        return prompt + text

    @property
    def markers(self) -> tuple[str, ...]:
        """All markers: an engine must not omit these special tokens from the decoded text."""
        return tuple(
            filter(
                None,
                (self.reasoning_start, self.reasoning_end, self.call_start, self.call_end, self.quote),
            )
        )


def syntax_of(prompt_format: str, template: str) -> Syntax:
    """Return the syntax of a prompt format; for the generic format, guess it from the chat template."""
    if prompt_format in SYNTAXES:
        return SYNTAXES[prompt_format]
    if "<|channel>" in template:
        return GEMMA4
    if "[TOOL_CALLS]" in template:
        return MISTRAL
    hermes = QWEN3 if "<tool_call>" in template else PLAIN
    return Syntax(
        reasoning_start=QWEN3.reasoning_start if "<think>" in template else None,
        reasoning_end=QWEN3.reasoning_end if "</think>" in template else None,
        call_start=hermes.call_start,
        call_end=hermes.call_end,
        call_head=hermes.call_head,
        parse_calls=hermes.parse_calls,
        forced_call=hermes.forced_call,
    )


def parse_hermes(text: str) -> Calls:
    """Parse `{"name": ..., "arguments": {...}}`."""
    return [_json_call(json.loads(text))]


def parse_mistral(text: str) -> Calls:
    """Parse `[{"name": ..., "arguments": {...}}, ...]`, `name{...}` or `name[ARGS]{...}`."""
    text = text.strip()
    if text.startswith("["):
        return [_json_call(call) for call in json.loads(text)]
    name, brace, rest = text.partition("{")
    arguments = json.loads(brace + rest)
    return [_checked(name.strip().removesuffix("[ARGS]"), arguments)]


def parse_gemma4(text: str) -> Calls:
    """Parse `call:name{key:value,...}`, with strings between `QUOTE`s."""
    name, brace, rest = text.strip().removeprefix("call:").partition("{")
    value, end = _gemma_value(brace + rest, 0)
    if (brace + rest)[end:].strip():
        raise ValueError("there is text after the arguments")
    return [_checked(name.strip(), value)]


def _json_call(call: Any) -> tuple[str, str]:
    if not isinstance(call, dict):
        raise ValueError("a call is an object")  # noqa: TRY004 - one error for all text that is not a call
    arguments = call.get("arguments", call.get("parameters", {}))
    return _checked(call.get("name"), json.loads(arguments) if isinstance(arguments, str) else arguments)


def _checked(name: Any, arguments: Any) -> tuple[str, str]:
    if not isinstance(name, str) or not name or not isinstance(arguments, dict):
        raise ValueError("a call has a name and an object of arguments")
    return name, json.dumps(arguments, ensure_ascii=False)


def _gemma_value(text: str, at: int) -> tuple[Any, int]:
    """Parse the value at position `at`. Returns (value, end position). Raises `ValueError`."""
    if text.startswith(QUOTE, at):
        end = text.index(QUOTE, at + len(QUOTE))
        return text[at + len(QUOTE) : end], end + len(QUOTE)
    if text.startswith("{", at):
        return _gemma_object(text, at + 1)
    if text.startswith("[", at):
        items: list[Any] = []
        at = _skip(text, at + 1)
        while not text.startswith("]", at):
            item, at = _gemma_value(text, at)
            items.append(item)
            at = _separated(text, at, "]")
        return items, at + 1
    bare = BARE_TEXT.match(text, at)
    if bare is None:
        raise ValueError("a value is missing")
    word = bare.group().strip()
    if word in ("true", "false", "null") or NUMBER.fullmatch(word):
        return json.loads(word), bare.end()
    return word, bare.end()


def _gemma_object(text: str, at: int) -> tuple[dict[str, Any], int]:
    found: dict[str, Any] = {}
    at = _skip(text, at)
    while not text.startswith("}", at):
        if text.startswith(QUOTE, at):
            key, at = _gemma_value(text, at)
            at = _skip(text, at)
        else:
            end = text.index(":", at)
            key, at = text[at:end].strip(), end
        if not text.startswith(":", at):
            raise ValueError("a colon is missing")
        found[key], at = _gemma_value(text, _skip(text, at + 1))
        at = _separated(text, at, "}")
    return found, at + 1


def _separated(text: str, at: int, closing: str) -> int:
    """Return the position of the next item, or of the closing bracket. Raises `ValueError`."""
    at = _skip(text, at)
    if text.startswith(",", at):
        return _skip(text, at + 1)
    if not text.startswith(closing, at):
        raise ValueError(f"{closing} is missing")
    return at


def _skip(text: str, at: int) -> int:
    while at < len(text) and text[at].isspace():
        at += 1
    return at


PLAIN = Syntax()
QWEN3 = Syntax(
    reasoning_start="<think>",
    reasoning_end="</think>",
    call_start="<tool_call>",
    call_end="</tool_call>",
    call_head=HERMES_HEAD,
    parse_calls=parse_hermes,
    forced_call=('<tool_call>\n{"name": "', '", "arguments": ', "}\n</tool_call>"),
)
GEMMA4 = Syntax(
    reasoning_start="<|channel>",
    reasoning_end="<channel|>",
    reasoning_label="thought",
    call_start="<|tool_call>",
    call_end="<tool_call|>",
    parse_calls=parse_gemma4,
    quote=QUOTE,
)
MISTRAL = Syntax(
    reasoning_start="[THINK]",
    reasoning_end="[/THINK]",
    call_start="[TOOL_CALLS]",
    call_head=MISTRAL_HEAD,
    parse_calls=parse_mistral,
    forced_call=('[TOOL_CALLS][{"name": "', '", "arguments": ', "}]"),
)
SYNTAXES = {"qwen3_template": QWEN3, "gemma4_template": GEMMA4, "mistral_template": MISTRAL}
