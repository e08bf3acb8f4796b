"""The conversations of all tenants in Redis, by scripts (docs/decisions/0021-conversations.md)."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from operator import itemgetter
from pathlib import Path
from typing import Any

import orjson

from api.http.errors import ApiError, InvalidRequest, NotFound
from api.inference.conversations.record import (
    LATEST,
    PLACE,
    ROOT,
    TURN_ITEMS,
    Conversation,
    ConversationPage,
    new_id,
    page_of,
    read_conversation,
    read_turn_items,
)
from api.inference.conversations.tree import heirs, with_descendants
from config.settings import Settings
from scheduler.large_admissions import LARGE_BYTES
from store.async_connection import AsyncConnection
from store.errors import StorageFull
from store.scripts import AsyncScripts, redis_errors_translated, without_errors

LUA = Path(__file__).parent / "lua"
MAX_ITEMS = 10_000
MAX_TURNS = 64
"""Open turns of the branches of a conversation."""

DELETES = 5
"""How often a delete of items is tried while the conversation changes."""

MAX_CHANGED = 500
"""Items that one call changes: it takes some milliseconds, in which Redis serves no other tenant."""

POLL_S = 5
"""The seconds between two polls of an open turn."""

PARAM = "conversation"
"""The field of a request for a response that names its conversation."""

ALL = "*"
PAGE = 100
"""Turns, and conversations to remove, of one call."""

FULL_RETRY_S = 60
LOCKED_RETRY_S = 1

Json = dict[str, Any]


class ConversationQuotaExceeded(ApiError):
    """Raised when the conversations of a tenant are as many, or take as many bytes, as they may."""

    default_code = "conversation_quota_exceeded"


class ConversationLocked(ApiError):
    """Raised when another response of the conversation runs, or begins at the same moment."""

    default_code = "conversation_locked"

    def __init__(self, id: str, reason: str = "one of its responses is running") -> None:
        super().__init__(
            f"the conversation {id} cannot be changed now, because {reason}: retry in a moment",
            param="conversation",
            retry_after_s=LOCKED_RETRY_S,
        )


def item_field(id: str) -> str:
    """What `ConversationStore.read` takes to read one item, or all of them if its parent is not named."""
    return f"i:{id}"


def no_such_conversation(id: str, param: str) -> NotFound:
    """The error for an id that no conversation of the tenant has."""
    return NotFound(f"there is no conversation {id}", param=param)


@dataclass(frozen=True, slots=True)
class BranchPlace:
    """Where a response stands in a tree: its input follows the item `parent`, None: it is a root.

    `continues`: its output continues the text of the last item before it.
    """

    parent: str | None
    continues: bool = False


class ConversationStore:
    """Creates, reads, changes and deletes conversations. Its methods raise `StorageUnavailable`.

    `person` is the id of the person who asks, and has the conversations that the same person has made; "" for
    a key, which has all of its tenant.
    """

    def __init__(self, connection: AsyncConnection, large: AsyncConnection, settings: Settings) -> None:
        self.scripts = AsyncScripts(connection, settings.redis.prefix, LUA)
        self._large = AsyncScripts(large, settings.redis.prefix, LUA)
        self._settings = settings.responses
        self._bounds = {
            "max_tenant_bytes": self._settings.max_conversation_bytes_per_tenant,
            "max_bytes": self._settings.max_conversation_bytes,
            "max_conversation_bytes": settings.api.max_body_bytes,
            "max_items": MAX_ITEMS,
        }

    async def create(
        self, tenant: str, metadata: Json, items: Sequence[Json], person: str = ""
    ) -> Conversation:
        """Create a conversation. Raises `ConversationQuotaExceeded`, `StorageFull`."""
        id = new_id()
        await self._write(id, tenant, items, person, create=True, metadata=metadata)
        return await self.read(id, tenant)

    async def read_page(self, tenant: str, most: int, after: str, person: str = "") -> ConversationPage:
        """The page of the conversations that follow that with the id `after` ("": from the first
        one).

        Raises `InvalidRequest`.
        """
        reply = await self._large.run(
            "list_conversations", tenant=tenant, person=person, after=after, most=most
        )
        if not reply:
            raise InvalidRequest("after must be the id of a conversation", param="after")
        return await asyncio.to_thread(page_of, tenant, reply)

    def quota(self, page: ConversationPage) -> Json:
        """What the conversations of a tenant take, and may take."""
        return {
            "conversations": page.count,
            "max_conversations": self._settings.max_conversations_per_tenant,
            "bytes": page.bytes,
            "max_bytes": self._settings.max_conversation_bytes_per_tenant,
        }

    async def update(self, id: str, tenant: str, metadata: Json, person: str = "") -> None:
        """Replace the metadata. Raises `NotFound`, `ConversationQuotaExceeded`, `StorageFull`."""
        await self._write(id, tenant, (), person, metadata=metadata)

    async def add(self, id: str, tenant: str, items: Sequence[Json], person: str = "") -> None:
        """Add items, each of which follows its `parent_id`; one without that key follows the one before it,
        and the first one the latest item.

        Raises what `update` does, and `ConversationLocked`, `InvalidRequest`.
        """
        await self._write(id, tenant, items, person)

    async def read(
        self, id: str, tenant: str, person: str = "", *, items: str = "", param: str = "conversation_id"
    ) -> Conversation:
        """Read a conversation, and `ALL` its items, that of `item_field` or none. Raises `NotFound`."""
        scripts = self._large if items else self.scripts
        reply = await scripts.run("read_conversation", id=id, tenant=tenant, person=person, field=items)
        if not reply:
            raise no_such_conversation(id, param)
        if sum(map(len, reply)) < LARGE_BYTES:
            return read_conversation(id, tenant, reply)
        return await asyncio.to_thread(read_conversation, id, tenant, reply)

    async def read_input(self, id: str, tenant: str, response: str) -> list[Json]:
        """Read the items of the input of an open turn; none when it has ended."""
        reply = await self._large.run("read_conversation", id=id, tenant=tenant, person="", field=TURN_ITEMS)
        return await asyncio.to_thread(read_turn_items, response, reply)

    async def delete(self, id: str, tenant: str, person: str = "") -> bool:
        """Delete a conversation. Returns False when there is none."""
        return bool(await self.scripts.run("delete_conversation", id=id, tenant=tenant, person=person))

    async def delete_items(
        self, id: str, tenant: str, items: Sequence[str], *, descendants: bool = False
    ) -> bool:
        """Delete items, and those that follow them with `descendants`; others then follow the nearest item
        above.

        Many changes are made in parts, each of which leaves a whole tree: those that stay are moved first,
        and the given items are deleted last, so that a repeat completes what an error has ended. Returns
        False when none of these items is there. Raises `NotFound`, and `ConversationLocked` when the
        conversation changes all the time.
        """
        for _ in range(DELETES):
            conversation = await self.read(id, tenant, items=ALL)
            parts = await asyncio.to_thread(_changes, conversation, items, descendants=descendants)
            if not parts:
                return False
            if await self._change_items(conversation, parts):
                return True
        raise ConversationLocked(id, "it changes all the time")

    async def _change_items(self, conversation: Conversation, parts: Sequence[tuple[list[str], int]]) -> bool:
        """Apply the parts of a delete. Returns False when the conversation was changed since it was read."""
        for at, (pairs, count) in enumerate(parts):
            reply = await self._large.run(
                "delete_conversation_items",
                id=conversation.id,
                tenant=conversation.tenant,
                next_number=conversation.next_number + at,
                kept_s=self._settings.conversation_retention_s,
                count=count,
                pairs=pairs,
            )
            if reply[0] == b"changed":
                return False
            self._check(conversation.id, reply, "conversation_id")
        return True

    async def begin_turn(
        self, conversation: Conversation, response: str, items: Sequence[Json], place: str | None = None
    ) -> bool:
        """Begin the turn of a response with its input, which follows the item `place`: the latest one.

        Returns False when the conversation was changed since it was read. Raises what `add` does.
        """
        text = await asyncio.to_thread(orjson.dumps, items)
        reply = await self._large.run(
            "begin_conversation_turn",
            id=conversation.id,
            tenant=conversation.tenant,
            response=response,
            next_number=conversation.next_number,
            parent=place or ROOT,
            items=text,
            item_count=len(items),
            kept_s=self._settings.conversation_retention_s,
            **self._bounds,
            poll_us=POLL_S * 1_000_000,
        )
        if reply[0] == b"changed":
            return False
        self._check(conversation.id, reply, PARAM)
        return True

    async def begin_branch_turn(
        self, conversation: Conversation, response: str, items: Sequence[Json], turn: BranchPlace
    ) -> None:
        """Add those items of its input that the conversation does not have, and begin the turn of a response.

        Raises what `add` does.
        """
        place = items[-1]["id"] if items else turn.parent
        reply = await self._large.run(
            "begin_branch_turn",
            id=conversation.id,
            tenant=conversation.tenant,
            response=response,
            place=place or ROOT,
            continues=int(turn.continues),
            kept_s=self._settings.conversation_retention_s,
            **self._bounds,
            max_turns=MAX_TURNS,
            poll_us=POLL_S * 1_000_000,
            items=await asyncio.to_thread(_triples, items, turn.parent or ROOT),
        )
        self._check(conversation.id, reply, PARAM)

    async def end_turn(self, id: str, response: str, items: Sequence[Json]) -> None:
        """End the turn of a response, if it is open, and add its items, the first one at the turn's place.

        None: nothing is left of it.
        """
        await self._large.run(
            "end_conversation_turn",
            id=id,
            response=response,
            kept_s=self._settings.conversation_retention_s,
            response_kept_s=self._settings.retention_s,
            items=await asyncio.to_thread(_triples, items, PLACE),
        )

    async def open_turns(self) -> list[tuple[str, str, str]]:
        """Open turns that were not polled for `POLL_S`: conversation, response, tenant.

        Removes conversations that have expired. A response whose conversation is gone is kept as any other.
        """
        reply = await self.scripts.run(
            "open_conversation_turns",
            max_turns=PAGE,
            max_expired=PAGE,
            poll_us=POLL_S * 1_000_000,
            response_kept_s=self._settings.retention_s,
        )
        texts = [value.decode() for value in reply]
        return list(zip(texts[::3], texts[1::3], texts[2::3], strict=True))

    async def tenants(self) -> set[str]:
        """The tenants that have conversations."""
        with redis_errors_translated():
            key = f"{self.scripts.prefix}conversation_bytes"
            (names,) = without_errors(await self.scripts.exchange([("HKEYS", key)]))
        return {name.decode() for name in names} - {"@all"}

    async def drop(self, tenant: str) -> None:
        """Remove all conversations of a tenant."""
        while await self.scripts.run("drop_conversations", tenant=tenant, most=PAGE):
            pass

    async def _write(  # noqa: PLR0913 - who writes, and all that is written
        self,
        id: str,
        tenant: str,
        items: Sequence[Json],
        person: str,
        *,
        create: bool = False,
        metadata: Json | None = None,
    ) -> None:
        reply = await self._large.run(
            "write_conversation",
            id=id,
            tenant=tenant,
            person=person,
            create=int(create),
            metadata="" if metadata is None else orjson.dumps(metadata),
            kept_s=self._settings.conversation_retention_s,
            max_conversations=self._settings.max_conversations_per_tenant,
            **self._bounds,
            items=await asyncio.to_thread(_triples, items, LATEST),
        )
        self._check(id, reply, "conversation_id")

    def _check(self, id: str, reply: Sequence[Any], param: str) -> None:
        """Raise the error of a script's reply, if it is one."""
        result: bytes = reply[0]
        detail: Any = reply[1] if len(reply) > 1 else 0
        if result == b"parent":
            raise NotFound(f"the conversation has no item {detail.decode()}", param=param)
        if result == b"conflict":
            raise InvalidRequest(
                f"the conversation has an item {detail.decode()} at another place, or with another content",
                param=param,
            )
        number = int(detail)
        names = (b"tenant_bytes", b"bytes", b"size", b"items")
        most = dict(zip(names, self._bounds.values(), strict=True)).get(result)
        if result == b"gone":
            raise no_such_conversation(id, param)
        if result == b"locked":
            reason = f"{number} of its responses are running" if number else "one of its responses is running"
            raise ConversationLocked(id, reason)
        if result == b"count":
            raise ConversationQuotaExceeded(
                f"the tenant has {number} conversations, and responses.max_conversations_per_tenant "
                "allows no more; delete some first"
            )
        if result == b"tenant_bytes":
            raise ConversationQuotaExceeded(
                f"the tenant's conversations would take {number} bytes, more than {most} "
                "(responses.max_conversation_bytes_per_tenant); delete some first"
            )
        if result == b"share":
            raise ConversationQuotaExceeded(
                f"the tenant's conversations would take {number} bytes, more than are free of the "
                f"{self._settings.max_conversation_bytes} bytes of all tenants "
                "(responses.max_conversation_bytes); delete some first"
            )
        if result == b"bytes":
            raise StorageFull(
                f"the conversations of all tenants would take {number} bytes, more than {most} "
                "(responses.max_conversation_bytes)",
                retry_after_s=FULL_RETRY_S,
            )
        if most is not None:
            bound = f"{most} bytes (api.max_body_bytes)" if result == b"size" else f"{most} items"
            raise ApiError(
                f"the conversation {id} would have {number}, more than {bound}: start a new one, or delete "
                "items of this one first",
                code="request_too_large",
                param=param,
            )


