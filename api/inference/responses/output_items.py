"""The items of a response's output (OpenAI API reference, "Responses": the types of output items).

An item is rendered twice: empty when it is opened, and with all of its output when it is closed.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import orjson

from api.inference.dialects.base import ResponseMetadata
from api.inference.dialects.custom_input import CustomInput, input_of
from api.inference.dialects.logprobs import token_list
from api.inference.dialects.output import ItemKind, OutputItem
from api.inference.dialects.packed_reasoning import packed
from api.inference.dialects.tool_names import TOOL_SEARCH, ToolNames
from streams.events import TokenLogprob

Json = dict[str, Any]

PACKS_REASONING = "packs_reasoning"
"""What the echo has where the request asks for the `encrypted_content` of reasoning; no key of a response."""


def opened_item(metadata: ResponseMetadata, item: OutputItem) -> Json:
    """The item as it is opened: empty. Its id follows from the response's, so that it is always the same."""
    suffix = f"{metadata.id.partition('_')[2]}{item.index:03x}"
    if item.kind is ItemKind.MESSAGE:
        return {
            "id": f"msg_{suffix}",
            "type": "message",
            "status": "in_progress",
            "role": "assistant",
            "content": [],
        }
    if item.kind is ItemKind.REASONING:
        return {
            "id": f"rs_{suffix}",
            "type": "reasoning",
            "status": "in_progress",
            "summary": [],
            "content": [],
            **({"encrypted_content": None} if PACKS_REASONING in metadata.echo else {}),
        }
    return _opened_call(metadata, item, suffix)


def _opened_call(metadata: ResponseMetadata, item: OutputItem, suffix: str) -> Json:
    """A call, with the name and the namespace of the tool as its client has declared it."""
    tool = ToolNames(metadata.echo.get("tools", ())).declared(item.name)
    if tool.kind == TOOL_SEARCH:
        return {
            "id": f"tsc_{suffix}",
            "type": "tool_search_call",
            "status": "in_progress",
            "call_id": item.call_id or f"call_{suffix}",
            "execution": "client",
            "arguments": {},
        }
    prefix, kind, written = _CUSTOM_CALL if tool.kind == "custom" else _FUNCTION_CALL
    return {
        "id": f"{prefix}_{suffix}",
        "type": kind,
        "status": "in_progress",
        "call_id": item.call_id or f"call_{suffix}",
        "name": tool.name,
        **({} if tool.namespace is None else {"namespace": tool.namespace}),
        written: "",
    }


_FUNCTION_CALL = ("fc", "function_call", "arguments")
_CUSTOM_CALL = ("ctc", "custom_tool_call", "input")
"""The prefix of a call's id, its type, and its field with what the model has written."""


def closed_item(opened: Json, item: OutputItem) -> Json:
    """The item with all of its output."""
    status = "completed" if item.complete else "incomplete"
    if opened["type"] == "tool_search_call":
        return {**opened, "status": status, "arguments": search_arguments(item.text)}
    if item.kind is ItemKind.CALL:
        written = {"arguments": item.text} if "arguments" in opened else {"input": input_of(item.text)}
        return {**opened, "status": status, **written}
    if "encrypted_content" in opened:
        opened = {**opened, "encrypted_content": packed(item.text)}
    return {**opened, "status": status, "content": [part_of(item, item.text, item.logprobs)]}


def search_arguments(text: str) -> Json:
    """The arguments of a search as an object; without any where the model has written something else."""
    try:
        found = orjson.loads(text or "{}")
    except orjson.JSONDecodeError:
        return {}
    return found if isinstance(found, dict) else {}


def part_of(item: OutputItem, text: str, tokens: Iterable[TokenLogprob] = ()) -> Json:
    """The only part of a message or a reasoning item."""
    if item.kind is ItemKind.REASONING:
        return {"type": "reasoning_text", "text": text}
    return {"type": "output_text", "text": text, "annotations": [], "logprobs": token_list(tokens)}


class CustomInputs:
    """Reads the inputs of a stream's calls of custom tools, piece by piece."""

    def __init__(self) -> None:
        self._readers: dict[int, CustomInput] = {}  # by the index of the item

    def add(self, item: OutputItem, piece: str) -> str:
        """Add a piece of a call's arguments. Returns what of the input it has completed."""
        return self._readers.setdefault(item.index, CustomInput()).add(piece)

    def finish(self, item: OutputItem) -> str:
        """The rest of a call's input, which is complete now."""
        reader = self._readers.pop(item.index, None)
        return "" if reader is None else reader.finish()
