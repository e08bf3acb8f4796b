"""Input items that are the id of an output item of a stored response (`item_reference`).

Their place in the input gets the item itself, as if the client had sent it back (OpenAI API reference,
"Create a response", `input`).
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import orjson

from api.http.errors import ApiError, InvalidRequest, NotFound
from api.inference.answer.large_reads import LogReads
from api.inference.answer.stored_response import read_events
from api.inference.conversations.items import output_items
from api.inference.conversations.joined_request import check_joined
from api.inference.dialects.attachments import Attachments
from api.inference.dialects.base import ParsedRequest, decode_metadata
from api.inference.dialects.response_items import ITEM_REFERENCE, from_items
from api.inference.dialects.sealed_summaries import SummarySeal
from api.inference.dialects.tool_names import ToolNames
from api.inference.responses import dialect as responses
from api.services import AppServices
from config.settings import Settings
from governance.cache_namespaces import CacheNamespaces
from scheduler.job import Job
from scheduler.ledger import AsyncLedger

Json = dict[str, Any]

MAX_RESPONSES = 256
"""The most stored responses whose items one input refers to."""

_ITEM_ID = re.compile(r"[a-z]{2,4}_([0-9a-f]{32})[0-9a-f]{3,8}")


async def load_references(
    services: AppServices, parsed: ParsedRequest, job: Job
) -> tuple[ParsedRequest, Job]:
    """The request and its job with the items that its input refers to, checked against the model.

    Raises `StokerError`: not_found for an item that no stored response of the caller has; request_too_large
    for items with more bytes together than a body may have; and what `capabilities.check` raises.
    """
    if not parsed.has_references:
        return parsed, job
    assert isinstance(parsed.new_input, list)  # noqa: S101 - a text has no references
    places = {at: item["id"] for at, item in enumerate(parsed.new_input) if _is_reference(item)}
    found = await _load_items(services, job, places)
    items = [found[item["id"]] if _is_reference(item) else item for item in parsed.new_input]
    return await asyncio.to_thread(_with_input, services, parsed, job, items)


def _is_reference(item: Json) -> bool:
    return item.get("type") == ITEM_REFERENCE


async def _load_items(services: AppServices, job: Job, places: dict[int, str]) -> dict[str, Json]:
    """The items with these ids, each of which stands at its place in the input."""
    found: dict[str, Json] = {}
    loaded: set[str] = set()
    left = services[Settings].api.max_body_bytes
    for at, id in places.items():
        named = _ITEM_ID.fullmatch(id)
        response = "" if named is None else f"{responses.ID_PREFIX}{named[1]}"
        if response and response not in loaded:
            loaded.add(response)
            if len(loaded) > MAX_RESPONSES:
                raise InvalidRequest(
                    f"the input refers to items of more than {MAX_RESPONSES} responses", param="input"
                )
            items = await _items_of(services, response, job)
            found |= {item["id"]: item for item in items}
            left -= len(orjson.dumps(items))
        if id not in found:
            raise NotFound(
                f"no stored response has an item {id}: send the item itself", param=f"input[{at}].id"
            )
        if left < 0:
            raise ApiError(
                "the items that the input refers to are too large together",
                code="request_too_large",
                param="input",
            )
    return found


async def _items_of(services: AppServices, id: str, job: Job) -> Iterable[Json]:
    """The output items of a response that has ended; none if the caller has no such response."""
    async with services[LogReads].hold(job.tenant):
        row = await services[AsyncLedger].lookup(id, job.tenant, job.person)
        if row is None or row.dialect != responses.NAME or not row.store or not row.status.is_terminal:
            return []
        events = await read_events(services, id)
        return await asyncio.to_thread(
            lambda: output_items(responses.response_object(decode_metadata(row), events))
        )


def _with_input(
    services: AppServices, parsed: ParsedRequest, job: Job, items: list[Json]
) -> tuple[ParsedRequest, Job]:
    """The request, checked, with these items as its input."""
    attachments = Attachments()
    names = ToolNames(parsed.echo.get("tools", ()))
    messages = from_items(((f"input[{at}]", item) for at, item in enumerate(items)), attachments, names)
    start = 1 if parsed.echo.get("instructions") else 0
    changed = replace(
        parsed,
        generation=replace(parsed.generation, messages=(*parsed.generation.messages[:start], *messages)),
        image_params=tuple(attachments.params),
        audio_params=tuple(attachments.recordings.params),
        documents=tuple(attachments.documents),
        summaries=tuple(attachments.summaries),
        new_input=items,
        has_references=False,
    )
    if changed.summaries:
        changed = SummarySeal(services[CacheNamespaces], job.tenant).opened(changed)
    return check_joined(services, changed, job, "the input", "input")
