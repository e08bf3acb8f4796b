"""Event logs: strategies for Hypothesis, and reading one from Redis."""

from __future__ import annotations

from typing import Any

import redis
from hypothesis import strategies as st

from streams.events import End, Event, PromptProgress, ReasoningDelta, TextDelta, ToolCallDelta, Usage, decode
from streams.log import log_key

texts = st.text(max_size=6)
tokens = st.integers(0, 1000)


def _call(index: int, piece: str) -> ToolCallDelta:
    return ToolCallDelta(index, piece, f"call_{index}", f"tool_{index}")


deltas = st.one_of(
    st.builds(TextDelta, texts),
    st.builds(ReasoningDelta, texts),
    st.builds(_call, st.integers(0, 2), texts),
)
usages = st.one_of(st.none(), st.builds(Usage, tokens, tokens, tokens, tokens))
ends = st.one_of(
    st.builds(End, st.just("completed"), st.sampled_from(["stop", "tool_calls"]), usage=usages),
    st.builds(End, st.just("incomplete"), st.just("length"), usage=usages, run_ms=tokens),
    st.builds(End, st.just("cancelled"), code=st.sampled_from([None, "cancelled", "model_unloading"])),
    st.builds(
        End,
        st.just("failed"),
        code=st.sampled_from(["engine_crashed", "queue_timeout", "invalid_prompt", "not_in_the_table"]),
        message=st.one_of(st.none(), texts),
        run_ms=tokens,
    ),
)


@st.composite
def logs(draw: st.DrawFn) -> list[Event]:
    progress = draw(st.lists(st.builds(PromptProgress, tokens, tokens, tokens, tokens), max_size=2))
    return [*progress, *draw(st.lists(deltas, max_size=12)), draw(ends)]


def read_log(client: redis.Redis, prefix: str, id: str) -> list[tuple[int, Event]]:
    """(number, event) of all that is in a response's log."""
    entries: Any = client.xrange(log_key(prefix, id))
    return [(int(entry_id.split(b"-")[0]), decode(fields[b"e"])) for entry_id, fields in entries]
