"""The items of a conversation as they are stored and listed (OpenAI API reference, "Conversations").

They are what clients sent, complete: with ids, and with texts as parts.
`api.inference.dialects.response_items` reads them again for each response.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterable
from typing import Any

from api.http.errors import InvalidRequest

Json = dict[str, Any]

PREFIXES = {
    "message": "msg",
    "function_call": "fc",
    "function_call_output": "fco",
    "custom_tool_call": "ctc",
    "custom_tool_call_output": "ctco",
    "tool_search_call": "tsc",
    "tool_search_output": "tso",
    "reasoning": "rs",
    "compaction": "cmp",
}
KEYS = {
    "message": ("role", "content"),
    "function_call": ("call_id", "name", "namespace", "arguments"),
    "function_call_output": ("call_id", "output"),
    "custom_tool_call": ("call_id", "name", "namespace", "input"),
    "custom_tool_call_output": ("call_id", "output"),
    "tool_search_call": ("call_id", "execution", "arguments"),
    "tool_search_output": ("call_id", "execution", "tools"),
    "reasoning": ("summary", "content", "encrypted_content"),
    "compaction": ("encrypted_content",),
}
"""The fields of each type of item, beside `id`, `type` and `status`."""

OUTPUTS = ("function_call_output", "custom_tool_call_output")
CALLS = ("function_call", "custom_tool_call", "tool_search_call")

OWN_ID = re.compile(r"[a-z]{2,5}_[A-Za-z0-9-]{8,64}")
"""The form of an item's id."""

FILE_KEYS = ("filename", "file_data", "file_id")


def new_items(given: str | list[Json] | None) -> list[Json]:
    """The `input` of a request as items."""
    if isinstance(given, str):
        return [{"type": "message", "role": "user", "content": given}] if given else []
    return given or []


def stored_items(given: Iterable[Json]) -> list[Json]:
    """Items that fit the schema of `input`, with new ids, in the form that is stored.

    Those of types that are not known here are left out.
    """
    return [_stored(item) for item in given if _is_known(item)]


def own_items(given: Iterable[Json], param: str) -> list[Json]:
    """The same, of which those with an `id` keep it. `param` is the field of the body that has them.

    Raises `InvalidRequest` for an id that is none of an item, and for one that two items have.
    """
    found = []
    ids: set[str] = set()
    for at, item in enumerate(given):
        if not _is_known(item):
            continue
        stored = _stored(item)
        if (id := item.get("id")) is not None:
            if not isinstance(id, str) or not OWN_ID.fullmatch(id) or id in ids:
                raise InvalidRequest(
                    "must be 2 to 5 letters, an underscore, and 8 to 64 letters, digits and hyphens,"
                    " and belong to one item",
                    param=f"{param}[{at}].id",
                )
            ids.add(id)
            stored["id"] = id
        found.append(stored)
    return found


def placed_items(given: Iterable[Json], facts: Iterable[str], param: str) -> list[Json]:
    """The same. Those with a `parent_id` keep that, their `id`, their `usage`, and these `facts`; others do
    not.

    Raises `InvalidRequest` as well.
    """
    known = [item for item in given if _is_known(item)]
    named = [item if "parent_id" in item else {**item, "id": None} for item in known]
    found = own_items(named, param)
    for item, stored in zip(known, found, strict=True):
        if "parent_id" in item:
            stored["parent_id"] = item["parent_id"]
            stored |= {key: item[key] for key in facts if item.get(key) is not None}
            if usage := item.get("usage"):
                stored["usage"] = counted(usage)
    return found


def counted(usage: Json) -> Json:
    """The usage of a response, of which a client knows some counts."""
    counts = {key: usage.get(key) or 0 for key in ("input_tokens", "output_tokens")}
    return {
        **counts,
        "input_tokens_details": {"cached_tokens": _detail(usage, "input_tokens_details", "cached_tokens")},
        "output_tokens_details": {
            "reasoning_tokens": _detail(usage, "output_tokens_details", "reasoning_tokens")
        },
        "total_tokens": sum(counts.values()),
    }


def _detail(usage: Json, details: str, name: str) -> int:
    """A count of the details; 0 for what is none."""
    found = usage.get(details)
    count = found.get(name) if isinstance(found, dict) else None
    return count if type(count) is int and 0 <= count < 1 << 31 else 0


def _is_known(item: Json) -> bool:
    return (item.get("type") or "message") in KEYS


def _stored(item: Json) -> Json:
    kind = item.get("type") or "message"
    rest = {key: item[key] for key in KEYS[kind] if item.get(key) is not None}
    if kind == "message":
        text_type = "output_text" if item["role"] == "assistant" else "input_text"
        rest["content"] = _parts(item["content"], text_type)
    elif kind in OUTPUTS:
        if not isinstance(item["output"], str):
            rest["output"] = _parts(item["output"], "input_text")
        if item.get("status") == "incomplete":
            rest["status"] = "incomplete"
    elif kind == "reasoning":
        rest = {"summary": [], **rest}
    return {"id": f"{PREFIXES[kind]}_{secrets.token_hex(16)}", "type": kind, "status": "completed", **rest}


def _parts(content: str | list[Json], text_type: str) -> list[Json]:
    if isinstance(content, str):
        content = [{"type": text_type, "text": content}]
    return [_part(part) for part in content]


def _part(part: Json) -> Json:
    match part["type"]:
        case "output_text":
            return {"type": "output_text", "text": part["text"], "annotations": [], "logprobs": []}
        case "input_image":
            detail = part.get("detail") or "auto"
            return {"type": "input_image", "image_url": part["image_url"], "detail": detail, "file_id": None}
        case "input_audio":
            audio = part["input_audio"]
            given = {"data": audio["data"], "format": audio["format"]}
            return {"type": "input_audio", "input_audio": given}
        case "input_file":
            given = {key: part[key] for key in FILE_KEYS if part.get(key) is not None}
            return {"type": "input_file", **given}
        case "refusal":
            return {"type": "refusal", "refusal": part["refusal"]}
        case kind:
            return {"type": kind, "text": part["text"]}


def output_items(response: Json) -> list[Json]:
    """The output of a response object as items; without calls whose arguments were cut off."""
    return [item for item in response["output"] if item["type"] not in CALLS or item["status"] == "completed"]
