"""The conversation of a request to Anthropic's Messages becomes `Message`s.

The body has been validated against its schema; this module checks what a schema cannot express.
"""

from __future__ import annotations

from typing import Any

import orjson

from api.http.errors import InvalidRequest
from api.inference.dialects.attachments import Attachments
from api.inference.dialects.message_content import IMAGES_OF_CALL
from generation.generation import ContentPart, Message, TextPart, ToolCall, text_content

Json = dict[str, Any]

FAILED_CALL = "The call failed: "
"""What the model reads before the result of a call with `is_error`; chat templates have no place for it."""

OF_USERS = ("text", "image", "document", "tool_result", "search_result")
OF_ASSISTANTS = ("text", "tool_use", "thinking", "redacted_thinking")
KNOWN = (*OF_USERS, *OF_ASSISTANTS)
"""The types of blocks; those of other types are left out of the assistant's messages."""


def from_anthropic(body: Json, attachments: Attachments) -> tuple[Message, ...]:
    """The system prompt and the messages of a body that fits `MessagesRequest`.

    Raises `InvalidRequest` for a block that the role of its message forbids.
    """
    messages = [Message("system", _texts(body["system"]))] if body.get("system") else []
    for index, raw in enumerate(body["messages"]):
        messages += _messages(raw, f"messages[{index}]", attachments)
    return tuple(messages)


def _messages(raw: Json, param: str, attachments: Attachments) -> list[Message]:
    role, content = raw["role"], raw["content"]
    blocks: list[Json] = [{"type": "text", "text": content}] if isinstance(content, str) else content
    match role:
        case "assistant":
            _check([block for block in blocks if block["type"] in KNOWN], role, OF_ASSISTANTS, param)
            return [_assistant(blocks)]
        case "user":
            _check(blocks, role, OF_USERS, param)
            return _user(blocks, param, attachments)
        case _:
            _check(blocks, role, ("text",), param)
            return [Message("system", _texts(blocks))]


def _check(blocks: list[Json], role: str, allowed: tuple[str, ...], param: str) -> None:
    for index, block in enumerate(blocks):
        if block["type"] not in allowed:
            raise InvalidRequest(
                f"messages with the role {role} may contain {', '.join(allowed)}, not {block['type']}",
                code="invalid_request" if block["type"] in KNOWN else "unsupported_input",
                param=f"{param}.content[{index}].type",
            )


def _assistant(blocks: list[Json]) -> Message:
    of_type = {kind: [block for block in blocks if block["type"] == kind] for kind in OF_ASSISTANTS}
    return Message(
        "assistant",
        _texts(of_type["text"]),
        reasoning="".join(block["thinking"] for block in of_type["thinking"]) or None,
        tool_calls=tuple(
            ToolCall(block["id"], block["name"], orjson.dumps(block["input"]).decode())
            for block in of_type["tool_use"]
        ),
    )


def _user(blocks: list[Json], param: str, attachments: Attachments) -> list[Message]:
    """The results of calls first, each a message of its own, then the rest as one message of the user.

    Chat templates have no place for images in a result: these begin the user's message, after a text that
    names the call.
    """
    results: list[Message] = []
    shown: list[ContentPart] = []
    content: list[ContentPart] = []
    for index, block in enumerate(blocks):
        path = f"{param}.content[{index}]"
        if block["type"] != "tool_result":
            content += _parts(block, path, attachments)
            continue
        parts = _result(block, path, attachments)
        texts = tuple(part for part in parts if isinstance(part, TextPart))
        results.append(Message("tool", texts, tool_call_id=block["tool_use_id"]))
        if len(texts) < len(parts):
            shown.append(TextPart(IMAGES_OF_CALL.format(block["tool_use_id"])))
            shown += (part for part in parts if not isinstance(part, TextPart))
    if shown or content or not results:
        results.append(Message("user", (*shown, *content)))
    return results


def _result(block: Json, param: str, attachments: Attachments) -> tuple[ContentPart, ...]:
    content = block.get("content") or ""
    if isinstance(content, str):
        parts = text_content(content)
    else:
        parts = tuple(
            part
            for index, inner in enumerate(content)
            if inner.get("text") != ""
            for part in _parts(inner, f"{param}.content[{index}]", attachments)
        )
    return (TextPart(FAILED_CALL), *parts) if block.get("is_error") else parts


def _parts(block: Json, param: str, attachments: Attachments) -> tuple[ContentPart, ...]:
    """The parts of one block, which stands at the path `param`."""
    if block["type"] == "image":
        source = block["source"]
        url = f"data:{source['media_type']};base64,{source['data']}"
        return (attachments.add_url(url, None, param, f"{param}.source"),)
    if block["type"] == "document":
        return _document(block, f"{param}.source", attachments)
    if block["type"] == "search_result":
        return (TextPart("\n".join((block["title"], block["source"], *_lines(block["content"])))),)
    if block["type"] == "tool_reference":
        return (TextPart(block["tool_name"]),)
    return (TextPart(block["text"]),)


def _lines(content: list[Json]) -> list[str]:
    return [part["text"] for part in content]


def _document(block: Json, param: str, attachments: Attachments) -> tuple[ContentPart, ...]:
    """The parts of a document, whose source stands at `param`; its title and context precede its text."""
    heading = "\n".join(filter(None, (block.get("title"), block.get("context"))))
    source = block["source"]
    match source["type"]:
        case "base64":
            media_type = source["media_type"]
            return (
                attachments.add_document(source["data"], media_type, "", f"{param}.data", heading=heading),
            )
        case "file":
            return (attachments.add_stored(source["file_id"], f"{param}.file_id", heading=heading),)
    content = source["data"] if source["type"] == "text" else source["content"]
    if isinstance(content, str):
        return (TextPart("\n".join(filter(None, (heading, content)))),)
    parts = tuple(
        part
        for index, inner in enumerate(content)
        for part in _parts(inner, f"{param}.content[{index}]", attachments)
    )
    return (TextPart(f"{heading}\n"), *parts) if heading else parts


def _texts(content: str | list[Json]) -> tuple[ContentPart, ...]:
    if isinstance(content, str):
        return text_content(content)
    return tuple(TextPart(block["text"]) for block in content if block["text"])
