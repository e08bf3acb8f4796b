"""OpenAI's two APIs, as a server elsewhere is asked through one of them.

A server that knows nothing but OpenAI's own fields must get no others: OpenAI refuses them. What goes beyond
is sent only where it is understood:

- `chat_template_kwargs.enable_thinking` and the thoughts of earlier turns (`reasoning_content`) in chat
  completions, where `openai_remote_thinking` is set: vLLM, llama-server, SGLang;
- `reasoning.effort` in the Responses API, where it is set: `none`, or `medium`, which is OpenAI's usual one;
- Stoker's own `thinking`, `allow_remote` and languages to another Stoker, which says in its list of models
  that it owns them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Protocol

import orjson

from backends.base import Emit, GenerationError
from backends.openai_remote.connection import RemoteOptions
from backends.openai_remote.responses_request import responses_body
from backends.openai_remote.responses_stream import ResponsesStream
from backends.shared.chat_request import chat_body
from backends.shared.chat_stream import ChatStream
from streams.events import Usage
from tasks.generation import Generation

EFFORTS = {"enabled": "medium", "disabled": "none"}


class AnswerStream(Protocol):
    """One streamed answer, as far as it has come."""

    reason: str | None
    done: bool

    @property
    def usage(self) -> Usage:
        """What it used."""
        ...

    def take(self, data: bytes) -> None:
        """Take one event's data. Raises `GenerationError`."""
        ...


@dataclass(frozen=True)
class RemoteApi:
    """How one server wants to be asked. `stoker` says that it is one."""

    options: RemoteOptions
    prompt_format: str
    stoker: bool = False

    @property
    def path(self) -> str:
        """Where requests go, below the server's address."""
        return "/responses" if self.options.api == "responses" else "/chat/completions"

    def stream(self, emit: Emit, failure: Callable[[Any], GenerationError]) -> AnswerStream:
        """Begin to read an answer."""
        reads: type[ChatStream | ResponsesStream]
        reads = ResponsesStream if self.options.api == "responses" else ChatStream
        return reads(emit, failure)

    def body(self, generation: Generation) -> bytes:
        """A request's body. Raises `GenerationError` (invalid_prompt, unsupported_parameter)."""
        chat = self._chat(generation)
        body = responses_body(chat) if self.options.api == "responses" else self._renamed(chat)
        if self.stoker:
            body |= self._ours(generation)
        elif self.options.thinking and generation.thinking != "default":
            body |= self._thinking(generation.thinking)
        return orjson.dumps(body)

    def _chat(self, generation: Generation) -> dict[str, Any]:
        """As any server understands it."""
        asked = replace(generation, model=self.options.model, thinking="default")
        if self.stoker:  # it makes its own of these
            asked = replace(asked, source_lang_code=None, target_lang_code=None)
        if not self._reads_thoughts:
            asked = replace(asked, messages=tuple(replace(said, reasoning=None) for said in asked.messages))
        return chat_body(asked, self.prompt_format)

    @property
    def _reads_thoughts(self) -> bool:
        return self.stoker or (self.options.thinking and self.options.api == "chat_completions")

    def _renamed(self, chat: dict[str, Any]) -> dict[str, Any]:
        if "max_tokens" in chat:
            chat[self.options.max_tokens_field] = chat.pop("max_tokens")
        return chat

    def _thinking(self, wish: str) -> dict[str, Any]:
        if self.options.api == "responses":
            return {"reasoning": {"effort": EFFORTS[wish]}}
        return {"chat_template_kwargs": {"enable_thinking": wish == "enabled"}}

    def _ours(self, generation: Generation) -> dict[str, Any]:
        """Stoker's own fields. Whoever asks a remote model has allowed it."""
        ours: dict[str, Any] = {"allow_remote": True}
        if self.options.thinking:
            ours["thinking"] = generation.thinking
        for name in ("source_lang_code", "target_lang_code"):
            if (code := getattr(generation, name)) is not None:
                ours[name] = code
        return ours
