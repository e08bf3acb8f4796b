"""The shortcut for texts, `StreamRenderer.render_text`: it writes the very bytes that `render` would give."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import pytest
from hypothesis import given

from api.inference.chat import dialect as chat
from api.inference.completions import dialect as completions
from api.inference.dialects.base import Dialect, ResponseMetadata
from api.inference.llama_server import completion as llama_completion
from api.inference.llama_server import infill as llama_infill
from api.inference.messages import dialect as anthropic_messages
from api.inference.ollama import chat as ollama_chat
from api.inference.ollama import generate as ollama_generate
from api.inference.responses import dialect as responses
from streams.events import End, Event, ReasoningDelta, ScoredTextDelta, TextDelta, TokenLogprob
from tests.support.event_logs import logs
from tests.support.rendering import render_stream

DIALECTS: tuple[Any, ...] = (
    *(anthropic_messages, chat, completions, llama_completion, llama_infill),
    *(ollama_chat, ollama_generate, responses),
)
ECHOES: tuple[dict[str, Any], ...] = (
    {},
    {"include_usage": True, "instructions": "100 % b"},
    {"background": True},
)
each_dialect = pytest.mark.parametrize("dialect", DIALECTS, ids=lambda module: str(module.NAME))


def shortcut_bytes(dialect: Dialect, metadata: ResponseMetadata, log: list[Event]) -> tuple[bytes, int]:
    """The stream as `StreamingReader` writes it, and how many events took the shortcut."""
    renderer = dialect.stream_renderer(metadata)
    written, count = dialect.FRAMING.encode(renderer.begin()), 0
    for event in log:
        text = event.text if isinstance(event, TextDelta) else ""
        frames = renderer.render_text(text) if text else b""
        written += frames or dialect.FRAMING.encode(renderer.render(event))
        count += bool(frames)
    return written, count


@each_dialect
@given(log=logs())
def test_render_text_writes_the_bytes_of_render(dialect: ModuleType, log: list[Event]) -> None:
    of: Any = dialect
    for echo in ECHOES:
        metadata = ResponseMetadata(f"{of.ID_PREFIX}{'ab' * 16}", 1_700_000_000, "100 %d", echo)
        whole = of.FRAMING.encode(render_stream(of.stream_renderer(metadata), log))
        assert shortcut_bytes(of, metadata, log)[0] == whole


@each_dialect
def test_render_text_renders_every_text_of_a_message_after_the_first(dialect: ModuleType) -> None:
    of: Any = dialect
    metadata = ResponseMetadata(f"{of.ID_PREFIX}1", 1, "demo", {})
    scored = ScoredTextDelta("s", (TokenLogprob("s", -0.5),))
    texts: list[Event] = [TextDelta(f"{number} ") for number in range(5)]
    log: list[Event] = [ReasoningDelta("r"), *texts, scored, *texts, End("completed", "stop")]
    written, count = shortcut_bytes(of, metadata, log)
    assert count >= 9
    assert written == of.FRAMING.encode(render_stream(of.stream_renderer(metadata), log))
    assert of.stream_renderer(metadata).render_text("") == b""


@pytest.mark.parametrize("dialect", [chat, responses], ids=lambda module: str(module.NAME))
def test_render_text_renders_the_first_text_when_it_opens_the_output(dialect: ModuleType) -> None:
    of: Any = dialect
    metadata = ResponseMetadata(f"{of.ID_PREFIX}1", 1, "demo", {})
    log: list[Event] = [TextDelta("a"), TextDelta("b"), End("completed", "stop")]
    assert shortcut_bytes(of, metadata, log)[1] == 2


def test_render_text_leaves_the_first_text_of_a_background_response_to_render() -> None:
    metadata = ResponseMetadata("resp_1", 1, "demo", {"background": True})
    log: list[Event] = [TextDelta("a"), TextDelta("b"), End("completed", "stop")]
    written, count = shortcut_bytes(responses, metadata, log)
    assert count == 1
    assert written.index(b"event: response.in_progress") < written.index(b"event: response.output_item.added")
