"""Answers a request to compact a conversation: an ordinary job, whose text becomes a compaction item.

The job is stored like a response, so that a repeat under its Idempotency-Key gets the same answer.
"""

from __future__ import annotations

import asyncio
from typing import Any

from flask import Response

from api.http.errors import NotFound
from api.inference.answer.large_reads import LogReads
from api.inference.answer.respond import GenerationExchange, generate
from api.inference.dialects.base import ResponseMetadata
from api.inference.dialects.sealed_summaries import SummarySeal
from api.inference.responses import compaction
from generation.generation import Generation
from governance.cache_namespaces import CacheNamespaces
from scheduler.ledger import AsyncLedger
from streams.events import Event

Json = dict[str, Any]


def compact(body: dict[str, Any]) -> Response:
    """See `api.inference.answer.respond.generate`."""
    return generate(compaction, body, one=CompactionExchange)


class CompactionExchange(GenerationExchange):
    """One request to compact a conversation, from its admission to its answer."""

    __slots__ = ()

    async def _whole_object(self, metadata: ResponseMetadata, events: list[Event]) -> Json:
        """See `GenerationExchange._whole_object`. The job may be that of an earlier request."""
        seal = SummarySeal(self._services[CacheNamespaces], self._tenant).seal
        async with self._services[LogReads].hold(self._tenant):  # it may be as large as a body
            found = await self._services[AsyncLedger].lookup_with_generation(metadata.id, self._tenant)
            if found is None or found[1] is None:
                raise NotFound("the compaction was deleted before its answer", param="id")
            return await asyncio.to_thread(_compacted, metadata, events, found[1], seal)


def _compacted(metadata: ResponseMetadata, events: list[Event], asked: bytes, seal: compaction.Seal) -> Json:
    return compaction.compacted(metadata, events, Generation.from_json(asked), seal)
