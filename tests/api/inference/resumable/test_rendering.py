"""The bytes of an answer follow from its log and the stored request alone, in every process."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson
import pytest

from api.inference.dialects.base import encode_metadata
from api.inference.resumable.rendering import DIALECTS
from streams.events import (
    End,
    Event,
    PromptProgress,
    ReasoningDelta,
    ScoredTextDelta,
    TextDelta,
    TokenLogprob,
    ToolCallDelta,
    Usage,
)
from tests.support.rendered_again import StoredAnswer, rendered, rendered_elsewhere
from tests.support.resumed_streams import requests

USAGE = Usage(12, 7, 3, 2)
END = End("completed", "stop", usage=USAGE, queue_ms=5, run_ms=70, first_ms=20)
SCORED = ScoredTextDelta("é!", (TokenLogprob("é", -0.5, b"\xc3", (TokenLogprob("a", -1.25),)),))
LOGS: Mapping[str, list[Event]] = {
    "text": [TextDelta("Hello"), TextDelta(" world \u2028"), TextDelta("\U0001f600"), END],
    "reasoning": [ReasoningDelta("hm"), ReasoningDelta("m"), TextDelta("yes"), END],
    "scored": [SCORED, SCORED, END],
    "calls": [
        TextDelta("I look."),
        ToolCallDelta(0, '{"a":', "call_1", "look"),
        ToolCallDelta(0, "1}"),
        ToolCallDelta(1, "{}", "call_2", "look"),
        End("completed", "tool_calls", usage=USAGE),
    ],
    "cut": [TextDelta("Hel"), End("incomplete", "length", usage=USAGE)],
    "failed": [TextDelta("Hel"), End("failed", code="engine_crashed", message="it crashed", run_ms=3)],
    "cancelled": [End("cancelled", code="cancelled")],
    "nothing": [END],
    "progress": [PromptProgress(12, 3, 3, 0), PromptProgress(12, 3, 12, 20), ReasoningDelta("hm"), END],
}
BODIES = {
    "responses": requests("hi", "demo")["responses"][1],
    "chat": requests("hi", "demo")["chat"][1],
    "completions": requests("hi", "demo")["completions"][1],
    "anthropic": requests("hi", "demo")["messages"][1],
    "ollama_chat": requests("hi", "demo")["ollama_chat"][1],
    "ollama_generate": requests("hi", "demo")["ollama_generate"][1],
    "llama_completion": {**requests("hi", "demo")["llama_completion"][1], "n_probs": 1},
    "llama_infill": {
        "model": "demo",
        "input_prefix": "a",
        "input_suffix": "b",
        "response_fields": ["content"],
    },
}


def test_every_dialect_that_can_be_read_again_is_rendered() -> None:
    assert set(BODIES) == set(DIALECTS)


@pytest.mark.rule("llama-server/stream-bytes")
def test_each_log_is_rendered_to_the_same_bytes_in_each_process() -> None:
    bodies = [*BODIES.items(), ("chat", requests("hi", "demo")["web_ui"][1])]
    answers = [answer for name, body in bodies for answer in stored_answers(name, body)]
    here = [rendered(answer) for answer in answers]
    assert here == [rendered(answer) for answer in answers]
    assert here == rendered_elsewhere(answers, 1) == rendered_elsewhere(answers, 2)


def stored_answers(name: str, body: dict[str, Any]) -> list[StoredAnswer]:
    """An answer to a request for each log."""
    echo = encode_metadata(DIALECTS[name].parse(body), 1_700_000_000).decode()
    return [StoredAnswer(name, echo, [event_text(event) for event in events]) for events in LOGS.values()]


def event_text(event: Event) -> str:
    """An event as the log has it."""
    if not isinstance(event, End):
        return event.encode().decode()
    fields = {name: getattr(event, name) for name in event.__slots__ if name != "usage"}
    usage = event.usage
    counts = {name: getattr(usage, name) for name in usage.__slots__} if usage else None
    return orjson.dumps({"t": "end", **fields, "usage": counts}).decode()
