"""Finds the replicas that a request about a state is for: a job for each of them.

The state of a conversation is in the replica that answered last; the ledger knows that for as long as the
stream of this answer can be read again. A state that is restored goes to all replicas, since the next request
may run in any of them, and so does an erasure.
"""

from __future__ import annotations

from dataclasses import replace

from api.http.errors import NotFound, NotSupported
from api.inference.dialects.base import ParsedRequest
from api.inference.dialects.choices import split
from api.inference.make_job import replace_generation
from api.services import AppServices
from generation.generation import StateRequest
from scheduler.job import Job
from scheduler.ledger import AsyncLedger

NOT_KNOWN = "the platform no longer knows which of the model's replicas has the state of this conversation"
NOT_NAMED = "the model has several replicas: name the conversation whose state is meant (X-Conversation-Id)"


async def place_state(
    services: AppServices, parsed: ParsedRequest, job: Job, request: StateRequest
) -> tuple[ParsedRequest, Job]:
    """The request and its job, or those of several replicas. Raises `NotSupported`, `NotFound`.

    Those of a model with one replica stay as they are, and so does the erasure of a file.
    """
    deletes = request.action == "erase" and request.filename is not None
    replicas = () if deletes else await services[AsyncLedger].ready_replicas(job.model)
    if len(replicas) < 2:
        return parsed, job
    if request.conversation is None and request.action != "restore":
        raise NotSupported(NOT_NAMED)
    if request.action == "save":
        assert request.conversation is not None  # noqa: S101 - checked above
        last = await services[AsyncLedger].find_stream_by_hash(request.conversation, job.tenant, job.person)
        if last is None or last.model != job.model or last.replica not in replicas:
            raise NotFound(NOT_KNOWN, code="state_not_found")
        replicas = (last.replica,)
    parsed = replace(parsed, replicas=replicas)
    return parsed, replace_generation(job, split(parsed)[0])
