"""The members that OpenAI's objects of Chat Completions and of Completions share."""

from __future__ import annotations

from typing import Any

from api.inference.dialects.output import ResponseOutput
from streams.events import Usage


def finish_reason(output: ResponseOutput) -> str:
    """The `finish_reason` of a choice whose output is complete."""
    if output.status == "incomplete":
        filtered = output.end is not None and output.end.finish_reason == "content_filter"
        return "content_filter" if filtered else "length"
    return "tool_calls" if output.calls() else "stop"


def usage_object(usage: Usage) -> dict[str, Any]:
    """The `usage` of a completion."""
    return {
        "prompt_tokens": usage.input_tokens,
        "completion_tokens": usage.output_tokens,
        "total_tokens": usage.total_tokens,
        "prompt_tokens_details": {"cached_tokens": usage.cached_tokens},
        "completion_tokens_details": {"reasoning_tokens": usage.reasoning_tokens},
    }
