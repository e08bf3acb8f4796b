"""Request options that both dialects have, each under its own name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from api.errors import InvalidRequest
from tasks.generation import NamedTool, Tool, ToolChoice


def refuse(body: dict[str, Any], name: str, *, unless: Sequence[Any] = ()) -> None:
    """Raise `InvalidRequest` (unsupported_parameter) unless the field is absent, null or one of `unless`.

    For fields that would change the answer; unsupported fields that would not are ignored.
    """
    value = body.get(name)
    if value is not None and value not in unless:
        raise InvalidRequest(f"{name} is not supported", code="unsupported_parameter", param=name)


def thinking_of(body: dict[str, Any], effort: str | None) -> str:
    """The thinking mode: the field `thinking`, else disabled for an effort of `none`, else default.

    The other efforts, "minimal" to "xhigh", name an amount of thinking, which no engine accepts.
    """
    thinking: str | None = body.get("thinking")
    if thinking is not None:
        return thinking
    return "disabled" if effort == "none" else "default"


def check_tool_choice(choice: ToolChoice, tools: Sequence[Tool]) -> ToolChoice:
    """The same choice. Raises `InvalidRequest` when it demands a call and there is no tool for it."""
    if choice in ("none", "auto"):
        return choice
    if not tools:
        raise InvalidRequest("tool_choice asks for a call, but there are no tools", param="tool_choice")
    if isinstance(choice, NamedTool) and all(tool.name != choice.name for tool in tools):
        message = f"tool_choice names {choice.name}, which is not among the tools"
        raise InvalidRequest(message, param="tool_choice")
    return choice
