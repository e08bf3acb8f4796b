"""From a `Generation` to the body of a streamed POST /v1/chat/completions. Nothing else is sent."""

from __future__ import annotations

from typing import Any

from backends.prompt_formats import TRANSLATE_GEMMA
from backends.shared import translation
from tasks.generation import Generation, ImagePart, Message, NamedTool, Tool, ToolChoice


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
    if (
        generation.tools and generation.tool_choice != "none"
    ):  # a model cannot call tools that it does not see
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
    raw: dict[str, Any] = {"role": message.role, "content": _content(message)}
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


def _content(message: Message) -> str | list[dict[str, Any]]:
    """A string where there is only text, else parts: engines that take no images often take no parts.

    Adjacent texts are joined and empty ones left out.
    """
    if not message.images:
        return message.text
    parts: list[dict[str, Any]] = []
    for part in message.content:
        if isinstance(part, ImagePart):
            parts.append({"type": "image_url", "image_url": _image(part)})
        elif parts and parts[-1]["type"] == "text":
            parts[-1]["text"] += part.text
        elif part.text:
            parts.append({"type": "text", "text": part.text})
    return parts


def _image(image: ImagePart) -> dict[str, str]:
    return {"url": image.url} if image.detail is None else {"url": image.url, "detail": image.detail}


def _tools(tools: tuple[Tool, ...], choice: ToolChoice) -> dict[str, Any]:
    """The fields `tools` and `tool_choice`.

    A named tool is sent as the only one, with the mode "required": every engine supports that, and not every
    engine supports a choice by name.
    """
    if isinstance(choice, NamedTool):
        tools = tuple(tool for tool in tools if tool.name == choice.name)
        choice = "required"
    return {"tools": [_tool(tool) for tool in tools], "tool_choice": choice}


def _tool(tool: Tool) -> dict[str, Any]:
    function: dict[str, Any] = {"name": tool.name}
    if tool.description is not None:
        function["description"] = tool.description
    function["parameters"] = tool.parameters or {"type": "object", "properties": {}}
    return {"type": "function", "function": function}
