"""A conversation as it is stored, and the objects that clients get."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import orjson

Json = dict[str, Any]

TURN_ITEMS = "turn_items"
"""The field with the items of the input of an open turn."""


@dataclass(frozen=True, slots=True)
class Turn:
    """A response that runs, or has ended and is not settled."""

    response: str
    begun_us: int


@dataclass(frozen=True, slots=True)
class Conversation:
    """A conversation with its items, the first one first. `next_number` is that of the next item.

    `created_us` is in Unix microseconds.
    """

    id: str
    tenant: str
    created_us: int
    metadata: dict[str, str]
    next_number: int = 0
    items: tuple[Json, ...] = ()
    turn: Turn | None = None

    def as_object(self) -> Json:
        """OpenAI's conversation object (OpenAI API reference, "Conversations")."""
        created_at = self.created_us // 1_000_000
        return {"id": self.id, "object": "conversation", "created_at": created_at, "metadata": self.metadata}


def new_id() -> str:
    """A random id of a conversation."""
    return f"conv_{secrets.token_hex(16)}"


def read_conversation(id: str, tenant: str, reply: Sequence[bytes]) -> Conversation:
    """The conversation of the fields and values of its hash, or of some of them."""
    fields = _fields(reply)
    numbered = sorted(
        (int(number), text)
        for number, _, text in (
            value.partition(b" ") for name, value in fields.items() if name.startswith("i:")
        )
    )
    turn = None
    if "turn" in fields:
        turn = Turn(fields["turn"].decode(), int(fields["turn_us"]))
    return Conversation(
        id,
        tenant,
        int(fields["created_us"]),
        orjson.loads(fields["metadata"]),
        int(fields.get("next", 0)),
        tuple(orjson.loads(text) for _, text in numbered),
        turn,
    )


def read_turn_items(response: str, reply: Sequence[bytes]) -> list[Json]:
    """The items of the input of a turn, of what was read with `TURN_ITEMS`; none when the turn has ended."""
    fields = _fields(reply)
    if fields.get("turn", b"").decode() != response:
        return []
    items: list[Json] = orjson.loads(fields[TURN_ITEMS])
    return items


def _fields(reply: Sequence[bytes]) -> dict[str, bytes]:
    return {name.decode(): value for name, value in zip(reply[::2], reply[1::2], strict=True)}
