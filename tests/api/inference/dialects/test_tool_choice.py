"""The choice among some of the tools, in the forms of Chat Completions and of the Responses API."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from api.http.errors import InvalidRequest
from api.http.strict_schema import SchemaMismatch
from api.inference.chat import dialect as chat
from api.inference.chat.schema import ChatRequest
from api.inference.dialects.message_fields import MAX_TOOLS
from api.inference.responses import dialect as responses
from api.inference.responses.schema import ResponsesRequest
from generation.generation import Generation

NAMES = ("f", "g", "h")


def of_chat(mode: str, *names: str) -> Generation:
    allowed = [{"type": "function", "function": {"name": name}} for name in names]
    body: dict[str, Any] = {
        "model": "m",
        "messages": [{"role": "user", "content": "x"}],
        "tools": [{"type": "function", "function": {"name": name}} for name in NAMES],
        "tool_choice": {"type": "allowed_tools", "allowed_tools": {"mode": mode, "tools": allowed}},
    }
    ChatRequest.check(body)
    return chat.parse(body).generation


def of_responses(mode: str, *names: str) -> Generation:
    allowed = [{"type": "function", "name": name} for name in names]
    body: dict[str, Any] = {
        "model": "m",
        "input": "x",
        "tools": [{"type": "function", "name": name} for name in NAMES],
        "tool_choice": {"type": "allowed_tools", "mode": mode, "tools": allowed},
    }
    ResponsesRequest.check(body)
    return responses.parse(body).generation


both = pytest.mark.parametrize("parsed", [of_chat, of_responses])


@both
@pytest.mark.parametrize("mode", ["auto", "required"])
def test_a_model_is_offered_only_the_allowed_tools_in_the_order_of_the_tools(
    parsed: Callable[..., Generation], mode: str
) -> None:
    generation = parsed(mode, "h", "f", "h")
    assert [tool.name for tool in generation.tools] == ["f", "h"]
    assert generation.tool_choice == mode


@both
def test_an_allowed_tool_is_refused_when_it_is_not_among_the_tools(parsed: Callable[..., Generation]) -> None:
    with pytest.raises(InvalidRequest, match="names x") as caught:
        parsed("auto", "f", "x")
    assert caught.value.param == "tool_choice"


@both
@pytest.mark.parametrize(
    ("mode", "names"), [("none", ["f"]), ("auto", []), ("auto", ["f"] * (MAX_TOOLS + 1))]
)
def test_allowed_tools_are_refused_when_their_mode_or_number_is_wrong(
    parsed: Callable[..., Generation], mode: str, names: list[str]
) -> None:
    with pytest.raises(SchemaMismatch):
        parsed(mode, *names)
