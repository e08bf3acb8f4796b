"""OpenAI's Responses API (OpenAI API reference, "Responses" and its streaming events; Open Responses).

Three points where the sources leave room, and what is done here:

- Raw thoughts are told as `response.reasoning_text.*`, as OpenAI's SDK types them.
- A failed response carries one of OpenAI's error codes, since the SDK's list is closed; the platform's own
  code leads the message ("engine_crashed: ...").
- There is no `response.cancelled` event. A stream whose response the client cancelled ends with
  `response.incomplete`, and the response in it has the status `cancelled`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from api.dialects.base import Frame, Head, ParsedRequest
from api.dialects.conversation import from_input, from_messages
from api.dialects.images import Images
from api.dialects.items import Answer, Item, Speech, Step, fold
from api.dialects.options import check_tool_choice, refuse, thinking_of
from api.errors import InvalidRequest, error_from_end, kind_of
from streams.events import Event, Usage
from tasks.generation import Generation, Message, NamedTool, Sampling, Tool, ToolChoiceMode, text_content

NAME = "responses"
ID_PREFIX = "resp_"
SHOWS_CANCELLED = True

ECHO_DEFAULTS: Mapping[str, Any] = {
    "background": False,
    "instructions": None,
    "max_output_tokens": None,
    "max_tool_calls": None,
    "parallel_tool_calls": True,
    "previous_response_id": None,
    "prompt_cache_key": None,
    "reasoning": {"effort": None, "summary": None},
    "safety_identifier": None,
    "service_tier": "default",
    "store": True,
    "temperature": None,
    "text": {"format": {"type": "text"}},
    "tool_choice": "auto",
    "tools": [],
    "top_logprobs": 0,
    "top_p": None,
    "presence_penalty": 0,
    "frequency_penalty": 0,
    "truncation": "disabled",
    "metadata": {},
}
"""What a response repeats of its request. The echo holds only what differs."""

_REPEATED = (
    "background",
    "instructions",
    "max_output_tokens",
    "max_tool_calls",
    "parallel_tool_calls",
    "prompt_cache_key",
    "safety_identifier",
    "store",
    "temperature",
    "tool_choice",
    "top_p",
    "truncation",
    "metadata",
)


# ---- parse


def parse(body: dict[str, Any]) -> ParsedRequest:
    """Understand a body of the shape `ResponsesRequest`. Raises `InvalidRequest`."""
    _refuse_unsupported(body)
    reasoning = body.get("reasoning") or {}
    tools = tuple(_tool(raw) for raw in body.get("tools") or ())
    choice: ToolChoiceMode | dict[str, Any] = body.get("tool_choice") or "auto"
    images = Images()
    generation = Generation(
        model=body["model"],
        messages=_messages(body, images),
        sampling=Sampling(
            max_tokens=body.get("max_output_tokens"),
            temperature=body.get("temperature"),
            top_p=body.get("top_p"),
        ),
        tools=tools,
        tool_choice=check_tool_choice(
            NamedTool(choice["name"]) if isinstance(choice, dict) else choice, tools
        ),
        thinking=thinking_of(body, reasoning.get("effort")),
        source_lang_code=body.get("source_lang_code"),
        target_lang_code=body.get("target_lang_code"),
        allow_remote=bool(body.get("allow_remote")),
    )
    store, background = body.get("store") is not False, bool(body.get("background"))
    if background and not store:
        raise InvalidRequest("a background response has to be stored", param="background")
    return ParsedRequest(
        generation,
        _echo(body),
        bool(body.get("stream")),
        store,
        background,
        conversation="messages" if body.get("input") is None else "input",
        images=tuple(images.places),
    )


def _refuse_unsupported(body: dict[str, Any]) -> None:
    refuse(body, "previous_response_id")
    refuse(body, "conversation")
    refuse(body, "prompt")
    refuse(body, "top_logprobs", unless=(0,))


def _messages(body: dict[str, Any], images: Images) -> tuple[Message, ...]:
    given, messages = body.get("input"), body.get("messages")
    if given is not None and messages is not None:
        raise InvalidRequest("input and messages exclude each other", param="messages")
    if given is None and messages is None:
        raise InvalidRequest("input is required", param="input")
    conversation = from_input(given or "", images) if messages is None else from_messages(messages, images)
    instructions = body.get("instructions")
    return (Message("system", text_content(instructions)), *conversation) if instructions else conversation


def _tool(raw: dict[str, Any]) -> Tool:
    return Tool(raw["name"], raw.get("description"), raw.get("parameters"))


def _echo(body: dict[str, Any]) -> dict[str, Any]:
    echo = {key: body[key] for key in _REPEATED if body.get(key) is not None}
    if body.get("tools"):
        echo["tools"] = [_tool_echo(raw) for raw in body["tools"]]
    if body.get("reasoning"):
        echo["reasoning"] = {key: body["reasoning"].get(key) for key in ("effort", "summary")}
    return echo


def _tool_echo(raw: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "function",
        "name": raw["name"],
        "description": raw.get("description"),
        "parameters": raw.get("parameters"),
        "strict": raw.get("strict"),
    }


# ---- answer


def answer(head: Head, events: Iterable[Event], pending: str = "in_progress") -> dict[str, Any]:
    """The Response object, as far as the events go; without an end its status is `pending`."""
    folded = fold(events)
    return _response(head, folded, folded.status or pending)


def _response(head: Head, folded: Answer, status: str) -> dict[str, Any]:
    end = folded.end
    took_s = (end.queue_ms + end.run_ms) // 1000 if end else 0
    return {
        "id": head.id,
        "object": "response",
        "created_at": head.created_at,
        "completed_at": head.created_at + took_s if end else None,
        "status": status,
        "model": head.model,
        **ECHO_DEFAULTS,
        **head.echo,
        "error": _error(folded) if status == "failed" else None,
        "incomplete_details": {"reason": _cut_off(folded)} if status == "incomplete" else None,
        "output": [_item(head, item) for item in folded.items],
        "usage": _usage(folded.usage) if end else None,
    }


def _cut_off(folded: Answer) -> str:
    """Why an answer is incomplete. Only a server elsewhere filters what it says."""
    filtered = folded.end is not None and folded.end.finish_reason == "content_filter"
    return "content_filter" if filtered else "max_output_tokens"


def _error(folded: Answer) -> dict[str, str]:
    assert folded.end is not None  # noqa: S101 - only an ended answer has failed
    error = error_from_end(folded.end)
    return {"code": kind_of(error.code).response_code, "message": f"{error.code}: {error.message}"}


def _usage(usage: Usage) -> dict[str, Any]:
    return {
        "input_tokens": usage.input_tokens,
        "input_tokens_details": {"cached_tokens": usage.cached_tokens, "cache_write_tokens": 0},
        "output_tokens": usage.output_tokens,
        "output_tokens_details": {"reasoning_tokens": usage.reasoning_tokens},
        "total_tokens": usage.total_tokens,
    }


# ---- items

_ITEM_PREFIX = {Speech.REASONING: "rs", Speech.MESSAGE: "msg", Speech.CALL: "fc"}


def _item_id(head: Head, item: Item) -> str:
    """An item's id follows from the response's, so that each rendering gives the same one."""
    return f"{_ITEM_PREFIX[item.speech]}_{head.id.removeprefix(ID_PREFIX)}{item.index:03x}"


def _item(head: Head, item: Item, status: str | None = None) -> dict[str, Any]:
    """An item as it is now; with the status `in_progress` as it was when it was opened, empty."""
    opening = status == "in_progress"
    text = "" if opening else item.text
    if item.speech is Speech.CALL:
        return {
            "id": _item_id(head, item),
            "type": "function_call",
            "status": status or _item_status(item),
            "call_id": item.call_id or f"call_{head.id.removeprefix(ID_PREFIX)}{item.index:03x}",
            "name": item.name,
            "arguments": text,
        }
    content = [] if opening else [_part(item, text)]
    rest: dict[str, Any] = {"role": "assistant"} if item.speech is Speech.MESSAGE else {"summary": []}
    kind = "message" if item.speech is Speech.MESSAGE else "reasoning"
    return {
        "id": _item_id(head, item),
        "type": kind,
        "status": status or _item_status(item),
        **rest,
        "content": content,
    }


def _item_status(item: Item) -> str:
    return "completed" if item.whole else "incomplete"


def _part(item: Item, text: str) -> dict[str, Any]:
    if item.speech is Speech.REASONING:
        return {"type": "reasoning_text", "text": text}
    return {"type": "output_text", "text": text, "annotations": [], "logprobs": []}


# ---- stream


class _Rendering:
    """A response told as server-sent events, each with the next `sequence_number`."""

    def __init__(self, head: Head) -> None:
        self._head = head
        self._answer = Answer()
        self._number = 0
        self._begun = False

    def begin(self) -> list[Frame]:
        """Created; then in progress, unless it is a background response, which is queued until it speaks."""
        if self._head.echo.get("background"):
            return [self._whole("response.created", "queued"), self._whole("response.queued", "queued")]
        return [self._whole("response.created", "in_progress"), self._progress()]

    def tell(self, event: Event) -> list[Frame]:
        """The frames of one event."""
        frames = [] if self._begun else [self._progress()]
        for change in self._answer.take(event):
            frames += self._change(*change)
        status = self._answer.status
        if status is not None:
            name = "response.incomplete" if status == "cancelled" else f"response.{status}"
            frames.append(self._whole(name, status))
        return frames

    def _progress(self) -> Frame:
        self._begun = True
        return self._whole("response.in_progress", "in_progress")

    def _whole(self, name: str, status: str) -> Frame:
        return self._frame(name, response=_response(self._head, self._answer, status))

    def _frame(self, event: str, /, **data: object) -> Frame:
        number, self._number = self._number, self._number + 1
        return event, {"type": event, "sequence_number": number, **data}

    def _change(self, step: Step, item: Item, piece: str) -> list[Frame]:
        place = {"item_id": _item_id(self._head, item), "output_index": item.index}
        if step is Step.OPENED:
            return self._opened(item, place)
        if step is Step.CLOSED:
            return self._closed(item, place)
        if item.speech is Speech.CALL:
            return [self._frame("response.function_call_arguments.delta", **place, delta=piece)]
        if item.speech is Speech.REASONING:
            return [self._frame("response.reasoning_text.delta", **place, content_index=0, delta=piece)]
        return [self._frame("response.output_text.delta", **place, content_index=0, delta=piece, logprobs=[])]

    def _opened(self, item: Item, place: dict[str, Any]) -> list[Frame]:
        shown = _item(self._head, item, "in_progress")
        frames = [self._frame("response.output_item.added", output_index=item.index, item=shown)]
        if item.speech is not Speech.CALL:
            part = _part(item, "")
            frames.append(self._frame("response.content_part.added", **place, content_index=0, part=part))
        return frames

    def _closed(self, item: Item, place: dict[str, Any]) -> list[Frame]:
        text = item.text
        if item.speech is Speech.CALL:
            name = "response.function_call_arguments.done"
            frames = [self._frame(name, **place, name=item.name, arguments=text)]
        else:
            frames = self._text_done(item, place, text)
            part = _part(item, text)
            frames.append(self._frame("response.content_part.done", **place, content_index=0, part=part))
        shown = _item(self._head, item)
        return [*frames, self._frame("response.output_item.done", output_index=item.index, item=shown)]

    def _text_done(self, item: Item, place: dict[str, Any], text: str) -> list[Frame]:
        if item.speech is Speech.REASONING:
            return [self._frame("response.reasoning_text.done", **place, content_index=0, text=text)]
        return [self._frame("response.output_text.done", **place, content_index=0, text=text, logprobs=[])]


def rendering(head: Head) -> _Rendering:
    """Begin to tell a response."""
    return _Rendering(head)
