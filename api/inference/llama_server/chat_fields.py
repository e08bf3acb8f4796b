"""The fields of a chat request that only llama-server knows (llama.cpp, tools/server/README.md).

A field that would change the answer and cannot be honoured is refused; see docs/fields.md for those that are
ignored.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from api.http.errors import InvalidRequest
from api.http.strict_fields import BooleanField, EnumField, IntegerField
from api.inference.dialects.guided_output import RefusedField
from api.inference.dialects.options import reject_field
from api.inference.dialects.request_fields import MAX_TOKENS, UNLIMITED, TokenLimitField
from api.inference.llama_server.sampling_fields import LlamaSamplers

REASONING_FORMATS = ("none", "auto", "deepseek", "deepseek-legacy")
TIMINGS, TIMINGS_PER_TOKEN, PROGRESS = "timings", "timings_per_token", "return_progress"
IN_TEXT, CONTROL = "reasoning_in_text", "reasoning_control"
"""The keys of the echo."""

MAX_N_PROBS = 20


class LlamaServerFields(LlamaSamplers):
    """The fields by which clients of llama-server ask for more than OpenAI's API has."""

    return_progress = BooleanField(
        "With `stream`: chunks with `prompt_progress` while the prompt is read, from engines that report it."
    )
    timings_per_token = BooleanField(
        "The progress of the prompt has `timings`, too. Of the chunks of the answer only the last one has."
    )
    reasoning_format = EnumField(
        "`none` leaves the reasoning in the text, between `<think>` and `</think>`; the others put it into"
        " `reasoning_content`.",
        REASONING_FORMATS,
    )
    reasoning_control = BooleanField(
        "`/v1/chat/completions/control` may end the reasoning, for engines that can."
    )
    thinking_budget_tokens = IntegerField(
        "The most tokens of reasoning; -1 sets no limit.", minimum=UNLIMITED, maximum=MAX_TOKENS
    )
    enable_thinking = BooleanField("As `chat_template_kwargs.enable_thinking`, which outweighs it.")
    cache_prompt = BooleanField("False is `X-Cache-Mode: none`.")
    id_slot = IntegerField("-1, any slot, is supported.", minimum=-1, maximum=MAX_TOKENS, only=UNLIMITED)
    n_predict = TokenLimitField(
        "Another name of `max_completion_tokens`, which it outweighs. 0 counts as 1, as in llama-server.",
        zero=True,
    )
    n_probs = IntegerField("As `logprobs` with so many `top_logprobs`.", minimum=0, maximum=MAX_N_PROBS)
    add_generation_prompt = BooleanField(
        "False is refused unless the last message is the assistant's, which the answer continues."
    )
    parse_tool_calls = BooleanField("False is refused for a request with tools.")
    chat_template = RefusedField()


_OF_OTHERS = {"enable_thinking", "add_generation_prompt", "chat_template"}
_ASKING = frozenset(LlamaServerFields().fields) - _OF_OTHERS
"""The fields whose presence shows a client of llama-server; other servers have those left out, too."""


def reject_llama_server_fields(body: Mapping[str, Any], *, is_begun: bool) -> None:
    """Raise `InvalidRequest` for a value that cannot be honoured.

    `is_begun`: the answer continues the last message.
    """
    reject_field(dict(body), "id_slot", unless=(UNLIMITED,))
    for name, allowed in (("add_generation_prompt", is_begun), ("parse_tool_calls", not body.get("tools"))):
        if body.get(name) is False and not allowed:
            raise InvalidRequest(
                f"{name}: false is not supported here", code="unsupported_parameter", param=name
            )


def llama_server_echo(body: Mapping[str, Any]) -> dict[str, Any]:
    """What the rendering of an answer needs to know of the fields; empty for a request without any."""
    if not any(body.get(name) is not None for name in _ASKING):
        return {}
    asked = {
        TIMINGS: True,
        TIMINGS_PER_TOKEN: bool(body.get("timings_per_token")),
        PROGRESS: reports_progress(body),
        IN_TEXT: body.get("reasoning_format") == "none",
        CONTROL: bool(body.get("reasoning_control")),
    }
    return {name: True for name, value in asked.items() if value}


def reports_progress(body: Mapping[str, Any]) -> bool:
    """Whether the stream has the progress of the prompt."""
    return bool(body.get("return_progress") and body.get("stream"))


def thinking_budget_of(body: Mapping[str, Any]) -> tuple[str, int | None]:
    """The name of the field with the most tokens of reasoning, and their number; None: no limit."""
    name, budget = "thinking_budget_tokens", body.get("thinking_budget_tokens")
    if budget is None:
        name = "chat_template_kwargs.thinking_budget"
        budget = (body.get("chat_template_kwargs") or {}).get("thinking_budget")
    return name, None if budget is None or budget < 0 else budget
