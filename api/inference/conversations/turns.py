"""A request that belongs to a conversation: joins its items, and takes its turn when it is admitted."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace

from api.inference.conversations.items import Json, new_items, stored_items
from api.inference.conversations.joined_request import check_joined
from api.inference.conversations.record import Conversation
from api.inference.conversations.settling import read_settled
from api.inference.conversations.store import ALL, ConversationLocked, ConversationStore
from api.inference.dialects.attachments import Attachments
from api.inference.dialects.base import ParsedRequest
from api.inference.dialects.response_items import from_items
from api.inference.dialects.sealed_summaries import SummarySeal
from api.inference.dialects.tool_names import ToolNames
from api.services import AppServices
from config.settings import Settings
from governance.cache_namespaces import CacheNamespaces
from scheduler.job import Admission, Job
from scheduler.ledger import AsyncLedger
from store.errors import StokerError, StorageUnavailable

PARAM = "conversation"

UNSETTLED_S = 7 * 86_400
"""How long a response is kept if it is not settled."""


@dataclass(frozen=True, slots=True)
class NextTurn:
    """The turn of a request in its conversation, which it has read and not taken yet.

    `items` are those of its input.
    """

    store: ConversationStore
    conversation: Conversation
    items: list[Json]

    async def admit(self, ledger: AsyncLedger, job: Job) -> Admission:
        """Begin the turn and admit the job; if that is refused, end the turn.

        Raises what the admission raises, what `ConversationStore.begin_turn` raises, and
        `ConversationLocked` when the conversation was changed since the request has read it.
        """
        id = self.conversation.id
        if not await self.store.begin_turn(self.conversation, job.id, self.items):
            raise ConversationLocked(id, "it was changed a moment ago")
        try:
            admission = await ledger.admit(job)
        except StorageUnavailable:
            raise  # the job may have been admitted: the turn is settled later
        except StokerError:
            await self.store.end_turn(id, job.id, ())
            raise
        if admission.id != job.id:  # that of a repeat, which was admitted at the same moment
            await self.store.end_turn(id, job.id, ())
        return admission


async def load_conversation(
    services: AppServices, parsed: ParsedRequest, job: Job
) -> tuple[ParsedRequest, Job, NextTurn | None]:
    """The request and its job with the items of its conversation, and its turn.

    A count of tokens takes no turn. Raises `StokerError`: not_found, conversation_locked while another
    response runs, request_too_large for a conversation with more bytes than a body may have, and what
    `capabilities.check` raises.
    """
    id = parsed.conversation_id
    if id is None:
        return parsed, job, None
    conversation = await read_settled(services, id, job.tenant, ALL, PARAM)
    if conversation.turn is not None and not parsed.generation.count_only:
        raise ConversationLocked(id)
    joined, joined_job = await asyncio.to_thread(_joined, services, parsed, job, conversation)
    if parsed.generation.count_only:
        return joined, joined_job, None
    items = await asyncio.to_thread(stored_items, new_items(parsed.new_input))
    kept_s = max(UNSETTLED_S, services[Settings].responses.retention_s)
    turn = NextTurn(services[ConversationStore], replace(conversation, items=()), items)
    return joined, replace(joined_job, retention_s=kept_s), turn


def _joined(
    services: AppServices, parsed: ParsedRequest, job: Job, conversation: Conversation
) -> tuple[ParsedRequest, Job]:
    """The request, checked, with the conversation's items before its own input and after its instructions."""
    attachments = Attachments()
    new = ((f"input[{at}]", item) for at, item in enumerate(new_items(parsed.new_input)))
    items = [*((PARAM, item) for item in conversation.items), *new]
    messages = from_items(items, attachments, ToolNames(parsed.echo.get("tools", ())))
    start = 1 if parsed.echo.get("instructions") else 0
    messages = (*parsed.generation.messages[:start], *messages)
    joined = replace(
        parsed,
        generation=replace(parsed.generation, messages=messages),
        image_params=tuple(attachments.params),
        documents=tuple(attachments.documents),
        summaries=tuple(attachments.summaries),
    )
    if joined.summaries:
        joined = SummarySeal(services[CacheNamespaces], job.tenant).opened(joined)
    return check_joined(services, joined, job, f"the conversation {conversation.id}", PARAM)
