"""How a model marks what it thinks and what it calls, by the prompt format that it was made for.

Sources: Qwen 3's chat template (think tags; calls as Nous Research's Hermes writes them), Gemma 4's
(channels; calls in a notation of its own), Mistral's ([TOOL_CALLS] and a list, or name and arguments).
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

QUOTE = '<|"|>'
BARE = re.compile(r"[^,:{}\[\]]+")
HERMES_HEAD = re.compile(
    r'\s*+\{\s*+"name"\s*+:\s*+"([^"\\]++)"\s*+,\s*+"(?:arguments|parameters)"\s*+:\s*+(?=\{)'
)
MISTRAL_HEAD = re.compile(r"\s*+([\w.-]++)\s*+(?:\[ARGS\]\s*+)?(?=\{)")
NUMBER = re.compile(r"-?\d+(\.\d+)?([eE][+-]?\d+)?")

Calls = list[tuple[str, str]]
"""Function names with their arguments as JSON texts."""


@dataclass(frozen=True)
class Syntax:
    """Markers, each None where a model has none.

    `thought` begins reasoning and `answer` ends it; `label` is what may stand right behind `thought`. `call`
    begins a tool call and `called` ends it, or the answer does where that is None; `head` matches what stands
    before its arguments, where these are a JSON object, with the name as its group; `read` takes all that is
    in between, and raises `ValueError` when it is no call. `forced` makes the grammar text of a call: what
    stands before its name, between name and arguments, and behind them. `quote` stands around the strings of
    a notation that is not JSON.
    """

    thought: str | None = None
    answer: str | None = None
    label: str = ""
    call: str | None = None
    called: str | None = None
    head: re.Pattern[str] | None = None
    read: Callable[[str], Calls] = lambda _text: []
    forced: tuple[str, str, str] | None = None
    quote: str | None = None

    @property
    def markers(self) -> tuple[str, ...]:
        """All of them: a host must not leave them out of what it decodes."""
        return tuple(filter(None, (self.thought, self.answer, self.call, self.called, self.quote)))


def syntax_of(prompt_format: str, template: str) -> Syntax:
    """The syntax of a prompt format; of a generic one, what its chat template gives away."""
    if prompt_format in SYNTAXES:
        return SYNTAXES[prompt_format]
    if "<|channel>" in template:
        return GEMMA4
    if "[TOOL_CALLS]" in template:
        return MISTRAL
    hermes = QWEN3 if "<tool_call>" in template else PLAIN
    return Syntax(
        thought=QWEN3.thought if "<think>" in template else None,
        answer=QWEN3.answer if "</think>" in template else None,
        call=hermes.call,
        called=hermes.called,
        head=hermes.head,
        read=hermes.read,
        forced=hermes.forced,
    )


def read_hermes(text: str) -> Calls:
    """`{"name": ..., "arguments": {...}}`."""
    return [_json_call(json.loads(text))]


def read_mistral(text: str) -> Calls:
    """`[{"name": ..., "arguments": {...}}, ...]`, or `name{...}` or `name[ARGS]{...}`."""
    text = text.strip()
    if text.startswith("["):
        return [_json_call(call) for call in json.loads(text)]
    name, brace, rest = text.partition("{")
    arguments = json.loads(brace + rest)
    return [_checked(name.strip().removesuffix("[ARGS]"), arguments)]


def read_gemma4(text: str) -> Calls:
    """`call:name{key:value,...}`, with strings between quotes of its own."""
    name, brace, rest = text.strip().removeprefix("call:").partition("{")
    value, end = _gemma_value(brace + rest, 0)
    if (brace + rest)[end:].strip():
        raise ValueError("something stands behind the arguments")
    return [_checked(name.strip(), value)]


def _json_call(call: Any) -> tuple[str, str]:
    if not isinstance(call, dict):
        raise ValueError("a call is an object")  # noqa: TRY004 - one error for whatever is no call
    arguments = call.get("arguments", call.get("parameters", {}))
    return _checked(call.get("name"), json.loads(arguments) if isinstance(arguments, str) else arguments)


def _checked(name: Any, arguments: Any) -> tuple[str, str]:
    if not isinstance(name, str) or not name or not isinstance(arguments, dict):
        raise ValueError("a call has a name and an object of arguments")
    return name, json.dumps(arguments, ensure_ascii=False)


def _gemma_value(text: str, at: int) -> tuple[Any, int]:
    """The value that begins there, and where it ends. Raises `ValueError`."""
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
    bare = BARE.match(text, at)
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
    """Where the next item begins, or the closing bracket."""
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
    thought="<think>",
    answer="</think>",
    call="<tool_call>",
    called="</tool_call>",
    head=HERMES_HEAD,
    read=read_hermes,
    forced=('<tool_call>\n{"name": "', '", "arguments": ', "}\n</tool_call>"),
)
GEMMA4 = Syntax(
    thought="<|channel>",
    answer="<channel|>",
    label="thought",
    call="<|tool_call>",
    called="<tool_call|>",
    read=read_gemma4,
    quote=QUOTE,
)
MISTRAL = Syntax(
    thought="[THINK]",
    answer="[/THINK]",
    call="[TOOL_CALLS]",
    head=MISTRAL_HEAD,
    read=read_mistral,
    forced=('[TOOL_CALLS][{"name": "', '", "arguments": ', "}]"),
)
SYNTAXES = {"qwen3_template": QWEN3, "gemma4_template": GEMMA4, "mistral_template": MISTRAL}
