"""The requests that Claude Code sends for a question about a file, in their order, with its fields."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import anthropic
import pytest

from tests.support.claude_code import BETAS, CACHED, FIELDS, READ_TOOL
from tests.support.platform import Platform

pytestmark = [pytest.mark.clients, pytest.mark.journey]

TOOLS = [READ_TOOL | {"cache_control": CACHED}]
TURN: dict[str, Any] = {
    "max_tokens": 1500,
    "system": [{"type": "text", "text": "You are an agent.", "cache_control": CACHED}],
    "tools": TOOLS,
    "thinking": {"type": "enabled", "budget_tokens": 1024},
    **FIELDS,
}


@pytest.fixture
def claude(platform: Platform) -> Iterator[anthropic.Anthropic]:
    with anthropic.Anthropic(
        base_url=platform.url, auth_token=platform.keys["api_key"], api_key=None, max_retries=0
    ) as client:
        yield client


def question(text: str) -> dict[str, Any]:
    reminder = {"type": "text", "text": "<system-reminder>Today is Monday.</system-reminder>"}
    return {"role": "user", "content": [{"type": "text", "text": text, "cache_control": CACHED}, reminder]}


def test_a_call_is_streamed_and_its_result_is_answered(claude: anthropic.Anthropic) -> None:
    asked = question("/stub thinking=3 tokens=2 tool_call=Read a.py")
    with claude.beta.messages.stream(**TURN, model="stub", messages=[asked]) as stream:
        answer = stream.get_final_message()
    assert answer.stop_reason == "tool_use"
    assert [block.type for block in answer.content] == ["thinking", "text", "tool_use"]
    assert answer.content[0].signature
    assert answer.usage.output_tokens > 5

    given = [block.model_dump(exclude_unset=True) for block in answer.content]
    lines = [{"type": "text", "text": "1  x = 1"}]
    result = {"type": "tool_result", "tool_use_id": answer.content[2].id, "content": lines}
    history = [
        asked,
        {"role": "assistant", "content": given},
        {"role": "user", "content": [{**result, "cache_control": CACHED}]},
    ]
    with claude.beta.messages.stream(**TURN, model="stub", messages=history) as stream:
        assert stream.get_final_message().stop_reason == "end_turn"


def test_a_question_is_counted_and_answered_by_a_model_that_runs(claude: anthropic.Anthropic) -> None:
    asked = [{"role": "user", "content": "What is Stoker?"}]
    counted = claude.beta.messages.count_tokens(model="stoker-demo", messages=asked, betas=BETAS)
    title = claude.beta.messages.create(
        model="stoker-demo", max_tokens=60, messages=asked, extra_body={"temperature": 0}, betas=BETAS
    )
    usage = title.usage
    assert usage.input_tokens + (usage.cache_read_input_tokens or 0) == counted.input_tokens
    assert "language models" in title.content[0].text
    with claude.beta.messages.stream(**TURN, model="stoker-demo", messages=asked) as stream:
        events = [event.type for event in stream]
        assert stream.get_final_message().stop_reason in ("end_turn", "tool_use", "max_tokens")
    assert (events[0], events[-1]) == ("message_start", "message_stop")


def test_an_error_is_raised_as_the_class_of_its_status(claude: anthropic.Anthropic) -> None:
    with pytest.raises(anthropic.NotFoundError, match="unknown"):
        claude.beta.messages.create(model="unknown", max_tokens=9, messages=[question("Hi.")], betas=BETAS)