def _triples(items: Iterable[Json], first: str) -> list[str | bytes]:
    """The id, the parent and the JSON of each item; `first` is the parent of the first one.

    An item without a `parent_id` follows the one before it.
    """
    found: list[str | bytes] = []
    for item in items:
        parent = (item["parent_id"] or ROOT) if "parent_id" in item else first
        text = orjson.dumps({key: value for key, value in item.items() if key != "parent_id"})
        found += [item["id"], parent, text]
        first = item["id"]
    return found


def _changes(
    conversation: Conversation, ids: Iterable[str], *, descendants: bool
) -> list[tuple[list[str], int]]:
    """What the calls of `delete_conversation_items` take to delete items: pairs of ids, and how many items
    they delete."""
    wanted = set(ids)
    gone = {item["id"] for item in conversation.items if item["id"] in wanted}
    if descendants:
        gone.update(id for root in tuple(gone) for id in with_descendants(conversation.items, root))
    deleted, moved = heirs(conversation.items, gone)
    changes = [*((0, pair) for pair in moved), *((1, pair) for pair in reversed(deleted))]
    parts = [changes[at : at + MAX_CHANGED] for at in range(0, len(changes), MAX_CHANGED)]
    for part in parts:
        part.sort(key=itemgetter(0), reverse=True)  # those that are deleted come first in a call
    return [
        ([value for _, (id, parent) in part for value in (id, parent or ROOT)], sum(n for n, _ in part))
        for part in parts
    ]
