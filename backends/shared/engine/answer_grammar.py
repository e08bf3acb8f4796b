"""The grammars of answers: a call of one of the tools, JSON that fits a schema, or either of the two."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from .gbnf import GEMMA, JSON, Rules, SchemaError, code_point, literal
from .grammar_fields import form_of
from .schema_rules import SchemaRules
from .syntax import GEMMA4, Syntax

BLANK = r"[\n]{0,2}"  # between the reasoning and the answer

Tools = Sequence[Mapping[str, Any]]
Reasoning = Literal["possible", "begun"]
"""Whether the answer may have reasoning before it, or the prompt has begun it already."""


def grammar_of_calls(tools: Tools, syntax: Syntax, reasoning: Reasoning | None = None) -> str:
    """The grammar of one call of one of the tools, as the syntax writes calls. Raises `SchemaError`.

    It begins with the `reasoning`, for an engine that applies the grammar from the first token.
    """
    rules = _rules_of_calls(syntax)
    return rules.text(f"{_reasoning(rules, syntax, reasoning)} {BLANK} ({_calls(rules, tools, syntax)})")


def grammar_of_text(tools: Tools, syntax: Syntax, reasoning: Reasoning | None, *, single_call: bool) -> str:
    """The grammar of any text with calls, in which the arguments of strict tools fit their schemas.

    Raises `SchemaError`.
    """
    rules = _rules_of_calls(syntax)
    calls = _calls(rules, _free(tools), syntax)
    text = _text_without(rules, str(syntax.call_start))
    more = "?" if single_call else "*"
    return rules.text(f"{_reasoning(rules, syntax, reasoning)} {text} (({calls}) {text}){more}")


def grammar_within_call(tools: Tools, syntax: Syntax) -> str:
    """The grammar of the rest of a call, after the marker that begins it.

    Only the arguments of strict tools are constrained. Raises `SchemaError`.
    """
    rules = _rules_of_calls(syntax)
    return rules.text(_calls(rules, _free(tools), syntax, begun=True))


def grammar_of_json(
    schema: Mapping[str, Any] | None, tools: Tools, syntax: Syntax, reasoning: Reasoning | None = None
) -> str:
    """The grammar of JSON that fits the schema (None: of any object), or of a call of one of the tools.

    It begins with the `reasoning`, as in `grammar_of_calls`. Raises `SchemaError`.
    """
    rules = Rules(JSON)
    answers = ["object" if schema is None else SchemaRules(rules, schema, exact=True).value()]
    if tools:
        if _rules_of_calls(syntax).notation is not JSON:
            raise SchemaError("this model cannot have tools beside it, because its calls are not JSON")
        answers.append(_calls(rules, _free(tools), syntax))
    return rules.text(f"{_reasoning(rules, syntax, reasoning)} {BLANK} ({' | '.join(answers)})")


def grammar_of_answer(text: str, syntax: Syntax, reasoning: Reasoning | None = None) -> str:
    """The grammar of an answer that fits a client's (`Generation.answer_grammar`), whose root is `g0`.

    It begins with the `reasoning`, as in `grammar_of_calls`.
    """
    rules = Rules(JSON)
    blank = BLANK if syntax.reasoning_end is not None else ""
    return rules.text(f"{_reasoning(rules, syntax, reasoning)} {blank} g0") + text


def _reasoning(rules: Rules, syntax: Syntax, reasoning: Reasoning | None) -> str:
    """The expression of the reasoning: optional, unless the prompt has begun it."""
    start, end = syntax.reasoning_start, syntax.reasoning_end
    if reasoning is None or start is None or end is None:
        return ""
    rest = f"{_text_without(rules, end)} {literal(end)}"
    return rest if reasoning == "begun" else f"({literal(start)} {rest})?"


def _text_without(rules: Rules, marker: str) -> str:
    """The rule of any text that does not contain the marker, whose next text may be the marker.

    State n of the rules has read n characters of the marker (Knuth, Morris, Pratt).
    """
    names = [rules.reserve() for _ in marker]
    for state, name in enumerate(names):
        followers: dict[str, int] = {}
        for letter in dict.fromkeys(marker):
            read = marker[:state] + letter
            overlap = next(size for size in range(len(read), -1, -1) if read.endswith(marker[:size]))
            followers[letter] = overlap
        ways = [f"{literal(letter)} {names[at]}" for letter, at in followers.items() if at < len(marker)]
        others = "".join(map(code_point, followers))
        rules.define(name, " | ".join([*ways, f"[^{others}] {names[0]}", '""']))
    return names[0]


def _rules_of_calls(syntax: Syntax) -> Rules:
    return Rules(GEMMA if syntax.call_start == GEMMA4.call_start else JSON)


def _calls(rules: Rules, tools: Tools, syntax: Syntax, *, begun: bool = False) -> str:
    """The alternatives of one call of each tool, without the marker that begins it if it is `begun`."""
    gemma = ("<|tool_call>call:", "", "<tool_call|>")
    forced = syntax.forced_call if rules.notation is JSON else gemma
    if forced is None:
        raise SchemaError("the prompt format of this model has no tool calls")
    before, between, behind = forced
    if begun:
        before = before.removeprefix(syntax.call_start or "")
    escaped = rules.notation.escaped
    calls = []
    for tool in tools:
        name = str(tool["function"]["name"])
        try:
            arguments = SchemaRules(rules, form_of(tool), exact=_is_strict(tool)).arguments()
        except (SchemaError, TypeError, AttributeError, LookupError) as error:
            reason = str(error) if isinstance(error, SchemaError) else "it is malformed"
            raise SchemaError(f"of the tool {name}, {reason}") from error
        written = json.dumps(name, ensure_ascii=False)[1:-1] if escaped else name
        calls.append(f"{literal(before + written + between)} {arguments} {literal(behind)}")
    return " | ".join(calls)


def _is_strict(tool: Mapping[str, Any]) -> bool:
    return bool(tool["function"].get("strict"))


def _free(tools: Tools) -> list[Mapping[str, Any]]:
    """The tools, with any arguments for those that are not strict."""
    return [tool if _is_strict(tool) else _with_any_arguments(tool) for tool in tools]


def _with_any_arguments(tool: Mapping[str, Any]) -> dict[str, Any]:
    return {"function": {"name": tool["function"]["name"], "parameters": {"type": "object"}}}
