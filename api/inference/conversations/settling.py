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
from api.inference.conversations.items import Json, output_items
from api.inference.conversations.record import Conversation
from api.inference.conversations.store import PAGE, POLL_S, ConversationStore
from api.inference.dialects.base import decode_metadata
from api.inference.responses import dialect as responses
from api.services import AppServices
from scheduler.job import JobRow, Status
from scheduler.ledger import AsyncLedger
from store.errors import StokerError, StorageUnavailable
from streams.events import End, Event

logger = logging.getLogger("api")

ADMISSION_S = 60.0
"""How long the job of a turn may take to be admitted."""


async def read_settled(
    services: AppServices, id: str, tenant: str, items: str = "", param: str = "conversation_id"
) -> Conversation:
    """Read a conversation (see `ConversationStore.read`), whose response is settled first if it has ended.

    Raises `NotFound`, `StorageUnavailable`.
    """
    store = services[ConversationStore]
    conversation = await store.read(id, tenant, param=param)
    await settle(services, conversation)
    if not items:
        return conversation
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
    if conversation.turn is not None and conversation.turn.response == response:
        await settle(services, conversation)


async def settle(services: AppServices, conversation: Conversation) -> None:
    """End the conversation's turn if its response has ended, or was never admitted.

    Raises `StorageUnavailable`.
    """
    turn = conversation.turn
    if turn is None:
        return
    row = await services[AsyncLedger].lookup(turn.response, conversation.tenant)
    if row is None:
        if time.time() - turn.begun_us / 1e6 < ADMISSION_S:
            return
        items: list[Json] = []
    elif row.status.is_terminal:
        async with services[LogReads].hold(conversation.tenant):
            inputs = await services[ConversationStore].read_input(
                conversation.id, conversation.tenant, row.id
            )
            events = await read_events(services, row.id)
            items = await asyncio.to_thread(_result, inputs, row, events)
    else:
        return
    await services[ConversationStore].end_turn(conversation.id, turn.response, items)


def _result(inputs: Iterable[Json], row: JobRow, events: list[Event]) -> list[Json]:
    """The items of a turn; none when its response has no result, or its log is lost."""
    if row.status not in (Status.COMPLETED, Status.INCOMPLETE) or not (
        events and isinstance(events[-1], End)
    ):
        return []
    return [*inputs, *output_items(responses.response_object(decode_metadata(row), events))]


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
