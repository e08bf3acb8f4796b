"""A request that belongs to a conversation: joins its items, and takes its turn when it is admitted."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace

from api.http.errors import InvalidRequest, NotFound
from api.inference import capabilities
from api.inference.conversations.fitting import fitted
from api.inference.conversations.items import Json, new_items, own_items, stored_items
from api.inference.conversations.joined_request import check_joined
from api.inference.conversations.record import Conversation
from api.inference.conversations.settling import read_settled
from api.inference.conversations.store import (
    ALL,
    PARAM,
    BranchPlace,
    ConversationLocked,
    ConversationStore,
)
from api.inference.conversations.tree import as_history, latest_path, path_to
from api.inference.dialects.attachments import Attachments
from api.inference.dialects.base import LATEST_ITEM, ParsedRequest
from api.inference.dialects.response_items import from_items
from api.inference.dialects.sealed_summaries import SummarySeal
from api.inference.dialects.tool_names import ToolNames
from api.services import AppServices
from config.settings import Settings
from fleet.fleet import Fleet
from governance.cache_namespaces import CacheNamespaces
from scheduler.job import Admission, Job
from scheduler.ledger import AsyncLedger
from store.errors import StokerError, StorageUnavailable

UNSETTLED_S = 7 * 86_400
"""How long a response is kept if it is not settled."""


@dataclass(frozen=True, slots=True)
class NextTurn:
    """The turn of a request in its conversation, which it has read and not taken yet.

    `items` are those of its input. `branch` is its place in a tree, and `unnamed` are the ids of its items
    that the client has not chosen; outside of branches it follows the item `latest`.
    """

    store: ConversationStore
    conversation: Conversation
    items: list[Json]
    latest: str | None = None
    branch: BranchPlace | None = None
    unnamed: tuple[str, ...] = ()

    async def admit(self, ledger: AsyncLedger, job: Job) -> Admission:
        """Begin the turn and admit the job; if that is refused, end the turn.

        Raises what the admission raises, what `ConversationStore.begin_turn` raises, and
        `ConversationLocked` when the conversation was changed since the request has read it.
        """
        await self._begin(job.id)
        try:
            admission = await ledger.admit(job)
        except StorageUnavailable:
            raise  # the job may have been admitted: the turn is settled later
        except StokerError:
            await self._end_unused(job.id)
            raise
        if admission.id != job.id:  # that of a repeat, which was admitted at the same moment
            await self._end_unused(job.id)
        return admission

    async def _begin(self, response: str) -> None:
        id = self.conversation.id
        if self.branch is not None:
            await self.store.begin_branch_turn(self.conversation, response, self.items, self.branch)
        elif not await self.store.begin_turn(self.conversation, response, self.items, self.latest):
            raise ConversationLocked(id, "it was changed a moment ago")

    async def _end_unused(self, response: str) -> None:
        """End the turn without a result. An item with an id of the client's own stays: a repeat finds it."""
        await self.store.end_turn(self.conversation.id, response, ())
        if self.unnamed:
            await self.store.delete_items(self.conversation.id, self.conversation.tenant, self.unnamed)


async def load_conversation(
    services: AppServices, parsed: ParsedRequest, job: Job
) -> tuple[ParsedRequest, Job, NextTurn | None]:
    """The request and its job with the items of its conversation, and its turn.

    A count of tokens takes no turn. Raises `StokerError`: not_found for a conversation or a parent that is
    not there, conversation_locked while another response runs, request_too_large for a conversation with
    more bytes than a body may have, and what `capabilities.check` raises.
    """
    id = parsed.conversation_id
    if id is None:
        return parsed, job, None
    conversation = await read_settled(services, id, job.tenant, job.person, ALL, PARAM)
    in_branch = parsed.conversation_parent != LATEST_ITEM
    if conversation.line_turn is not None and not in_branch and not parsed.generation.count_only:
        raise ConversationLocked(id)
    given = new_items(parsed.new_input)
    turn = NextTurn(services[ConversationStore], replace(conversation, items=()), [])
    if in_branch:
        path, turn = await asyncio.to_thread(_branch, parsed, conversation, given, turn)
    else:
        path = await asyncio.to_thread(latest_path, conversation.items)
        items = await asyncio.to_thread(stored_items, given)
        turn = replace(turn, items=items, latest=path[-1]["id"] if path else None)
    joined, joined_job = await asyncio.to_thread(_joined, services, parsed, job, id, path)
    if parsed.generation.count_only:
        return joined, joined_job, None
    kept_s = max(UNSETTLED_S, services[Settings].responses.retention_s)
    return joined, replace(joined_job, retention_s=kept_s), turn


def _branch(
    parsed: ParsedRequest, conversation: Conversation, given: list[Json], turn: NextTurn
) -> tuple[list[Json], NextTurn]:
    """The path before the input, and the turn with the items of the input.

    Raises `NotFound`; `InvalidRequest` for items whose ids cannot be used, and for an input without any
    history.
    """
    path = path_to(conversation.items, parsed.conversation_parent)
    if path is None:
        raise NotFound(
            f"the conversation has no item {parsed.conversation_parent}", param="conversation.parent"
        )
    if not path and not given:
        raise InvalidRequest("input is required", param="input")
    items = own_items(given, "input")
    chosen = {item.get("id") for item in given}
    known = {item["id"]: item for item in conversation.items}
    parent = parsed.conversation_parent
    new = []
    for item in items:
        stored = known.get(item["id"])
        if stored is None:
            new.append(item)
        elif new or stored["parent_id"] != parent or not _is_same(stored, item):
            raise InvalidRequest(
                f"the conversation has an item {item['id']} at another place, or with another content",
                param="input",
            )
        else:
            parent = item["id"]
    place = BranchPlace(parent, continues=parsed.continues_last)
    unnamed = tuple(item["id"] for item in new if item["id"] not in chosen)
    return path, replace(turn, items=new, branch=place, unnamed=unnamed)


def _is_same(stored: Json, item: Json) -> bool:
    return all(stored.get(key) == value for key, value in item.items())


def _joined(
    services: AppServices, parsed: ParsedRequest, job: Job, id: str, path: list[Json]
) -> tuple[ParsedRequest, Job]:
    """The request, checked, with the items of its path before its own input and after its instructions."""
    attachments = Attachments()
    before, new = as_history(path), new_items(parsed.new_input)
    params = [*(PARAM for _ in before), *(f"input[{at}]" for at in range(len(new)))]
    items = [*before, *new]
    if parsed.fits_attachments:
        items = fitted(
            items,
            takes=_input_types(services, parsed.generation.model),
            max_bytes=services[Settings].api.max_body_bytes,
        )
    messages = from_items(
        zip(params, items, strict=True), attachments, ToolNames(parsed.echo.get("tools", ()))
    )
    start = 1 if parsed.echo.get("instructions") else 0
    messages = (*parsed.generation.messages[:start], *messages)
    joined = replace(
        parsed,
        generation=replace(parsed.generation, messages=messages),
        image_params=tuple(attachments.params),
        audio_params=tuple(attachments.recordings.params),
        documents=tuple(attachments.documents),
        summaries=tuple(attachments.summaries),
    )
    if joined.summaries:
        joined = SummarySeal(services[CacheNamespaces], job.tenant).opened(joined)
    return check_joined(services, joined, job, f"the conversation {id}", PARAM)


def _input_types(services: AppServices, name: str) -> tuple[str, ...]:
    model = services[Fleet].catalogue.get(name)
    return () if model is None else capabilities.modalities(model)
