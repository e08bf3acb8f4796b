"""The tools that a request offers, and whether the model may or must call one of them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from api.http.errors import InvalidRequest
from generation.generation import NamedTool, Tool, ToolChoice


def check_tool_choice(choice: ToolChoice, tools: Sequence[Tool]) -> ToolChoice:
    """The same choice. Raises `InvalidRequest` when it demands a call and there is no tool for it."""
    if choice in ("none", "auto"):
        return choice
    if not tools:
        raise InvalidRequest("tool_choice requires a call, but there are no tools", param="tool_choice")
    if isinstance(choice, NamedTool):
        _check_known([choice.name], tools)
    return choice


def from_chat(
    raw: str | dict[str, Any] | None, tools: tuple[Tool, ...]
) -> tuple[ToolChoice, tuple[Tool, ...]]:
    """`tool_choice` of Chat Completions, where a kind of choice has its values in a field of its name."""
    if isinstance(raw, dict) and raw["type"] == "allowed_tools":
        allowed = raw["allowed_tools"]
        return _allowed(allowed["mode"], {tool["function"]["name"] for tool in allowed["tools"]}, tools)
    choice = NamedTool(raw["function"]["name"]) if isinstance(raw, dict) else _mode(raw)
    return check_tool_choice(choice, tools), tools


def _allowed(
    mode: ToolChoice, names: Collection[str], tools: tuple[Tool, ...]
) -> tuple[ToolChoice, tuple[Tool, ...]]:
    """The mode, and those of the tools that are allowed: the model is not offered the others."""
    _check_known(names, tools)
    return mode, tuple(tool for tool in tools if tool.name in names)


def _check_known(names: Collection[str], tools: Sequence[Tool]) -> None:
    known = {tool.name for tool in tools}
    for name in names:
        if name not in known:
            message = f"tool_choice names {name}, which is not among the tools"
            raise InvalidRequest(message, param="tool_choice")


def _mode(raw: str | None) -> ToolChoice:
    match raw:
        case "none" | "required":
            return raw
        case _:
            return "auto"
