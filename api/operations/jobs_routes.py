"""/v1/admin/jobs: the jobs that run and wait, and why the next one is next; no prompt and no answer."""

from __future__ import annotations

import re
from typing import Any

from flask import Response, request

from api.http.answers import send_json
from api.http.detached import DetachedResponse
from api.http.error_codes import STORAGE
from api.http.errors import InvalidRequest, NotFound
from api.http.openapi import RouteGroup
from api.http.parameters import integer_parameter, page_size_parameter, query_parameter
from api.http.route_access import Access
from api.http.server.client_connection import ClientConnection
from api.inference.catalogue_follower import CatalogueFollower
from api.inference.job_pages import AFTER, JobsOfModels, place_parameter, read_page
from api.inference.queue_orders import MIN_AGE_S, QueueOrders
from api.operations.jobs_schema import JobDetails, JobList
from api.services import AppServices, current_services
from config.tenant_schema import TENANT_NAME
from fleet.fleet import Fleet
from scheduler.job import Status
from scheduler.job_listing import JobView
from scheduler.ledger import AsyncLedger
from scheduler.queue_choice import (
    CachedPrompt,
    Choice,
    Delay,
    NextJob,
    TenantNumbers,
    cause_of,
    reason_in_words,
)
from scheduler.queue_view import Place
from streams.events import End, decode

routes = RouteGroup("jobs", __name__)

MAX_JOBS = 200
DEFAULT_JOBS = 100

_MODEL = query_parameter("model", "Only the jobs of this model.")
_TENANT = query_parameter("tenant", "Only the jobs of this tenant.")
_STATUS = {
    "name": "status",
    "in": "query",
    "description": "Only those that run, or those that wait.",
    "schema": {"type": "string", "enum": ["running", "queued"]},
}
_LIMIT = page_size_parameter("jobs", DEFAULT_JOBS, MAX_JOBS)


@routes.endpoint(
    "/v1/admin/jobs",
    access=Access.READ,
    responses={200: JobList},
    blocking=False,
    query=(_MODEL, _TENANT, _STATUS, _LIMIT, AFTER),
    errors=("unknown_model", *STORAGE),
)
def list_jobs() -> Response:
    """List the jobs that run and wait

    By model, and of each model those that run in the order of their dispatches, then those that wait in the
    order of their admissions. A page may have fewer jobs than `limit`, or none, and another one follow
    (`has_more`).
    """
    services, model, place = current_services(), request.args.get("model"), place_parameter()
    tenant, status, limit = _tenant(), _status(), integer_parameter("limit", MAX_JOBS, minimum=1)

    async def serve(connection: ClientConnection) -> None:
        if model is None:
            models = sorted(services[Fleet].catalogue.models)
        else:
            models = [(await services[CatalogueFollower].definition(model)).name]
        page = await read_page(services[AsyncLedger], models, tenant, status, place, limit or DEFAULT_JOBS)
        following = None if page.following is None else str(page.following)
        rows = await _serialize_page(services, page)
        send_json(
            connection,
            {"object": "list", "data": rows, "has_more": following is not None, "next_after": following},
        )

    return DetachedResponse(serve)


def _tenant() -> str | None:
    tenant = request.args.get("tenant")
    if tenant is not None and not re.fullmatch(TENANT_NAME, tenant):
        raise InvalidRequest(f"tenant must match {TENANT_NAME}", param="tenant")
    return tenant


def _status() -> Status | None:
    status = request.args.get("status")
    if status is not None and status not in _STATUS["schema"]["enum"]:  # type: ignore[index]
        raise InvalidRequest("status must be running or queued", param="status")
    return None if status is None else Status(status)


async def _serialize_page(services: AppServices, page: JobsOfModels) -> list[dict[str, Any]]:
    waiting: dict[str, list[str]] = {}
    for _, job in page.jobs:
        if job.status is Status.QUEUED:
            waiting.setdefault(job.model, []).append(job.id)
    places: dict[str, Place] = {}
    for model, ids in waiting.items():
        places |= (await services[QueueOrders].places(model, ids))[1]
    return [_serialize_job(job, now, places.get(job.id)) for now, job in page.jobs]


