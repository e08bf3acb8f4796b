"""A conversation as the body of a request to `/v1/responses`.

The client keeps it, not the server: each request has all items and is not stored, so a conversation outlives
the time for which responses are kept, and may change its model.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

Json = dict[str, Any]

OWN_FIELDS = (
    "model",
    "input",
    "messages",
    "instructions",
    "stream",
    "store",
    "background",
    "previous_response_id",
    "conversation",
)
"""The fields of a request that the chat sets itself."""


class InvalidField(ValueError):
    """Raised for a field that the chat sets itself; the text is one sentence."""


@dataclass
class Conversation:
    """The model, the system message, the turns so far, and further fields such as `temperature`."""

    model: str
    instructions: str | None = None
    items: list[Json] = field(default_factory=list)
    fields: Json = field(default_factory=dict)

    def request(self, question: str) -> Json:
        """Return the body of a streamed request that asks this next."""
        return {
            **self._common(),
            "input": [*self.items, _message("user", question)],
            "stream": True,
            "store": False,
        }

    def add_turn(self, question: str, answer: str) -> None:
        """Add a question and its answer; without text in the answer neither."""
        if answer:
            self.items += [_message("user", question), _message("assistant", answer)]

    def clear(self) -> None:
        """Forget the turns; the system message and the fields stay."""
        self.items.clear()

    def set_field(self, name: str, text: str) -> None:
        """Set a field: JSON, or else text. Without text it is unset. Raises `InvalidField`."""
        if name in OWN_FIELDS:
            raise InvalidField(f"{name} is set by the chat itself")
        if text:
            self.fields[name] = parse_value(text)
        else:
            self.fields.pop(name, None)

    def saved(self) -> str:
        """Return the conversation as JSON: the body of a request with another message at its end."""
        return json.dumps({**self._common(), "input": self.items}, indent=2, ensure_ascii=False) + "\n"

    def _common(self) -> Json:
        system = {} if self.instructions is None else {"instructions": self.instructions}
        return {**self.fields, "model": self.model, **system}


def parse_value(text: str) -> Any:
    """Parse a value that is written as JSON, or as text without quotes."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def _message(role: str, text: str) -> Json:
    return {"role": role, "content": text}
