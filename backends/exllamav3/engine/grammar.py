"""The grammars of answers (a tool call, JSON, arguments of strict tools), and the filter that applies one.

The grammar is in the Lark dialect of llguidance.

A model marks its calls with special tokens. llguidance matches such a token by its number only, never by its
text (github.com/guidance-ai/llguidance, docs/syntax.md); a marker that is no token is matched as text.

An exception in a filter ends the generator and all its jobs, though a client's schema can cause it: some
grammars turn out to be too complex only while they are applied. So the filter stores the exception, allows
all tokens from then on, and reports that it is complete, which ends the job.
"""

from __future__ import annotations

import json
import re
import traceback
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from importlib import import_module
from typing import Any

from ...shared.engine.grammar_fields import form_of
from ...shared.engine.syntax import Syntax

SPACING = {"whitespace_flexible": False, "item_separator": ", ", "key_separator": ": "}
"""The white space of JSON, as most models write it."""

Tools = Sequence[Mapping[str, Any]]
TokenOf = Callable[[str], int | None]
"""Returns the number of the token with this text; None when there is none."""


class GrammarError(ValueError):
    """Raised when there is no grammar for an answer; the text says why."""


def call_grammar(tools: Tools, syntax: Syntax, token_of: TokenOf, *, thinking: bool) -> str:
    """The grammar of one call to one of these functions, after reasoning if the model reasons.

    `thinking` says that the prompt has opened the reasoning. Raises `GrammarError`.
    """
    rules = [f"start: {_reasoning_rule(syntax, token_of, thinking)} call"]
    return "\n".join(rules + _call_rules(tools, syntax, token_of))


def json_grammar(
    schema: Mapping[str, Any] | None, tools: Tools, syntax: Syntax, token_of: TokenOf, *, thinking: bool
) -> str:
    """The grammar of JSON that fits the schema (None: of any object), or of a call to one of the functions.

    Reasoning may come before it. Raises `GrammarError`.
    """
    answer = "(call | json)" if tools else "json"
    rules = [f"start: {_reasoning_rule(syntax, token_of, thinking)} {answer}"]
    rules.append(f"json: {_json({'type': 'object'} if schema is None else schema)}")
    return "\n".join(rules + (_call_rules(_free(tools), syntax, token_of) if tools else []))


def strict_grammar(tools: Tools, syntax: Syntax, token_of: TokenOf, *, thinking: bool) -> str:
    """The grammar of any text with calls, in which the arguments of strict tools fit their schemas.

    Reasoning may come before it. Raises `GrammarError`.
    """
    rules = [f"start: {_reasoning_rule(syntax, token_of, thinking)} TEXT (call TEXT)*"]
    rules += _call_rules(_free(tools), syntax, token_of)
    marker = re.escape(syntax.call_start or "").replace("/", r"\/")
    rules.append(f"TEXT: /(?s:.*)/ & ~/(?s:.*){marker}(?s:.*)/")
    return "\n".join(rules)


def _free(tools: Tools) -> list[Mapping[str, Any]]:
    """The tools with any arguments for those that are not strict."""
    return [
        tool
        if tool["function"].get("strict")
        else {"function": {"name": tool["function"]["name"], "parameters": {"type": "object"}}}
        for tool in tools
    ]


def _call_rules(tools: Tools, syntax: Syntax, token_of: TokenOf) -> list[str]:
    """The rule `call` and those that it needs. Raises `GrammarError`."""
    if syntax.forced_call is None:
        raise GrammarError("this model cannot be made to call a tool")
    before, between, behind = (_literal(part, syntax, token_of) for part in syntax.forced_call)
    rules = [f"call: {before} ({' | '.join(f'f{i}' for i in range(len(tools)))}) {behind}"]
    for i, tool in enumerate(tools):
        function = tool["function"]
        name = json.dumps(json.dumps(function["name"])[1:-1])
        rules.append(f"f{i}: {name} {between} a{i}")
        rules.append(f"a{i}: {_json(form_of(tool))}")
    return rules


def _json(schema: Mapping[str, Any]) -> str:
    """The expression of JSON that fits a schema. White space is bounded: a model may write it without end."""
    return f"%json {json.dumps({**schema, 'x-guidance': SPACING})}"


def _reasoning_rule(syntax: Syntax, token_of: TokenOf, thinking: bool) -> str:
    """The reasoning before the call: optional, or required if the prompt has opened it."""
    if syntax.reasoning_start is None or syntax.reasoning_end is None:
        return ""
    opened, closed = (
        _literal(marker, syntax, token_of) for marker in (syntax.reasoning_start, syntax.reasoning_end)
    )
    rest = f"/(?s:.*)/ {closed} /\\s*/"
    return rest if thinking else f"({opened} {rest})?"


def _literal(text: str, syntax: Syntax, token_of: TokenOf) -> str:
    """The expression of the grammar that matches a text."""
    markers = "|".join(re.escape(marker) for marker in syntax.markers)
    expressions = []
    for part in filter(None, re.split(f"({markers})", text)):
        quoted, token = json.dumps(part, ensure_ascii=False), token_of(part)
        expressions.append(quoted if token is None else f"(<[{token}]> | {quoted})")
    return " ".join(expressions)


def grammar_filter(library: Any, tokenizer: Any, grammar: str) -> Any:
    """A filter that ends the answer where the grammar is complete.

    Its `failure` is the exception that ended it, if any. Raises `ValueError` for an invalid grammar.
    """
    return _tolerant_class(library.LLGuidanceFilter)(
        tokenizer, lark_grammar=grammar, eos_after_completed=True
    )


@cache
def _tolerant_class(base: Any) -> Any:
    """A subclass of the library's filter that stores exceptions."""

    class TolerantFilter(base):  # type: ignore[misc]
        failure: Exception | None = None

        def accept_token(self, token: int) -> None:
            try:
                super().accept_token(token)
            except Exception as error:
                self._store(error)

        def get_next_logit_mask(self) -> Any:
            try:
                if self.failure is None:
                    return super().get_next_logit_mask()
            except Exception as error:
                self._store(error)
            torch: Any = import_module("torch")
            return torch.full((1, self.vocab_size // 32), -1, dtype=torch.int32)  # a bit for each token

        def is_completed(self) -> bool:
            return self.failure is not None or super().is_completed()

        def _store(self, error: Exception) -> None:
            traceback.print_exception(error)
            self.failure = error

    return TolerantFilter
