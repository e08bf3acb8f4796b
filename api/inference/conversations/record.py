"""A conversation as it is stored, and the objects that clients get."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

Json = dict[str, Any]

TURN_ITEMS = "turn_items"
"""The field with the items of the input of an open turn outside of branches."""

ROOT, LATEST, PLACE = "-", "=", "^"
"""Parents in Redis that are no id of an item: none; the item with the next lower number; the place of the
turn."""


@dataclass(frozen=True, slots=True)
class Turn:
    """A response that runs, or has ended and is not settled.

    Its output follows the item `place`; None: it is a root. Outside of branches its input comes before that
    output and is no item yet. `continues`: its output continues the text of that item.
    """

    response: str
    begun_us: int
    place: str | None
    in_branch: bool
    continues: bool = False


@dataclass(frozen=True, slots=True)
class Conversation:
    """A conversation with its items, the first one first. `next_number` is that of the next item.

    Each item has its `parent_id`. `items` are some of `item_count`, or all. Times are in Unix microseconds.
    """

    id: str
    tenant: str
    created_us: int
    metadata: dict[str, str]
    next_number: int = 0
    items: tuple[Json, ...] = ()
    turns: tuple[Turn, ...] = ()
    changed_us: int = 0
    expires_us: int = 0
    item_count: int = 0
    bytes: int = 0

    @property
    def line_turn(self) -> Turn | None:
        """The turn outside of branches, of which there is one at a time."""
        return next((turn for turn in self.turns if not turn.in_branch), None)

    def as_object(self) -> Json:
        """OpenAI's conversation object (OpenAI API reference, "Conversations"), with what is added here."""
        return {
            "id": self.id,
            "object": "conversation",
            "created_at": self.created_us // 1_000_000,
            "metadata": self.metadata,
            "updated_at": self.changed_us // 1_000_000,
            "expires_at": self.expires_us // 1_000_000,
            "item_count": self.item_count,
            "bytes": self.bytes,
            "turns": [
                {
                    "response_id": turn.response,
                    "parent_id": turn.place,
                    "created_at": turn.begun_us // 1_000_000,
                }
                for turn in self.turns
            ],
        }


@dataclass(frozen=True, slots=True)
class ConversationPage:
    """Conversations of a tenant, the latest changed first; how many it has in all, and their bytes."""

    conversations: tuple[Conversation, ...]
    has_more: bool
    count: int
    bytes: int


def new_id() -> str:
    """A random id of a conversation."""
    return f"conv_{secrets.token_hex(16)}"


def read_conversation(id: str, tenant: str, reply: Sequence[bytes]) -> Conversation:
    """The conversation of the fields and values of its hash, or of some of them."""
    fields = _fields(reply)
    created_us = int(fields["created_us"])
    return Conversation(
        id,
        tenant,
        created_us,
        orjson.loads(fields["metadata"]),
        int(fields.get("next", 0)),
        _items(value for name, value in fields.items() if name.startswith("i:")),
        _turns(fields),
        int(fields.get("changed_us", created_us)),
        int(fields.get("expires_us", 0)),
        int(fields.get("items", 0)),
        int(fields.get("bytes", 0)),
    )


def _items(values: Iterable[bytes]) -> tuple[Json, ...]:
    """The items in the order of their numbers, each with its parent, and the time of its addition.

    An older platform wrote no parent and no time: such an item follows the one before it.
    """
    numbered = sorted((int(number), rest) for number, _, rest in (value.partition(b" ") for value in values))
    items: list[Json] = []
    for _, value in numbered:
        if value.startswith(b"{"):
            parent, added_us, text = LATEST, None, value
        else:
            head, time, text = value.split(b" ", 2)
            parent, added_us = head.decode(), int(time)
        item = orjson.loads(text)
        if parent == LATEST:
            item["parent_id"] = items[-1]["id"] if items else None
        else:
            item["parent_id"] = None if parent == ROOT else parent
        item.setdefault("created_at", None if added_us is None else added_us // 1_000_000)
        items.append(item)
    return tuple(items)


def _turns(fields: Mapping[str, bytes]) -> tuple[Turn, ...]:
    turns = []
    if "turn" in fields:
        place = fields.get("turn_parent", ROOT.encode()).decode()
        turns.append(Turn(fields["turn"].decode(), int(fields["turn_us"]), id_of(place), in_branch=False))
    for line in fields.get("turns", b"").decode().splitlines():
        response, begun_us, place, continues = line.split(" ")
        turns.append(Turn(response, int(begun_us), id_of(place), in_branch=True, continues=continues == "1"))
    return tuple(turns)


def id_of(parent: str) -> str | None:
    """The id of a parent in Redis, None for a root."""
    return None if parent == ROOT else parent


def read_turn_items(response: str, reply: Sequence[bytes]) -> list[Json]:
    """The items of the input of a turn, of what was read with `TURN_ITEMS`; none when the turn has ended."""
    fields = _fields(reply)
    if fields.get("turn", b"").decode() != response:
        return []
    items: list[Json] = orjson.loads(fields[TURN_ITEMS])
    return items


def page_of(tenant: str, reply: Sequence[Any]) -> ConversationPage:
    """A page of the conversations of a tenant, of the reply of `list_conversations.lua`."""
    count, size, has_more, *rest = reply
    found = tuple(
        read_conversation(id.decode(), tenant, fields)
        for id, fields in zip(rest[::2], rest[1::2], strict=True)
    )
    return ConversationPage(found, bool(has_more), count, size)


def _fields(reply: Sequence[bytes]) -> dict[str, bytes]:
    return {name.decode(): value for name, value in zip(reply[::2], reply[1::2], strict=True)}
