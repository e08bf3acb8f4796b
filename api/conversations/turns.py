"""A request that belongs to a conversation: joins its items, and begins its turn."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING

from api.conversations.items import own_items, stored_items
from api.conversations.record import Conversation
from api.conversations.settling import read_settled
from api.conversations.store import ALL, ConversationLocked
from api.dialects.attachments import Attachments
from api.dialects.base import ParsedRequest
from api.dialects.conversation import from_items
from api.sealed_summaries import SummarySeal
from api.streaming.joined_request import check_joined
from scheduler.errors import StokerError, StorageUnavailable
from scheduler.job import Job

if TYPE_CHECKING:
    from api.services import AppServices

PARAM = "conversation"
TRIES = 3
"""How often a turn is begun in a conversation that changes meanwhile."""

UNSETTLED_S = 7 * 86_400
"""How long a response is kept if it is not settled."""


async def with_conversation(
    services: AppServices, parsed: ParsedRequest, job: Job
) -> tuple[ParsedRequest, Job]:
    """The request and its job with the items of its conversation, in which its turn has begun.

    A count of tokens takes no turn. Raises `StokerError`: not_found, conversation_locked while another
    response runs, request_too_large for a conversation with more bytes than a body may have,
    conversation_quota_exceeded, and what `capabilities.check` raises.
    """
    id = parsed.conversation_id
    if id is None:
        return parsed, job
    for _ in range(TRIES):
        conversation = await read_settled(services, id, job.tenant, ALL, PARAM)
        joined, its_job = await asyncio.to_thread(_joined, services, parsed, job, conversation)
        if parsed.generation.count_only:
            return joined, its_job
        if conversation.turn is not None:
            raise ConversationLocked(id)
        items = await asyncio.to_thread(stored_items, own_items(parsed.own_input))
        if await services.conversations.begin_turn(conversation, job.id, items):
            kept_s = max(UNSETTLED_S, services.settings.responses.retention_s)
            return joined, replace(its_job, retention_s=kept_s)
    raise ConversationLocked(id)


async def give_up_turn(
    services: AppServices, parsed: ParsedRequest, job: Job, error: StokerError | None = None
) -> None:
    """End the turn of a job that was not admitted.

    If the outcome of the admission is unknown, the turn stays, and is settled later.
    """
    id, is_unknown = parsed.conversation_id, isinstance(error, StorageUnavailable)
    if id is not None and not parsed.generation.count_only and not is_unknown:
        await services.conversations.end_turn(id, job.id, ())


def _joined(
    services: AppServices, parsed: ParsedRequest, job: Job, conversation: Conversation
) -> tuple[ParsedRequest, Job]:
    """The request, checked, with the conversation's items before its own input and after its instructions."""
    attachments = Attachments()
    own = ((f"input[{at}]", item) for at, item in enumerate(own_items(parsed.own_input)))
    items = [*((PARAM, item) for item in conversation.items), *own]
    messages = from_items(items, attachments)
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
        joined = SummarySeal(services.cache_namespaces, job.tenant).opened(joined)
    return check_joined(services, joined, job, f"the conversation {conversation.id}", PARAM)
