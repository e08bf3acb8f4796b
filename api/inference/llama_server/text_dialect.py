"""/tokenize, /detokenize and /apply-template: a text is turned into tokens or back, messages into a prompt.

Each is an ordinary job of which the engine generates nothing, as a count of tokens is.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from api.http import sse
from api.http.error_rendering import llama_server_body
from api.http.errors import InvalidRequest
from api.http.limit_headers import limit_headers as openai_limit_headers
from api.inference.chat import dialect as chat
from api.inference.dialects.base import Framing, ParsedRequest, ResponseMetadata, StreamRenderer
from api.inference.dialects.options import reject_field
from api.inference.dialects.vectors import TokenItems
from generation.generation import Generation, TextTask
from streams.events import Event, TextDelta, TokensDelta

MAX_TEXT_BYTES = 1 << 20
MAX_SPECIAL_BYTES = 256 << 10
"""The most bytes in which control tokens are looked for: llama.cpp takes 40 s for a MiB of them alone."""


class TextTaskDialect:
    """Fulfils `Dialect` for one kind of task."""

    ID_PREFIX = "text_"
    FRAMING: Framing = sse
    HAS_CANCELLED_STATUS = False

    error_body = staticmethod(llama_server_body)
    limit_headers = staticmethod(openai_limit_headers)

    def __init__(self, kind: str, answer_field: str) -> None:
        self.NAME = f"llama_server.{kind}"
        self._answer_field = answer_field

    def parse(self, body: dict[str, Any]) -> ParsedRequest:
        """Parse a body that fits the route's schema. Raises `InvalidRequest`."""
        raise NotImplementedError

    def response_object(
        self,
        metadata: ResponseMetadata,  # noqa: ARG002 - the result has no id
        events: Iterable[Event],
        pending: str = "",  # noqa: ARG002 - it is answered when it has ended
    ) -> dict[str, Any]:
        """Return the result of a task that has ended."""
        return {self._answer_field: "".join(event.text for event in events if isinstance(event, TextDelta))}

    def stream_renderer(self, metadata: ResponseMetadata) -> StreamRenderer:
        """Fail: a result is never streamed."""
        raise NotImplementedError


class Tokenize(TextTaskDialect):
    """Makes tokens of a text."""

    def parse(self, body: dict[str, Any]) -> ParsedRequest:
        """Parse a body that fits `TokenizeRequest`. Raises `InvalidRequest`."""
        given = body.get("content") or ()
        content = (given,) if isinstance(given, str) else tuple(given)
        size = sum(len(part.encode("utf-8", "replace")) for part in content if isinstance(part, str))
        parses_special = body.get("parse_special") is not False  # as in llama-server
        most = MAX_SPECIAL_BYTES if parses_special else MAX_TEXT_BYTES
        if size > most:
            more = f"; with `parse_special: false` it may have {MAX_TEXT_BYTES}" if parses_special else ""
            raise InvalidRequest(f"content has more than {most} bytes{more}", param="content")
        options = {name: bool(body.get(name)) for name in ("add_special", "with_pieces")}
        return _parsed(body, TextTask("tokenize", content, parse_special=parses_special, **options))

    def response_object(
        self,
        metadata: ResponseMetadata,  # noqa: ARG002
        events: Iterable[Event],
        pending: str = "",  # noqa: ARG002
    ) -> dict[str, Any]:
        """Return the tokens."""
        return {self._answer_field: [TokenItems(event) for event in events if isinstance(event, TokensDelta)]}


class Detokenize(TextTaskDialect):
    """Makes a text of tokens."""

    def parse(self, body: dict[str, Any]) -> ParsedRequest:
        """Parse a body that fits `DetokenizeRequest`."""
        return _parsed(body, TextTask("detokenize", tuple(body.get("tokens") or ())))


class ApplyTemplate(TextTaskDialect):
    """Makes a prompt of messages."""

    def parse(self, body: dict[str, Any]) -> ParsedRequest:
        """Parse a body that fits `ApplyTemplateRequest`. Raises `InvalidRequest`."""
        reject_field(body, "add_generation_prompt", unless=(True,))
        names = ("model", *_RENDERED)
        parsed = chat.parse({name: body[name] for name in names if name in body})
        params = (*parsed.image_params, *parsed.audio_params)
        if params or parsed.documents:
            raise InvalidRequest(
                "a prompt has no place for images, recordings and files: send messages of text",
                code="unsupported_input",
                param=params[0] if params else "messages",
            )
        generation = replace(parsed.generation, text_task=TextTask("template"), allow_remote=True)
        return replace(parsed, generation=generation)


_RENDERED = ("messages", "tools", "tool_choice", "chat_template_kwargs", "reasoning_effort")
"""The fields that a chat template reads."""


def _parsed(body: dict[str, Any], task: TextTask) -> ParsedRequest:
    # no server of another operator gets it: the engines that call one do no such task
    generation = Generation(body["model"], (), allow_remote=True, text_task=task)
    return ParsedRequest(generation, conversation_param="content" if task.kind == "tokenize" else "tokens")


TOKENIZE = Tokenize("tokenize", "tokens")
DETOKENIZE = Detokenize("detokenize", "content")
APPLY_TEMPLATE = ApplyTemplate("apply_template", "prompt")
