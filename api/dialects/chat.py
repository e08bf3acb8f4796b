"""OpenAI's Chat Completions (OpenAI API reference, "Chat Completions" and its chunk object).

Thoughts go into `reasoning_content`, the name that DeepSeek introduced and chat clients read. A stream that
fails tells it in a frame `{"error": {...}}`, which OpenAI's SDK raises.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from api.dialects.base import Frame, Head, ParsedRequest
from api.dialects.conversation import from_messages
from api.dialects.images import Images
from api.dialects.items import Answer, Item, Speech, Step, fold
from api.dialects.options import check_tool_choice, refuse, thinking_of
from api.errors import body_of, error_from_end
from streams.events import Event, Usage
from tasks.generation import Generation, NamedTool, Sampling, Tool, ToolChoiceMode

NAME = "chat"
ID_PREFIX = "chatcmpl-"
SHOWS_CANCELLED = False


# ---- parse


def parse(body: dict[str, Any]) -> ParsedRequest:
    """Understand a body of the shape `ChatRequest`. Raises `InvalidRequest`."""
    _refuse_unsupported(body)
    tools = tuple(_tool(raw["function"]) for raw in body.get("tools") or ())
    choice: ToolChoiceMode | dict[str, Any] = body.get("tool_choice") or "auto"
    images = Images()
    generation = Generation(
        model=body["model"],
        messages=from_messages(body["messages"], images),
        sampling=_sampling(body),
        tools=tools,
        tool_choice=check_tool_choice(
            NamedTool(choice["function"]["name"]) if isinstance(choice, dict) else choice, tools
        ),
        thinking=thinking_of(body, body.get("reasoning_effort")),
        source_lang_code=body.get("source_lang_code"),
        target_lang_code=body.get("target_lang_code"),
        allow_remote=bool(body.get("allow_remote")),
    )
    options = body.get("stream_options") or {}
    echo = {"include_usage": True} if options.get("include_usage") else {}
    return ParsedRequest(
        generation,
        echo,
        bool(body.get("stream")),
        images=tuple(images.places),
    )


def _refuse_unsupported(body: dict[str, Any]) -> None:
    refuse(body, "n", unless=(1,))
    refuse(body, "presence_penalty", unless=(0,))
    refuse(body, "frequency_penalty", unless=(0,))
    refuse(body, "logprobs", unless=(False,))
    refuse(body, "functions")
    refuse(body, "audio")


def _sampling(body: dict[str, Any]) -> Sampling:
    stop = body.get("stop") or ()
    most = body.get("max_completion_tokens")
    return Sampling(
        max_tokens=body.get("max_tokens") if most is None else most,
        temperature=body.get("temperature"),
        top_p=body.get("top_p"),
        seed=body.get("seed"),
        stop=(stop,) if isinstance(stop, str) else tuple(stop),
    )


def _tool(raw: dict[str, Any]) -> Tool:
    return Tool(raw["name"], raw.get("description"), raw.get("parameters"))


# ---- answer


def answer(head: Head, events: Iterable[Event], pending: str = "") -> dict[str, Any]:  # noqa: ARG001 - has no status
    """The chat.completion object of an answer that completed or ran out of tokens."""
    folded = fold(events)
    calls = folded.calls()
    text = folded.text(Speech.MESSAGE)
    message: dict[str, Any] = {
        "role": "assistant",
        "content": text if text or not calls else None,
        "refusal": None,
    }
    thoughts = folded.text(Speech.REASONING)
    if thoughts:
        message["reasoning_content"] = thoughts
    if calls:
        message["tool_calls"] = [_call(head, item) for item in calls]
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": _finish_reason(folded)}
    return {
        "id": head.id,
        "object": "chat.completion",
        "created": head.created_at,
        "model": head.model,
        "choices": [choice],
        "usage": _usage(folded.usage),
    }


def _call(head: Head, item: Item) -> dict[str, Any]:
    function = {"name": item.name, "arguments": item.text}
    return {"id": _call_id(head, item), "type": "function", "function": function}


def _call_id(head: Head, item: Item) -> str:
    return item.call_id or f"call_{head.id.removeprefix(ID_PREFIX)}{item.call:03x}"


def _finish_reason(folded: Answer) -> str:
    if folded.status == "incomplete":
        filtered = folded.end is not None and folded.end.finish_reason == "content_filter"
        return "content_filter" if filtered else "length"
    return "tool_calls" if folded.calls() else "stop"


def _usage(usage: Usage) -> dict[str, Any]:
    return {
        "prompt_tokens": usage.input_tokens,
        "completion_tokens": usage.output_tokens,
        "total_tokens": usage.total_tokens,
        "prompt_tokens_details": {"cached_tokens": usage.cached_tokens},
        "completion_tokens_details": {"reasoning_tokens": usage.reasoning_tokens},
    }


# ---- stream


class _Rendering:
    """An answer told as chat.completion.chunk objects."""

    def __init__(self, head: Head) -> None:
        self._head = head
        self._answer = Answer()
        self._with_usage = bool(head.echo.get("include_usage"))

    def begin(self) -> list[Frame]:
        """The chunk that names the speaker."""
        return [self._chunk({"role": "assistant", "content": ""})]

    def tell(self, event: Event) -> list[Frame]:
        """The chunks of one event; an end that is no answer is told as an error."""
        frames = [
            self._chunk(delta)
            for step, item, piece in self._answer.take(event)
            if (delta := self._delta(step, item, piece)) is not None
        ]
        if self._answer.end is not None:
            frames += self._finish()
        return frames

    def _delta(self, step: Step, item: Item, piece: str) -> dict[str, Any] | None:
        if item.speech is Speech.CALL:
            return self._call_delta(step, item, piece)
        if step is not Step.GREW:
            return None
        return {"content" if item.speech is Speech.MESSAGE else "reasoning_content": piece}

    def _call_delta(self, step: Step, item: Item, piece: str) -> dict[str, Any] | None:
        if step is Step.CLOSED:
            return None
        call: dict[str, Any] = {"index": item.call}
        if step is Step.OPENED:
            call |= {"id": _call_id(self._head, item), "type": "function"}
            call["function"] = {"name": item.name, "arguments": ""}
        else:
            call["function"] = {"arguments": piece}
        return {"tool_calls": [call]}

    def _finish(self) -> list[Frame]:
        end = self._answer.end
        if end is None or self._answer.status in ("failed", "cancelled"):
            return [("", body_of(error_from_end(end)))] if end else []
        frames = [self._chunk({}, _finish_reason(self._answer))]
        if self._with_usage:
            frames.append(self._frame(choices=[], usage=_usage(self._answer.usage)))
        return frames

    def _chunk(self, delta: dict[str, Any], finish_reason: str | None = None) -> Frame:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish_reason}
        if self._with_usage:
            return self._frame(choices=[choice], usage=None)
        return self._frame(choices=[choice])

    def _frame(self, **rest: object) -> Frame:
        head = self._head
        return "", {
            "id": head.id,
            "object": "chat.completion.chunk",
            "created": head.created_at,
            "model": head.model,
            **rest,
        }


def rendering(head: Head) -> _Rendering:
    """Begin to tell an answer."""
    return _Rendering(head)
