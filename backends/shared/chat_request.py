"""The body of a streamed POST /v1/chat/completions for a `Generation`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from backends.prompt_formats import TRANSLATE_GEMMA
from backends.shared import translation
from generation.generation import (
    AudioPart,
    Generation,
    ImagePart,
    JsonFormat,
    Message,
    NamedTool,
    Sampling,
    TextPart,
    Tool,
    ToolChoice,
)
from generation.schemas.loose_schema import loosened

FURTHER_SAMPLING_FIELDS = ("top_k", "min_p", "presence_penalty", "frequency_penalty", "repetition_penalty")
"""Fields of `Sampling` that only some servers know."""


def chat_body(generation: Generation, prompt_format: str) -> dict[str, Any]:
    """Return a body for any OpenAI-compatible engine. Raises `GenerationError` (invalid_prompt).

    That of a generation with a prompt is a body of POST /v1/completions.
    """
    given: dict[str, Any] = (
        {"messages": _messages(generation, prompt_format)}
        if generation.prompt is None
        else {"prompt": list(generation.prompt_tokens) or generation.prompt}
    )
    body: dict[str, Any] = {
        "model": generation.model,
        **given,
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    sampling = generation.sampling
    for name in ("max_tokens", "temperature", "top_p", "seed"):
        if (value := getattr(sampling, name)) is not None:
            body[name] = value
    if sampling.stop:
        body["stop"] = list(sampling.stop)
    if arguments := _template_arguments(generation):
        body["chat_template_kwargs"] = arguments
    # with the choice "none" the tools are left out: a model cannot call tools that it does not see
    if generation.tools and generation.tool_choice != "none":
        body |= _tools(generation.tools, generation.tool_choice)
        if not generation.parallel_tool_calls:
            body["parallel_tool_calls"] = False
    if generation.output_format is not None and body.get("tool_choice") != "required":
        body["response_format"] = _response_format(generation.output_format)
    return body


def _template_arguments(generation: Generation) -> dict[str, Any]:
    """Return what chat templates read beside the conversation; each ignores what it does not know."""
    arguments: dict[str, Any] = {}
    if generation.thinking != "default":
        arguments["enable_thinking"] = generation.thinking == "enabled"
    if generation.reasoning_effort is not None:
        arguments["reasoning_effort"] = generation.reasoning_effort
    return arguments


def further_sampling(sampling: Sampling) -> dict[str, Any]:
    """Return the sampling fields that `chat_body` leaves out, with vLLM's names.

    Those without a value are absent; `logit_bias` has the ids of tokens as its names, as in OpenAI's API.
    """
    fields = {
        name: value for name in FURTHER_SAMPLING_FIELDS if (value := getattr(sampling, name)) is not None
    }
    if sampling.logit_bias:
        fields["logit_bias"] = {str(token): bias for token, bias in sampling.logit_bias}
    return fields


def llama_body(generation: Generation, prompt_format: str) -> dict[str, Any]:
    """Return `chat_body` for llama.cpp's server, with TranslateGemma's languages as template arguments.

    The server gives the template only the text of a part, and the template of some files reads the languages
    from its arguments.
    """
    body = chat_body(generation, prompt_format)
    if generation.target_lang_code is not None and prompt_format == TRANSLATE_GEMMA:
        body["chat_template_kwargs"] = {**body.get("chat_template_kwargs", {}), **_language_codes(body)}
    return body


def sampled_body(
    generation: Generation, prompt_format: str, form: Callable[[Generation, str], dict[str, Any]] = chat_body
) -> dict[str, Any]:
    """Return the body that `form` makes with all that engine processes know of sampling.

    That is `further_sampling`, `top_logprobs`, `thinking_budget`, and what `add_forms` adds. Raises
    `GenerationError`.
    """
    body = form(generation, prompt_format) | further_sampling(generation.sampling)
    add_forms(body)
    if generation.sampling.top_logprobs is not None:
        body["top_logprobs"] = generation.sampling.top_logprobs
    if generation.thinking_budget is not None:
        body["thinking_budget"] = generation.thinking_budget
    return body


def add_forms(body: dict[str, Any]) -> None:
    """Add the schema for the grammar to each tool that is not strict, if a call is required.

    The prompt has the client's own schema.
    """
    for tool in body["tools"] if body.get("tool_choice") == "required" else ():
        function = tool["function"]
        if not function.get("strict"):
            function["form"] = loosened(function["parameters"])


def _language_codes(body: dict[str, Any]) -> dict[str, str]:
    parts = (part for message in body["messages"] for part in message["content"] if isinstance(part, dict))
    return {key: value for part in parts for key, value in part.items() if key.endswith("_lang_code")}


def _messages(generation: Generation, prompt_format: str) -> list[dict[str, Any]]:
    messages = [_message(message) for message in generation.messages]
    if generation.target_lang_code is None:
        return messages
    if prompt_format == TRANSLATE_GEMMA:
        last = next((m for m in reversed(messages) if m["role"] == "user"), None)
        if last is not None:
            last["content"] = translation.structured_content(generation, last["content"])
        return messages
    instruction = translation.instruction(generation)
    if messages and messages[0]["role"] == "system":  # many templates accept one system message only
        messages[0]["content"] = f"{instruction}\n\n{messages[0]['content']}"
        return messages
    return [{"role": "system", "content": instruction}, *messages]


def _message(message: Message) -> dict[str, Any]:
    fields: dict[str, Any] = {"role": message.role, "content": _content(message)}
    if message.reasoning is not None:
        fields["reasoning_content"] = message.reasoning
    if message.tool_calls:
        fields["tool_calls"] = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
            for call in message.tool_calls
        ]
    if message.tool_call_id is not None:
        fields["tool_call_id"] = message.tool_call_id
    return fields


def _content(message: Message) -> str | list[dict[str, Any]]:
    """Return a string for text alone, else parts: engines for text alone often accept no parts.

    Adjacent texts are joined and empty ones left out.
    """
    if all(isinstance(part, TextPart) for part in message.content):
        return message.text
    parts: list[dict[str, Any]] = []
    for part in message.content:
        if isinstance(part, ImagePart):
            parts.append({"type": "image_url", "image_url": _image(part)})
        elif isinstance(part, AudioPart):
            parts.append({"type": "input_audio", "input_audio": {"data": part.data, "format": part.format}})
        elif parts and parts[-1]["type"] == "text":
            parts[-1]["text"] += part.text
        elif part.text:
            parts.append({"type": "text", "text": part.text})
    return parts


def _image(image: ImagePart) -> dict[str, str]:
    return {"url": image.url} if image.detail is None else {"url": image.url, "detail": image.detail}


def _tools(tools: tuple[Tool, ...], choice: ToolChoice) -> dict[str, Any]:
    """Return the fields `tools` and `tool_choice`.

    A named tool is sent as the only one, with the mode "required": every engine supports that, and not every
    engine supports a choice by name.
    """
    if isinstance(choice, NamedTool):
        tools = tuple(tool for tool in tools if tool.name == choice.name)
        choice = "required"
    return {"tools": [_tool(tool) for tool in tools], "tool_choice": choice}


def _response_format(form: JsonFormat) -> dict[str, Any]:
    if form.schema is None:
        return {"type": "json_object"}
    named: dict[str, Any] = {"name": form.name or "answer"}
    if form.description is not None:
        named["description"] = form.description
    named |= {"schema": form.schema, "strict": form.strict}
    return {"type": "json_schema", "json_schema": named}


def _tool(tool: Tool) -> dict[str, Any]:
    function: dict[str, Any] = {"name": tool.name}
    if tool.description is not None:
        function["description"] = tool.description
    function["parameters"] = tool.parameters or {"type": "object", "properties": {}}
    if tool.strict:
        function["strict"] = True
    return {"type": "function", "function": function}
