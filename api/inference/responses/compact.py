"""Answers a request to compact a conversation: an ordinary job, whose text becomes a compaction item.

The job is stored like a response, so that a repeat under its Idempotency-Key gets the same answer.
"""

from __future__ import annotations

import asyncio
from typing import Any

from flask import Response

from api.http.errors import NotFound
from api.inference.answer.large_reads import LogReads
from api.inference.dialects.base import ResponseMetadata
from api.inference.dialects.sealed_summaries import SummarySeal
from api.inference.exchange import generate
from api.inference.responses import compaction
from api.services import AppServices
from generation.generation import Generation
from governance.cache_namespaces import CacheNamespaces
from scheduler.ledger import AsyncLedger
from streams.events import Event

Json = dict[str, Any]


def compact(body: Json) -> Response:
    """Make a job that compacts the conversation of a body, and answer with its compaction."""
    return generate(compaction, body, load_compaction)


async def load_compaction(
    services: AppServices, tenant: str, metadata: ResponseMetadata, events: list[Event]
) -> Json:
    """The object of a compaction that has ended. The job may be that of an earlier request."""
    seal = SummarySeal(services[CacheNamespaces], tenant).seal
    async with services[LogReads].hold(tenant):  # it may be as large as a body
        found = await services[AsyncLedger].lookup_with_generation(metadata.id, tenant)
        if found is None or found[1] is None:
            raise NotFound("the compaction was deleted before its answer", param="id")
        return await asyncio.to_thread(_compacted, metadata, events, found[1], seal)


def _compacted(metadata: ResponseMetadata, events: list[Event], asked: bytes, seal: compaction.Seal) -> Json:
    return compaction.compacted(metadata, events, Generation.from_json(asked), seal)
