"""A model's chat template: how a conversation becomes its prompt (Hugging Face's convention, in Jinja).

The environment is Hugging Face's: sandboxed, blocks trimmed, `raise_exception`, `strftime_now`, a `tojson`
that leaves letters as they are, and the tag `generation`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, NoReturn

import jinja2
from jinja2.ext import Extension
from jinja2.parser import Parser
from jinja2.sandbox import ImmutableSandboxedEnvironment

CHATML = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
"""For a model that brings no template, as llama.cpp does."""


UNFIT = (TypeError, ValueError, LookupError, AttributeError)
"""What a template raises that was written for other messages."""


class PromptError(ValueError):
    """Raised when a template cannot make a prompt of these messages."""


class Generation(Extension):
    """`{% generation %}` stands around what the model says, for its training: to a prompt it is nothing."""

    tags = {"generation"}  # noqa: RUF012 - as Jinja has it

    def parse(self, parser: Parser) -> jinja2.nodes.Node:
        """Take what is in it, in a scope of its own."""
        line = next(parser.stream).lineno
        return jinja2.nodes.Scope(
            parser.parse_statements(("name:endgeneration",), drop_needle=True), lineno=line
        )


class Template:
    """One model's. `special` holds the texts of its special tokens (bos_token, eos_token, ...)."""

    def __init__(self, source: str | None, special: Mapping[str, str]) -> None:
        self.source = CHATML if source is None else source
        environment = ImmutableSandboxedEnvironment(
            trim_blocks=True, lstrip_blocks=True, extensions=["jinja2.ext.loopcontrols", Generation]
        )
        environment.filters["tojson"] = _tojson
        environment.globals["raise_exception"] = _refuse
        environment.globals["strftime_now"] = lambda form: datetime.now().strftime(form)
        self._template = environment.from_string(self.source)
        self._special = dict(special)

    def render(self, body: Mapping[str, Any]) -> str:
        """The prompt of a chat completion's body (messages, tools, chat_template_kwargs). Raises
        `PromptError`."""
        try:
            return self._template.render(
                messages=[_with_objects(message) for message in body["messages"]],
                tools=body.get("tools"),
                add_generation_prompt=True,
                **self._special,
                **body.get("chat_template_kwargs", {}),
            )
        except (jinja2.TemplateError, RecursionError, *UNFIT) as error:
            raise PromptError(str(error)) from error


def beside(folder: Path) -> Template:
    """The template that lies beside a model: chat_template.jinja, or the one in tokenizer_config.json."""
    config: dict[str, Any] = {}
    if (path := folder / "tokenizer_config.json").is_file():
        config = json.loads(path.read_text("utf-8"))
    source = config.get("chat_template")
    if isinstance(source, list):  # several, by name
        named = {one["name"]: one["template"] for one in source}
        source = named.get("default", next(iter(named.values()), None))
    if (path := folder / "chat_template.jinja").is_file():
        source = path.read_text("utf-8")
    special = {name: _text(value) for name, value in config.items() if name.endswith("_token") and value}
    return Template(source, special)


def _text(token: Any) -> str:
    """A special token is its text, or an object with it."""
    return str(token["content"]) if isinstance(token, dict) else str(token)


def _with_objects(message: dict[str, Any]) -> dict[str, Any]:
    """The arguments of calls as objects: that is what most templates expect, and none minds."""
    if not message.get("tool_calls"):
        return message
    return {**message, "tool_calls": [_call_with_object(call) for call in message["tool_calls"]]}


def _call_with_object(call: dict[str, Any]) -> dict[str, Any]:
    function = call["function"]
    try:
        arguments = json.loads(function["arguments"])
    except ValueError:
        return call
    return {**call, "function": {**function, "arguments": arguments}}


def _tojson(
    value: Any,
    ensure_ascii: bool = False,
    indent: int | None = None,
    separators: tuple[str, str] | None = None,
    sort_keys: bool = False,
) -> str:
    return json.dumps(
        value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys
    )


def _refuse(message: str) -> NoReturn:
    raise jinja2.TemplateError(message)
