"""The calls of Claude Code in one session, made with Anthropic's SDK over a real port."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import anthropic
import pytest

from generation.generation import Generation, Message, TextPart, ToolCall
from streams.events import End, ReasoningDelta, TextDelta, ToolCallDelta, Usage
from tests.api.conftest import KEY
from tests.support.api_fakes import Fakes
from tests.support.claude_code import BETAS, CACHED, FIELDS, READ_TOOL

SYSTEM = [
    {"type": "text", "text": "You are an agent.", "cache_control": CACHED},
    {"type": "text", "text": " The directory is /src.", "cache_control": CACHED},
]
TOOLS = [
    READ_TOOL,
    {
        "type": "custom",
        "name": "Bash",
        "description": "Runs a command.",
        "input_schema": {"type": "object", "properties": {"command": {"type": "string"}}},
        "cache_control": CACHED,
    },
]
QUESTION = {
    "role": "user",
    "content": [
        {"type": "text", "text": "<system-reminder>Today is Monday.</system-reminder>"},
        {"type": "text", "text": "What is in a.py?", "cache_control": CACHED},
    ],
}
TURN: dict[str, Any] = {
    "model": "demo",
    "max_tokens": 4000,
    "system": SYSTEM,
    "tools": TOOLS,
    "thinking": {"type": "enabled", "budget_tokens": 2000},
    **FIELDS,
}
CALL: list[Any] = [
    ReasoningDelta("I read it."),
    TextDelta("Let me see."),
    ToolCallDelta(0, '{"file_path"', "toolu_1", "Read"),
    ToolCallDelta(0, ': "a.py"}'),
    End("completed", "tool_calls", usage=Usage(90, 12, 64)),
]


@pytest.fixture
def claude(port: int) -> Iterator[anthropic.Anthropic]:
    with anthropic.Anthropic(
        base_url=f"http://127.0.0.1:{port}", auth_token=KEY, api_key=None, max_retries=0
    ) as client:
        yield client


def generations(fakes: Fakes) -> list[Generation]:
    return [Generation.from_json(job.generation) for job in fakes.ledger.jobs.values()]


def test_a_session_of_claude_code_is_answered(claude: anthropic.Anthropic, fakes: Fakes) -> None:
    title = claude.beta.messages.create(
        model="demo",
        max_tokens=512,
        system=[{"type": "text", "text": "Write a title."}],
        messages=[{"role": "user", "content": "What is in a.py?"}],
        extra_body={"temperature": 0},
        betas=BETAS,
    )
    assert title.content[0].text == "Hello."

    fakes.ledger.script = [*CALL]
    with claude.beta.messages.stream(**TURN, messages=[QUESTION]) as stream:
        answer = stream.get_final_message()
    assert answer.stop_reason == "tool_use"
    usage = answer.usage
    counts = (usage.input_tokens, usage.cache_creation_input_tokens, usage.cache_read_input_tokens)
    assert counts == (26, 0, 64)
    assert [block.type for block in answer.content] == ["thinking", "text", "tool_use"]
    assert answer.content[2].input == {"file_path": "a.py"}

    given = [block.model_dump(exclude_unset=True) for block in answer.content]
    lines = [{"type": "text", "text": "1  x = 1"}]
    result = {"type": "tool_result", "tool_use_id": answer.content[2].id, "content": lines}
    history = [
        QUESTION,
        {"role": "assistant", "content": given},
        {"role": "user", "content": [{**result, "cache_control": CACHED}]},
    ]
    fakes.ledger.script = [TextDelta("x is 1."), End("completed", "stop", usage=Usage(120, 5, 90))]
    with claude.beta.messages.stream(**TURN, messages=history) as stream:
        assert stream.get_final_text() == "x is 1."

    counted = {name: TURN[name] for name in ("model", "system", "tools", "thinking", "betas")}
    assert claude.beta.messages.count_tokens(**counted, messages=history).input_tokens == 120

    asked = generations(fakes)
    assert [generation.count_only for generation in asked] == [False, False, False, True]
    assert asked[1].thinking == "enabled"
    assert asked[3].messages == asked[2].messages
    assert asked[2].messages[2:] == (
        Message(
            "assistant",
            (TextPart("Let me see."),),
            reasoning="I read it.",
            tool_calls=(ToolCall("toolu_1", "Read", '{"file_path":"a.py"}'),),
        ),
        Message("tool", (TextPart("1  x = 1"),), tool_call_id="toolu_1"),
    )
