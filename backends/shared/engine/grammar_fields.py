"""The fields of a tool's function that are for grammars, and not for prompts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

GRAMMAR_FIELDS = frozenset({"strict", "form"})
"""`form` is the schema for the grammar in place of `parameters`. No template was written for these fields."""


def without_grammar_fields(body: Mapping[str, Any]) -> Mapping[str, Any]:
    """The body of a chat completion without those fields of its tools."""
    tools = body.get("tools") or ()
    if not any(tool["function"].keys() & GRAMMAR_FIELDS for tool in tools):
        return body
    plain = [
        {**tool, "function": {k: part for k, part in tool["function"].items() if k not in GRAMMAR_FIELDS}}
        for tool in tools
    ]
    return {**body, "tools": plain}


def form_of(tool: Mapping[str, Any]) -> Any:
    """The schema of a tool's arguments for the grammar."""
    function = tool["function"]
    return function.get("form") or function.get("parameters") or {"type": "object"}
