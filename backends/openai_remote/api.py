"""Requests in either of OpenAI's two APIs, chat completions and responses.

OpenAI refuses fields that it does not know. So other fields are sent only to servers that understand them:

- `chat_template_kwargs.enable_thinking` and the reasoning of earlier turns (`reasoning_content`) in chat
  completions, where `openai_remote_thinking` is set: vLLM, llama-server, SGLang;
- `reasoning.effort` in the Responses API, where it is set: `none`, or OpenAI's default `medium`;
- Stoker's own `thinking`, `allow_remote` and language codes to another Stoker, which owns the models in its
  list of models;
- sampling fields that OpenAI's API lacks, where `openai_remote_further_sampling` is set;
- to text-generation-inference (TGI) what it reads (`backends.shared.tgi_body`);
- the cache namespace: to another Stoker as its tag, and in the field that `openai_remote_cache_field` names;
  of these OpenAI's completions know no `prompt_cache_key`.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Protocol

import orjson

from backends.base import Emit, GenerationError
from backends.openai_remote.arguments import RemoteOptions
from backends.openai_remote.options import CACHE_SALT
from backends.openai_remote.responses_api import ResponsesParser, responses_body
from backends.shared.chat_request import chat_body, further_sampling
from backends.shared.chat_stream import ChatParser
from backends.shared.tgi_body import fit_body
from backends.shared.tgi_server import TgiInfo
from backends.shared.tgi_stream import TgiParser
from generation.generation import Generation
from streams.events import Usage

EFFORTS = {"enabled": "medium"}


class ResponseParser(Protocol):
    """Parses the event stream of one response, in either API."""

    reason: str | None
    """The finish reason, None until the server has sent it."""
    stop_sequence: str | None
    """The stop text that ended the answer, if that is known."""
    done: bool
    """Whether the last event has arrived."""

    @property
    def usage(self) -> Usage:
        """The tokens used so far."""
        ...

    def feed(self, piece: bytes) -> None:
        """Take the next piece of the body, none after the last event. Raises `GenerationError`."""
        ...


@dataclass(frozen=True)
class RemoteApi:
    """The API of one server. `stoker` is whether it is a Stoker, `tgi` what it says if it is a TGI."""

    options: RemoteOptions
    prompt_format: str
    stoker: bool = False
    tgi: TgiInfo | None = None

    def path(self, generation: Generation) -> str:
        """The path of a request, below the server's URL."""
        if generation.prompt is not None:
            return "/completions"
        return "/responses" if self.options.api == "responses" else "/chat/completions"

    def parser(
        self, generation: Generation, emit: Emit, stream_error: Callable[[Any], GenerationError]
    ) -> ResponseParser:
        """Return a parser for one response; `stream_error` makes the exception for an error event."""
        if self.options.api == "responses":
            return ResponsesParser(emit, stream_error)
        alternatives = generation.sampling.top_logprobs or 0
        if self.tgi is not None:
            return TgiParser(emit, stream_error, stop=generation.sampling.stop, alternatives=alternatives)
        return ChatParser(emit, stream_error, alternatives=alternatives)

    def body(self, generation: Generation) -> bytes:
        """Return a request's body. Raises `GenerationError` (invalid_prompt, unsupported_parameter).

        A generation with a prompt needs the API of chat completions; the platform checks that first.
        """
        chat, cache_field = self._chat_body(generation), self.options.cache_field
        if self.options.api != "responses":
            chat |= further_sampling(generation.sampling) | _logprobs(generation)
        if self.tgi is not None:
            chat = fit_body(chat, self.tgi.stops)
        salt = {cache_field: generation.shared_namespace or secrets.token_hex(16)} if cache_field else {}
        if generation.prompt is not None:
            known = {name: value for name, value in salt.items() if name == CACHE_SALT}
            return orjson.dumps(chat | known | ({"allow_remote": True} if self.stoker else {}))
        body = responses_body(chat) if self.options.api == "responses" else self._rename_max_tokens(chat)
        body |= salt
        if self.stoker:
            body |= self._stoker_fields(generation)
        elif self.options.thinking:
            body |= self._thinking_fields(generation)
        return orjson.dumps(body)

    def headers(self, generation: Generation) -> dict[str, str]:
        """Return a request's own headers: another Stoker keeps our cache namespaces apart by its tags."""
        if not self.stoker:
            return {}
        namespace = generation.shared_namespace
        return {"x-cache-mode": "none"} if namespace is None else {"x-cache-tag": namespace}

    @property
    def separates_caches(self) -> bool:
        """Whether the server shares a cached prefix only within the cache namespace that a request names.

        If not, its count of cached tokens would tell a tenant what others have sent. OpenAI's
        `prompt_cache_key` is advice: it "is combined with the prefix hash" to choose a machine (OpenAI,
        "Prompt caching"), and requests with different keys may still meet there.
        """
        return self.stoker or self.options.cache_field == CACHE_SALT

    def _chat_body(self, generation: Generation) -> dict[str, Any]:
        """Return a chat completion with OpenAI's own fields only."""
        changes: dict[str, Any] = {}
        if generation.thinking != "default" or generation.reasoning_effort is not None:
            changes = {"thinking": "default", "reasoning_effort": None}
        if self.stoker and generation.target_lang_code is not None:  # it writes the instruction itself
            changes |= {"source_lang_code": None, "target_lang_code": None}
        if not self._reads_reasoning and any(
            message.reasoning is not None for message in generation.messages
        ):
            changes["messages"] = tuple(replace(message, reasoning=None) for message in generation.messages)
        body = chat_body(replace(generation, **changes) if changes else generation, self.prompt_format)
        body["model"] = self.options.model
        return body

    @property
    def _reads_reasoning(self) -> bool:
        return self.stoker or (self.options.thinking and self.options.api == "chat_completions")

    def _rename_max_tokens(self, chat: dict[str, Any]) -> dict[str, Any]:
        if "max_tokens" in chat:
            chat[self.options.max_tokens_field] = chat.pop("max_tokens")
        return chat

    def _thinking_fields(self, generation: Generation) -> dict[str, Any]:
        mode, effort = generation.thinking, generation.reasoning_effort
        fields: dict[str, Any] = {}
        if self.options.api == "responses":
            effort = "none" if mode == "disabled" else effort or EFFORTS.get(mode)
            return {} if effort is None else {"reasoning": {"effort": effort}}
        if mode != "default":
            fields["chat_template_kwargs"] = {"enable_thinking": mode == "enabled"}
        if effort is not None:
            fields["reasoning_effort"] = effort
        return fields

    def _stoker_fields(self, generation: Generation) -> dict[str, Any]:
        """Return Stoker's own fields. A request for a remote model has always allowed it."""
        fields: dict[str, Any] = {"allow_remote": True}
        if self.options.thinking:
            fields["thinking"] = generation.thinking
        if (effort := generation.reasoning_effort) is not None:
            in_responses = self.options.api == "responses"
            fields |= {"reasoning": {"effort": effort}} if in_responses else {"reasoning_effort": effort}
        for name in ("source_lang_code", "target_lang_code"):
            if (code := getattr(generation, name)) is not None:
                fields[name] = code
        return fields


def _logprobs(generation: Generation) -> dict[str, Any]:
    """Return the fields for log probabilities. Of 0 alternatives some servers report no token, either."""
    alternatives = generation.sampling.top_logprobs
    if alternatives is None:
        return {}
    alternatives = max(1, alternatives)
    if generation.prompt is not None:
        return {"logprobs": alternatives}
    return {"logprobs": True, "top_logprobs": alternatives}
