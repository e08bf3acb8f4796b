"""From the body of a chat completion to that of a streamed POST /v1/responses.

OpenAI API reference, "Responses". It knows no seed and no stop texts.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from backends.base import GenerationError

SAME = ("model", "temperature", "top_p")


def responses_body(chat: dict[str, Any]) -> dict[str, Any]:
    """The same request. Raises `GenerationError` (unsupported_parameter) for what would change the answer."""
    if "stop" in chat:
        raise GenerationError("unsupported_parameter", "the server of this model takes no stop texts")
    body: dict[str, Any] = {name: chat[name] for name in SAME if name in chat}
    body |= {"input": [item for message in chat["messages"] for item in _items(message)]}
    body |= {"stream": True, "store": False}
    if "max_tokens" in chat:
        body["max_output_tokens"] = chat["max_tokens"]
    if "tools" in chat:
        # by itself it would hold arguments to the schema, unlike chat completions, and refuse many schemas
        body["tools"] = [{"type": "function", "strict": False, **tool["function"]} for tool in chat["tools"]]
        body["tool_choice"] = chat["tool_choice"]
    return body


def _items(message: dict[str, Any]) -> Iterator[dict[str, Any]]:
    if message["role"] == "tool":
        call = message["tool_call_id"]
        yield {"type": "function_call_output", "call_id": call, "output": message["content"]}
        return
    if thoughts := message.get("reasoning_content"):
        yield {"type": "reasoning", "summary": [], "content": [{"type": "reasoning_text", "text": thoughts}]}
    if message["content"]:
        yield {"role": message["role"], "content": _content(message["content"])}
    for call in message.get("tool_calls", ()):
        yield {"type": "function_call", "call_id": call["id"], **call["function"]}


def _content(content: str | list[dict[str, Any]]) -> str | list[dict[str, Any]]:
    return content if isinstance(content, str) else [_part(part) for part in content]


def _part(part: dict[str, Any]) -> dict[str, Any]:
    if part["type"] == "text":
        return {"type": "input_text", "text": part["text"]}
    image = part["image_url"]
    return {"type": "input_image", "image_url": image["url"], "detail": image.get("detail", "auto")}
