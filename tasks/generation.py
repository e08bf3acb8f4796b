"""The wire: what crosses a process, as frozen dataclasses with one JSON form each.

A dialect parses what a client sent into a `Generation`; the ledger carries its JSON; a worker hands it to
an engine. `tests/tasks/samples/` holds a stored sample of each that a test compares, so that a change of
the form is seen in review.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import orjson

THINKING_MODES = ("default", "enabled", "disabled")
LANGUAGE_CODE = "[A-Za-z0-9]{2,8}([-_][A-Za-z0-9]{1,8}){0,3}"
"""What a language code looks like (de, pt-BR), as a regular expression. `auto` and `mixed` do too."""


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A function the model asked for; `arguments` is a JSON text."""

    id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class Image:
    """A picture in a message: a data URL, and how many characters of the content stand before it.

    `detail` is how closely to look (auto, low, high, original), for engines that can be told.
    """

    url: str
    at: int
    detail: str | None = None


@dataclass(frozen=True, slots=True)
class Message:
    """One turn of the conversation. `role` is system, user, assistant or tool.

    `content` is text alone, so that who has no use for `images` need not know of them. They stand in order.
    """

    role: str
    content: str = ""
    reasoning: str | None = None
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str | None = None
    images: tuple[Image, ...] = ()


@dataclass(frozen=True, slots=True)
class Tool:
    """A function the model may call; `parameters` is its JSON Schema."""

    name: str
    description: str | None = None
    parameters: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Sampling:
    """How to pick tokens; `None` leaves the choice to the engine."""

    max_tokens: int | None = None
    temperature: float | None = None
    top_p: float | None = None
    seed: int | None = None
    stop: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Generation:
    """What to generate: the one request form that every dialect parses into and every runtime understands.

    `tool_choice` is none, auto, required or the name of a tool. `thinking` is one of THINKING_MODES.
    `allow_remote` lets it leave this house, if its model is elsewhere.
    """

    model: str
    messages: tuple[Message, ...]
    sampling: Sampling = field(default_factory=Sampling)
    tools: tuple[Tool, ...] = ()
    tool_choice: str = "auto"
    thinking: str = "default"
    source_lang_code: str | None = None
    target_lang_code: str | None = None
    allow_remote: bool = False

    def to_json(self) -> bytes:
        """The wire form."""
        return orjson.dumps(self)

    @classmethod
    def from_json(cls, data: bytes | str) -> Generation:
        """Read the wire form back. Raises `ValueError` when it is not one."""
        raw = orjson.loads(data)
        try:
            return cls(
                model=raw["model"],
                messages=tuple(_message(item) for item in raw["messages"]),
                sampling=_sampling(raw["sampling"]),
                tools=tuple(Tool(**item) for item in raw["tools"]),
                tool_choice=raw["tool_choice"],
                thinking=raw["thinking"],
                source_lang_code=raw["source_lang_code"],
                target_lang_code=raw["target_lang_code"],
                allow_remote=raw.get("allow_remote", False),  # what was written before there was such
            )
        except (KeyError, TypeError) as error:
            raise ValueError(f"not a Generation: {error}") from error


def _message(raw: dict[str, Any]) -> Message:
    # what was written before there were images may still be in line
    calls, images = raw["tool_calls"], raw.get("images")
    lists = {
        "tool_calls": tuple(ToolCall(**call) for call in calls) if calls else (),
        "images": tuple(Image(**image) for image in images) if images else (),
    }
    return Message(**{**raw, **lists})


def _sampling(raw: dict[str, Any]) -> Sampling:
    return Sampling(**{**raw, "stop": tuple(raw["stop"])})
