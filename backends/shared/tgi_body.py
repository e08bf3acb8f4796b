"""Fits the body of a request in OpenAI's form to what TGI 3.3 reads in it (router/src/lib.rs).

- A message has a text or tool calls, never both: of one with both, the text gets the calls as JSON.
- `top_p` has to be below 1, where it has no effect, and above 0; a seed is not negative.
- Only some stop texts are accepted. The parser of the answer looks for all of them (`TgiParser`).
- A tool's schema is loosened to what grammars can express.
- A text `![](...)` names an image that a model with vision fetches from any address. So it gets an invisible
  mark between its first characters.
"""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

from backends.shared.engine.literal_text import INVISIBLE_MARK, LiteralText
from generation.schemas.loose_schema import loosened

SEEDS = 1 << 64
UNREAD_FIELDS = ("chat_template_kwargs", "parallel_tool_calls")
IMAGES = LiteralText(("![](",), INVISIBLE_MARK)


def fit_body(body: dict[str, Any], most_stops: int) -> dict[str, Any]:
    """Return a body of a chat completion or a completion that TGI accepts; it may change `body`."""
    body = {name: value for name, value in body.items() if name not in UNREAD_FIELDS}
    if "seed" in body:
        body["seed"] %= SEEDS
    if (top_p := body.get("top_p")) is not None and not 0 < top_p < 1:
        del body["top_p"]
        if top_p <= 0:  # only the likeliest token is left
            body["temperature"] = 0.0
    if "stop" in body:
        body["stop"] = body["stop"][:most_stops]
    for tool in body.get("tools", ()):
        if not tool["function"].get("strict"):
            tool["function"]["parameters"] = loosened(tool["function"]["parameters"])
    if isinstance(prompt := body.get("prompt"), str):
        return {**body, "prompt": IMAGES.marked_text(prompt)}
    if "messages" in body:
        body["messages"] = [_message(message) for message in body["messages"]]
    return dict(IMAGES.marked(body))


def _message(message: dict[str, Any]) -> dict[str, Any]:
    """Return a message that has a text or tool calls."""
    calls = [_call(call) for call in message.get("tool_calls") or ()]
    content = message["content"]
    if not calls:
        return {"role": message["role"], "content": content}
    if not content:
        return {"role": message["role"], "tool_calls": calls}
    functions = [call["function"] for call in calls]
    return {"role": message["role"], "content": f"{content}\n{json.dumps(functions, ensure_ascii=False)}"}


def _call(call: dict[str, Any]) -> dict[str, Any]:
    """Return a tool call with its arguments as JSON: TGI quotes a string once more."""
    function = dict(call["function"])
    with suppress(ValueError):
        function["arguments"] = json.loads(function["arguments"])
    return {**call, "function": function}
