"""The options of a generation that both dialects have, under whatever names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from api.errors import InvalidRequest
from tasks.generation import Tool


def refuse(body: dict[str, Any], name: str, *, unless: Sequence[Any] = ()) -> None:
    """Raise `InvalidRequest` (unsupported_parameter) when the field is set to more than nothing.

    What changes the answer must not be passed over in silence; what does not may.
    """
    value = body.get(name)
    if value is not None and value not in unless:
        raise InvalidRequest(f"{name} is not supported", code="unsupported_parameter", param=name)


def thinking_of(body: dict[str, Any], effort: str | None) -> str:
    """default, enabled or disabled. `thinking` decides; without it an effort of `none` means disabled.

    No other effort is mapped: "minimal" to "xhigh" say how much, which no runtime here can be told.
    """
    thinking: str | None = body.get("thinking")
    if thinking is not None:
        return thinking
    return "disabled" if effort == "none" else "default"


def check_tool_choice(choice: str, tools: Sequence[Tool]) -> str:
    """The choice (none, auto, required or a tool's name). Raises `InvalidRequest` when nothing fits it."""
    if choice in ("none", "auto"):
        return choice
    if not tools:
        raise InvalidRequest("tool_choice asks for a call, but there are no tools", param="tool_choice")
    if choice != "required" and all(tool.name != choice for tool in tools):
        raise InvalidRequest(f"tool_choice names {choice}, which is not among the tools", param="tool_choice")
    return choice
