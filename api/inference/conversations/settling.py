"""Ends the turns of responses that have ended: their input and output become items of the conversation."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Iterable

from api.access.registry import AccessRegistry
from api.files.sweeper import GRACE_S
from api.http.errors import NotFound
from api.http.polling import sleep_until_tick
from api.inference.answer.large_reads import LogReads
from api.inference.answer.stored_response import read_events
from api.inference.conversations.answers import answer_items
from api.inference.conversations.items import Json
from api.inference.conversations.record import Conversation, Turn
from api.inference.conversations.store import PAGE, POLL_S, ConversationStore
from api.inference.dialects.base import decode_metadata
from api.services import AppServices
from scheduler.job import JobRow, Status
from scheduler.ledger import AsyncLedger
from store.errors import StokerError, StorageUnavailable
from streams.events import End, Event

logger = logging.getLogger("api")

ADMISSION_S = 60.0
"""How long the job of a turn may take to be admitted."""


async def read_settled(  # noqa: PLR0913, PLR0917 - who asks, what is read, and how it is named
    services: AppServices,
    id: str,
    tenant: str,
    person: str,
    items: str = "",
    param: str = "conversation_id",
) -> Conversation:
    """Read a conversation (see `ConversationStore.read`), whose responses are settled first if they have
    ended.

    Raises `NotFound`, `StorageUnavailable`.
    """
    store = services[ConversationStore]
    conversation = await store.read(id, tenant, person, param=param)
    settled = [await settle(services, conversation, turn) for turn in conversation.turns]
    if not items:
        return await store.read(id, tenant, param=param) if any(settled) else conversation
    async with services[LogReads].hold(tenant):  # they may have as many bytes as a body
        return await store.read(id, tenant, items=items, param=param)


async def settle_response(services: AppServices, id: str, tenant: str, response: str) -> None:
    """End the turn of a response of a conversation, if both are still there and the response has ended.

    Raises `StorageUnavailable`.
    """
    try:
        conversation = await services[ConversationStore].read(id, tenant)
    except NotFound:
        return
    for turn in conversation.turns:
        if turn.response == response:
            await settle(services, conversation, turn)


async def settle(services: AppServices, conversation: Conversation, turn: Turn) -> bool:
    """End a turn of the conversation if its response has ended, or was never admitted. Returns whether it
    has.

    Raises `StorageUnavailable`.
    """
    store = services[ConversationStore]
    row = await services[AsyncLedger].lookup(turn.response, conversation.tenant)
    if row is None:
        if time.time() - turn.begun_us / 1e6 < ADMISSION_S:
            return False
        items: list[Json] = []
    elif row.status.is_terminal:
        async with services[LogReads].hold(conversation.tenant):
            inputs = (
                [] if turn.in_branch else await store.read_input(conversation.id, conversation.tenant, row.id)
            )
            events = await read_events(services, row.id)
            items = await asyncio.to_thread(_result, turn, inputs, row, events)
    else:
        return False
    await store.end_turn(conversation.id, turn.response, items)
    return True


def _result(turn: Turn, inputs: Iterable[Json], row: JobRow, events: list[Event]) -> list[Json]:
    """The items of a turn. Outside of branches there are none when its response has no result."""
    end = events[-1] if events and isinstance(events[-1], End) else None
    has_result = end is not None and row.status in (Status.COMPLETED, Status.INCOMPLETE)
    if not has_result and not turn.in_branch:
        return []
    return [*inputs, *answer_items(decode_metadata(row), row.status, events, end, turn)]


class Settler:
    """Settles conversations that no client reads; removes those that have expired or whose tenant is gone."""

    def __init__(self, services: AppServices) -> None:
        self._services = services
        self._unknown: dict[str, float] = {}
        """When a poll did not know a tenant for the first time."""

    async def run(self) -> None:
        """Poll until cancelled."""
        while True:
            await sleep_until_tick(POLL_S)
            try:
                await self.poll()
            except StokerError:
                logger.debug("conversations wait for Redis", exc_info=True)
            except Exception:
                logger.exception("conversations cannot be settled")

    async def poll(self) -> None:
        """Settle the open turns whose responses have ended; remove the conversations of removed tenants.

        Raises `StorageUnavailable`.
        """
        store = self._services[ConversationStore]
        turns = await store.open_turns()
        # together: those of one tenant may wait long for their logs
        settled = await asyncio.gather(
            *(settle_response(self._services, id, tenant, response) for id, response, tenant in turns),
            return_exceptions=True,
        )
        for (id, response, _), error in zip(turns, settled, strict=True):
            if isinstance(error, StorageUnavailable):
                raise error
            if isinstance(error, StokerError):  # many reads of its tenant wait: the next poll settles it
                logger.debug("the turn of %s in the conversation %s waits", response, id, exc_info=error)
            elif error is not None:  # the other turns go on
                logger.error(
                    "the turn of %s in the conversation %s cannot be settled", response, id, exc_info=error
                )
        if len(turns) < PAGE:
            await self._drop_unknown(store, self._services[AccessRegistry])

    async def _drop_unknown(self, store: ConversationStore, registry: AccessRegistry) -> None:
        """Remove the conversations of tenants that are gone."""
        if not registry.is_complete:  # the tenants in Redis are not known yet
            return
        now = time.monotonic()
        unknown = {name for name in await store.tenants() if name not in registry.identities.tenants}
        self._unknown = {name: self._unknown.get(name, now) for name in unknown}
        for name, since in self._unknown.items():
            if since + GRACE_S <= now:
                logger.info("the conversations of a removed tenant are deleted: %s", name)
                await store.drop(name)
