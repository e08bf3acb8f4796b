"""From a `Generation` to the body of a streamed POST /v1/chat/completions. Nothing else is sent."""

from __future__ import annotations

from typing import Any

from backends.prompt_formats import TRANSLATE_GEMMA
from backends.shared import translation
from tasks.generation import Generation, Image, Message, Tool


def chat_body(generation: Generation, prompt_format: str) -> dict[str, Any]:
    """The body that any OpenAI-compatible engine understands. Raises `GenerationError` (invalid_prompt)."""
    body: dict[str, Any] = {
        "model": generation.model,
        "messages": _messages(generation, prompt_format),
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    sampling = generation.sampling
    for name in ("max_tokens", "temperature", "top_p", "seed"):
        if (value := getattr(sampling, name)) is not None:
            body[name] = value
    if sampling.stop:
        body["stop"] = list(sampling.stop)
    if generation.thinking != "default":
        body["chat_template_kwargs"] = {"enable_thinking": generation.thinking == "enabled"}
    if generation.tools and generation.tool_choice != "none":  # what a model does not see it does not call
        body |= _tools(generation.tools, generation.tool_choice)
    return body


def llama_body(generation: Generation, prompt_format: str) -> dict[str, Any]:
    """`chat_body`, and TranslateGemma's languages as arguments of the template.

    llama.cpp's server passes on only the text of a part, and some files hold a template that looks for the
    languages beside it.
    """
    body = chat_body(generation, prompt_format)
    if generation.target_lang_code is not None and prompt_format == TRANSLATE_GEMMA:
        body["chat_template_kwargs"] = {**body.get("chat_template_kwargs", {}), **_codes(body)}
    return body


def _codes(body: dict[str, Any]) -> dict[str, str]:
    parts = (part for message in body["messages"] for part in message["content"] if isinstance(part, dict))
    return {key: value for part in parts for key, value in part.items() if key.endswith("_lang_code")}


def _messages(generation: Generation, prompt_format: str) -> list[dict[str, Any]]:
    messages = [_message(message) for message in generation.messages]
    if generation.target_lang_code is None:
        return messages
    if prompt_format == TRANSLATE_GEMMA:
        asked = next((m for m in reversed(messages) if m["role"] == "user"), None)
        if asked is not None:
            asked["content"] = translation.structured(generation, asked["content"])
        return messages
    wish = translation.instruction(generation)
    if messages and messages[0]["role"] == "system":  # many templates take one system message only
        messages[0]["content"] = f"{wish}\n\n{messages[0]['content']}"
        return messages
    return [{"role": "system", "content": wish}, *messages]


def _message(message: Message) -> dict[str, Any]:
    raw: dict[str, Any] = {"role": message.role, "content": message.content}
    if message.images:
        raw["content"] = _parts(message)
    if message.reasoning is not None:
        raw["reasoning_content"] = message.reasoning
    if message.tool_calls:
        raw["tool_calls"] = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
            for call in message.tool_calls
        ]
    if message.tool_call_id is not None:
        raw["tool_call_id"] = message.tool_call_id
    return raw


def _parts(message: Message) -> list[dict[str, Any]]:
    """Text and images in their order, as content parts."""
    parts: list[dict[str, Any]] = []
    said = 0
    for image in message.images:
        if image.at > said:
            parts.append({"type": "text", "text": message.content[said : image.at]})
            said = image.at
        parts.append({"type": "image_url", "image_url": _image(image)})
    if said < len(message.content):
        parts.append({"type": "text", "text": message.content[said:]})
    return parts


def _image(image: Image) -> dict[str, str]:
    return {"url": image.url} if image.detail is None else {"url": image.url, "detail": image.detail}


def _tools(tools: tuple[Tool, ...], choice: str) -> dict[str, Any]:
    """Not every engine can be told which tool to call; each can be shown only that one, and told to call."""
    if choice not in ("auto", "required"):
        tools = tuple(tool for tool in tools if tool.name == choice)
        choice = "required"
    return {"tools": [_tool(tool) for tool in tools], "tool_choice": choice}


def _tool(tool: Tool) -> dict[str, Any]:
    function: dict[str, Any] = {"name": tool.name}
    if tool.description is not None:
        function["description"] = tool.description
    function["parameters"] = tool.parameters or {"type": "object", "properties": {}}
    return {"type": "function", "function": function}
