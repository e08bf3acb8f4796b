"""Renders a conversation to a prompt with a model's chat template (Jinja, as Hugging Face defines it).

The Jinja environment is Hugging Face's: sandboxed, blocks trimmed, with `raise_exception`, `strftime_now`, a
`tojson` that does not escape non-ASCII letters, and the tag `generation`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, NoReturn

import jinja2
from jinja2.ext import Extension
from jinja2.parser import Parser
from jinja2.sandbox import MAX_RANGE, ImmutableSandboxedEnvironment

from .template_refusal import template_refusal
from .template_roles import PROBE_TOOL, PROBES, TemplateRoles, needs_roles

CHATML = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
"""The template of models that have none, as in llama.cpp."""

TEMPLATE_ERRORS = (TypeError, ValueError, LookupError, AttributeError, ArithmeticError)
"""Raised by templates that do not support the given messages."""


class PromptError(ValueError):
    """Raised when a template cannot render the given messages; the text is one sentence for the client.

    Its cause is the error of the template, which belongs in the log.
    """


class TemplateLimitError(Exception):
    """Raised for a loop over more numbers than a template may ask for. The text continues "the template"."""


class TemplateRefusal(jinja2.TemplateError):
    """Raised by `raise_exception`; the text is the template's own."""


class GenerationTag(Extension):
    """`{% generation %}` marks the model's answers for training; it has no effect on a prompt."""

    tags = {"generation"}  # noqa: RUF012 - required by Jinja

    def parse(self, parser: Parser) -> jinja2.nodes.Node:
        """Parse the content of the tag, in a scope of its own."""
        line = next(parser.stream).lineno
        return jinja2.nodes.Scope(
            parser.parse_statements(("name:endgeneration",), drop_needle=True), lineno=line
        )


class ChatTemplate:
    """The chat template of one model; a blank one counts as absent.

    `special` maps bos_token, eos_token, ... to the text of each, `arguments` are the template's own, which
    those of a request replace.
    """

    def __init__(
        self, source: str | None, special: Mapping[str, str], arguments: Mapping[str, Any] | None = None
    ) -> None:
        self.source = effective_source(source)
        environment = ImmutableSandboxedEnvironment(
            trim_blocks=True, lstrip_blocks=True, extensions=["jinja2.ext.loopcontrols", GenerationTag]
        )
        environment.filters["tojson"] = _tojson
        environment.globals["range"] = _bounded_range
        environment.globals["raise_exception"] = _raise_exception
        environment.globals["strftime_now"] = lambda form: datetime.now().strftime(form)
        self._template = environment.from_string(self.source)
        self._special = dict(special)
        self.arguments = dict(arguments or {})
        self.known_roles: dict[bool, TemplateRoles] = {}
        """What the template accepts, without tools and with some; found when a request first needs it."""

    def roles(self, *, tools: bool) -> TemplateRoles:
        """What the template accepts in a request with or without tools. Raises `TemplateLimitError`."""
        known = self.known_roles.get(tools)
        if known is None:
            prompts = {name: self._probed(probe, tools=tools) for name, probe in PROBES.items()}
            known = self.known_roles[tools] = TemplateRoles.of(prompts)
        return known

    def _probed(self, messages: Sequence[Mapping[str, Any]], *, tools: bool) -> str | None:
        try:
            return self._rendered({"tools": [PROBE_TOOL] if tools else None}, messages)
        except (jinja2.TemplateError, RecursionError, *TEMPLATE_ERRORS):
            return None

    def render(self, body: Mapping[str, Any]) -> str:
        """Render the body of a chat completion (messages, tools, chat_template_kwargs) to its prompt.

        The messages are fitted to the roles that the template accepts. Raises `PromptError`.
        """
        messages: Sequence[Mapping[str, Any]] = body["messages"]
        try:
            if needs_roles(messages):
                messages = self.roles(tools=bool(body.get("tools"))).fitted(messages)
            return self._rendered(body, messages)
        except (jinja2.TemplateError, RecursionError, TemplateLimitError, *TEMPLATE_ERRORS) as error:
            reason = str(error) if isinstance(error, TemplateRefusal) else None
            raise PromptError(template_refusal(reason, body)) from error

    def _rendered(self, body: Mapping[str, Any], messages: Sequence[Mapping[str, Any]]) -> str:
        return self._template.render(
            messages=[_with_objects(message) for message in messages],
            tools=body.get("tools"),
            add_generation_prompt=True,
            **{**self._special, **self.arguments, **body.get("chat_template_kwargs", {})},
        )


def without_last(body: Mapping[str, Any]) -> tuple[Mapping[str, Any], str]:
    """Return the body without the message that the answer continues, and its text; "" if there is none."""
    if not body.get("continue_last"):
        return body, ""
    *messages, last = body["messages"]
    return {**body, "messages": messages}, last["content"]


def effective_source(source: str | None) -> str:
    """The template that is used for a model with the template `source`: a blank one counts as absent."""
    return source if source and source.strip("\ufeff \t\r\n") else CHATML


def read_template(folder: Path) -> tuple[str | None, dict[str, str]]:
    """Read the template of a model's folder: chat_template.jinja, or the one in tokenizer_config.json.

    Returns its source, and the text of each special token.
    """
    config: dict[str, Any] = {}
    if (path := folder / "tokenizer_config.json").is_file():
        config = json.loads(path.read_text("utf-8"))
    source = config.get("chat_template")
    if isinstance(source, list):  # several templates, by name
        named = {template["name"]: template["template"] for template in source}
        source = named.get("default", next(iter(named.values()), None))
    if (path := folder / "chat_template.jinja").is_file():
        source = path.read_text("utf-8")
    special = {name: _text(value) for name, value in config.items() if name.endswith("_token") and value}
    return source, special


def _text(token: Any) -> str:
    """Return the text of a special token, which is given as a text or as an object with its text."""
    return str(token["content"]) if isinstance(token, dict) else str(token)


def _with_objects(message: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the message with its tool calls' arguments as objects, which is what most templates expect."""
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


def _bounded_range(*bounds: int) -> range:
    numbers = range(*bounds)
    if len(numbers) > MAX_RANGE:
        raise TemplateLimitError(f"loops over more than {MAX_RANGE} numbers")
    return numbers


def _raise_exception(message: str) -> NoReturn:
    raise TemplateRefusal(message)