def _serialize_job(job: JobView, now: float, place: Place | None) -> dict[str, Any]:
    until = job.ended_at or now
    run_s = None if job.dispatched_at is None else max(0.0, until - job.dispatched_at)
    tokens_per_second = round(job.events / run_s, 1) if job.events is not None and run_s else None
    return {
        "id": job.id,
        "object": "job",
        "model": job.model,
        "tenant": job.tenant,
        "priority": job.priority,
        "status": str(job.status),
        "stopping": job.stopping,
        "createdAt": job.admitted_at,
        "dispatchedAt": job.dispatched_at,
        "endedAt": job.ended_at,
        "deadline": job.deadline,
        "waitedMs": max(0, int(((job.dispatched_at or until) - job.admitted_at) * 1000)),
        "runMs": None if run_s is None else int(run_s * 1000),
        "worker": job.worker,
        "replica": job.replica,
        "attempt": job.attempt,
        "position": place.position if place else None,
        "positionIsEstimate": place.is_estimate if place else None,
        "estimatedWaitMs": place.wait_ms if place else None,
        "tokens": job.events,
        "tokensPerSecond": tokens_per_second,
    }


@routes.endpoint(
    "/v1/admin/jobs/<id>",
    access=Access.READ,
    responses={200: JobDetails},
    blocking=False,
    path={"id": "The response's id."},
    errors=("not_found", *STORAGE),
)
def retrieve_job(id: str) -> Response:
    """Show a job, and why it waits

    Of a waiting job the numbers by which the next job is chosen, and the reason in words. Of one that has
    ended how it ended, until it is deleted.
    """
    services = current_services()

    async def serve(connection: ClientConnection) -> None:
        found = await services[AsyncLedger].explain_job(id)
        if found is None:
            raise NotFound(f"there is no response {id}", param="id")
        job, choice, place, waits_for = found.job, found.choice, None, None
        if choice is not None:
            order, places = await services[QueueOrders].places(job.model, [id], MIN_AGE_S)
            place, waits_for = places.get(id), order.operator_reason
        body = _serialize_job(job, found.now, place)
        body["queue"] = None if choice is None else _serialize_choice(job, choice, waits_for)
        body["end"] = _serialize_end(found.end)
        send_json(connection, body)

    return DetachedResponse(serve)


def _serialize_end(event: bytes) -> dict[str, Any] | None:
    """How a job ended. The message is left out: it may quote the request."""
    end = decode(event) if event else None
    if not isinstance(end, End):
        return None
    usage = end.usage
    return {
        "finishReason": end.finish_reason or None,
        "code": end.code,
        "inputTokens": usage.input_tokens if usage else None,
        "outputTokens": usage.output_tokens if usage else None,
        "cachedTokens": usage.cached_tokens if usage else None,
    }


def _serialize_choice(job: JobView, choice: Choice, waits_for: str | None) -> dict[str, Any]:
    return {
        "waitsFor": waits_for,
        "cause": str(cause_of(job, choice)),
        "reason": reason_in_words(job, choice),
        "skips": {priority: choice.skips.get(priority) for priority in choice.max_skips},
        "mostSkips": choice.max_skips,
        "slots": choice.slots,
        "running": choice.running,
        "reserveOneIn": choice.reserve_one_in,
        "backgroundReserve": choice.background_reserve,
        "floor": choice.floor,
        "jobsBefore": choice.jobs_before,
        "tenant": _serialize_tenant(choice.own),
        "next": _serialize_next(choice.next_job),
        "delay": _serialize_delay(choice.delay),
    }


def _serialize_tenant(numbers: TenantNumbers) -> dict[str, Any]:
    return {
        "tenant": numbers.tenant,
        "weight": numbers.weight,
        "running": numbers.running,
        "runningByWeight": numbers.runs_by_weight,
        "servedByWeight": numbers.served,
        "maxRunning": numbers.max_running,
        "runningOnAllModels": numbers.running_in_all,
        "mayTakeSlot": numbers.may_take_slot,
    }


def _serialize_next(following: NextJob | None) -> dict[str, Any] | None:
    if following is None:
        return None
    return {
        "id": following.id,
        "priority": following.priority,
        "share": following.share,
        "onlyReserveIsFree": following.only_reserve_is_free,
        "assumedEnds": following.assumed_ends,
        "tenant": _serialize_tenant(following.tenant),
        "cached": _serialize_cached(following.cached),
    }


def _serialize_delay(delay: Delay | None) -> dict[str, Any] | None:
    if delay is None:
        return None
    return {"replica": delay.replica, "tokens": delay.tokens, "leftMs": round(delay.left_s * 1000)}


def _serialize_cached(cached: CachedPrompt | None) -> dict[str, Any] | None:
    if cached is None:
        return None
    return {
        "replica": cached.replica,
        "tokens": cached.tokens,
        "beforeId": cached.before_id,
        "before": _serialize_tenant(cached.before),
    }
