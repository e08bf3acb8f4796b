"""The tools that a request offers, and whether the model may or must call one of them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from api.http.errors import InvalidRequest
from generation.generation import NamedTool, Tool, ToolChoice


def check_tool_choice(choice: ToolChoice, tools: Sequence[Tool], param: str = "tool_choice") -> ToolChoice:
    """The same choice, which the field `param` has.

    Raises `InvalidRequest` when it demands a call and there is no tool for it.
    """
    if choice in ("none", "auto"):
        return choice
    if not tools:
        raise InvalidRequest(f"{param} requires a call, but there are no tools", param=param)
    if isinstance(choice, NamedTool):
        _check_known([choice.name], tools, param)
    return choice


def from_chat(
    raw: str | dict[str, Any] | None, tools: tuple[Tool, ...]
) -> tuple[ToolChoice, tuple[Tool, ...]]:
    """`tool_choice` of Chat Completions, where a kind of choice has its values in a field of its name."""
    if isinstance(raw, dict) and raw["type"] == "allowed_tools":
        allowed = raw["allowed_tools"]
        return _allowed(allowed["mode"], {tool["function"]["name"] for tool in allowed["tools"]}, tools)
    if isinstance(raw, dict):
        function = raw.get("function")
        choice = NamedTool(function["name"]) if function else _mode(raw["type"])
    else:
        choice = _mode(raw)
    return check_tool_choice(choice, tools), tools


def from_function_call(raw: str | dict[str, Any] | None, tools: tuple[Tool, ...]) -> ToolChoice:
    """`function_call`, the older form of `tool_choice`. Raises `InvalidRequest`."""
    choice = NamedTool(raw["name"]) if isinstance(raw, dict) else _mode(raw)
    return check_tool_choice(choice, tools, "function_call")


def _allowed(
    mode: ToolChoice, names: Collection[str], tools: tuple[Tool, ...]
) -> tuple[ToolChoice, tuple[Tool, ...]]:
    """The mode, and those of the tools that are allowed: the model is not offered the others."""
    _check_known(names, tools)
    return mode, tuple(tool for tool in tools if tool.name in names)


def _check_known(names: Collection[str], tools: Sequence[Tool], param: str = "tool_choice") -> None:
    known = {tool.name for tool in tools}
    for name in names:
        if name not in known:
            raise InvalidRequest(f"{param} names {name}, which is not among the tools", param=param)


def _mode(raw: str | None) -> ToolChoice:
    match raw:
        case "none" | "required":
            return raw
        case "any":
            return "required"
        case _:
            return "auto"
