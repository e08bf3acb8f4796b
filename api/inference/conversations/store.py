"""The conversations of all tenants in Redis, by scripts (docs/decisions/0021-conversations.md)."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import orjson

from api.http.errors import ApiError, NotFound
from api.inference.conversations.record import (
    TURN_ITEMS,
    Conversation,
    new_id,
    read_conversation,
    read_turn_items,
)
from config.settings import Settings
from scheduler.large_admissions import LARGE_BYTES
from store.async_connection import AsyncConnection
from store.errors import StorageFull
from store.scripts import AsyncScripts, redis_errors_translated, without_errors

LUA = Path(__file__).parent / "lua"
MAX_ITEMS = 10_000
POLL_S = 5
"""The seconds between two polls of an open turn."""

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


def no_such_conversation(id: str, param: str) -> NotFound:
    """The error for an id that no conversation of the tenant has."""
    return NotFound(f"there is no conversation {id}", param=param)


class ConversationStore:
    """Creates, reads, changes and deletes conversations. Its methods raise `StorageUnavailable`."""

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

    async def create(self, tenant: str, metadata: Json, items: Sequence[Json]) -> Conversation:
        """Create a conversation. Raises `ConversationQuotaExceeded`, `StorageFull`."""
        id = new_id()
        await self._write(id, tenant, items, create=True, metadata=metadata)
        return await self.read(id, tenant)

    async def update(self, id: str, tenant: str, metadata: Json) -> None:
        """Replace the metadata. Raises `NotFound`, `ConversationQuotaExceeded`, `StorageFull`."""
        await self._write(id, tenant, (), metadata=metadata)

    async def add(self, id: str, tenant: str, items: Sequence[Json]) -> None:
        """Put items at the end. Raises what `update` does, and `ConversationLocked`."""
        await self._write(id, tenant, items)

    async def read(
        self, id: str, tenant: str, *, items: str = "", param: str = "conversation_id"
    ) -> Conversation:
        """Read a conversation, and of its items that with the id `items`, or `ALL`. Raises `NotFound`.

        An item may be as large as a body.
        """
        scripts = self._large if items else self.scripts
        field = f"i:{items}" if items not in ("", ALL) else items
        reply = await scripts.run("read_conversation", id=id, tenant=tenant, field=field)
        if not reply:
            raise no_such_conversation(id, param)
        if sum(map(len, reply)) < LARGE_BYTES:
            return read_conversation(id, tenant, reply)
        return await asyncio.to_thread(read_conversation, id, tenant, reply)

    async def read_input(self, id: str, tenant: str, response: str) -> list[Json]:
        """Read the items of the input of an open turn; none when it has ended."""
        reply = await self._large.run("read_conversation", id=id, tenant=tenant, field=TURN_ITEMS)
        return await asyncio.to_thread(read_turn_items, response, reply)

    async def delete(self, id: str, tenant: str, item: str = "") -> bool:
        """Delete a conversation, or an item of it. Returns False when there is none."""
        retention_s = self._settings.conversation_retention_s
        deleted = await self.scripts.run(
            "delete_conversation", id=id, tenant=tenant, item=item, kept_s=retention_s
        )
        return bool(deleted)

    async def begin_turn(self, conversation: Conversation, response: str, items: Sequence[Json]) -> bool:
        """Begin the turn of a response with its input.

        Returns False when the conversation was changed since it was read. Raises what `add` does.
        """
        text = await asyncio.to_thread(orjson.dumps, items)
        reply = await self._large.run(
            "begin_conversation_turn",
            id=conversation.id,
            tenant=conversation.tenant,
            response=response,
            next_number=conversation.next_number,
            items=text,
            item_count=len(items),
            kept_s=self._settings.conversation_retention_s,
            **self._bounds,
            poll_us=POLL_S * 1_000_000,
        )
        if reply[0] == b"changed":
            return False
        self._check(conversation.id, reply, "conversation")
        return True

    async def end_turn(self, id: str, response: str, items: Sequence[Json]) -> None:
        """End the turn of a response, if it is open, and add its items. None: it has no result."""
        pairs = await asyncio.to_thread(_pairs, items)
        await self._large.run(
            "end_conversation_turn",
            id=id,
            response=response,
            kept_s=self._settings.conversation_retention_s,
            response_kept_s=self._settings.retention_s,
            items=pairs,
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

    async def _write(
        self,
        id: str,
        tenant: str,
        items: Sequence[Json],
        *,
        create: bool = False,
        metadata: Json | None = None,
    ) -> None:
        pairs = await asyncio.to_thread(_pairs, items)
        reply = await self._large.run(
            "write_conversation",
            id=id,
            tenant=tenant,
            create=int(create),
            metadata="" if metadata is None else orjson.dumps(metadata),
            kept_s=self._settings.conversation_retention_s,
            max_conversations=self._settings.max_conversations_per_tenant,
            **self._bounds,
            items=pairs,
        )
        self._check(id, reply, "conversation_id")

    def _check(self, id: str, reply: Sequence[Any], param: str) -> None:
        """Raise the error of a script's reply, if it is one."""
        result, number = reply[0], int(reply[1]) if len(reply) > 1 else 0
        most = dict(zip((b"tenant_bytes", b"bytes", b"size", b"items"), self._bounds, strict=True)).get(
            result
        )
        if result == b"gone":
            raise no_such_conversation(id, param)
        if result == b"locked":
            raise ConversationLocked(id)
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
        if result == b"bytes":
            raise StorageFull(
                f"the conversations of all tenants would take {number} bytes, more than {most} "
                "(responses.max_conversation_bytes)",
                retry_after_s=FULL_RETRY_S,
            )
        if most is not None:
            unit = "bytes" if result == b"size" else "items"
            raise ApiError(
                f"the conversation {id} would have {number} {unit}, more than {most}: start a new one",
                code="request_too_large",
                param=param,
            )


def _pairs(items: Iterable[Json]) -> list[str | bytes]:
    """The id and the JSON of each item."""
    return [value for item in items for value in (item["id"], orjson.dumps(item))]
