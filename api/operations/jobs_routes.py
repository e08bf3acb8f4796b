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
from api.inference.queue_orders import MIN_AGE_S, QueueOrders
from api.operations.jobs_schema import JobDetails, JobList
from api.services import AppServices, current_services
from config.tenant_schema import TENANT_NAME
from fleet.fleet import Fleet
from scheduler.job import Status
from scheduler.job_listing import JobCursor, JobPage, JobView
from scheduler.ledger import AsyncLedger
from scheduler.queue_choice import Choice, NextJob, TenantNumbers, cause_of, reason_in_words
from scheduler.queue_view import Place
from streams.events import End, decode

routes = RouteGroup("jobs", __name__, description="The jobs that run and wait; for administrators.")

MAX_JOBS = 200
DEFAULT_JOBS = 100
MAX_READS = 200
"""One request reads Redis at most so often, however many models there are; another page follows."""

CURSOR = re.compile(r"(running|queued|)\.(\d{1,16})\.(.{1,1000})", re.DOTALL)

_MODEL = query_parameter("model", "Only the jobs of this model.")
_TENANT = query_parameter("tenant", "Only the jobs of this tenant.")
_STATUS = {
    "name": "status",
    "in": "query",
    "description": "Only those that run, or those that wait.",
    "schema": {"type": "string", "enum": ["running", "queued"]},
}
_LIMIT = page_size_parameter("jobs", DEFAULT_JOBS, MAX_JOBS)
_AFTER = {
    "name": "after",
    "in": "query",
    "description": "The `next_after` of the page before.",
    "schema": {"type": "string", "maxLength": 1024},
}


@routes.endpoint(
    "/v1/admin/jobs",
    access=Access.ADMIN,
    responses={200: JobList},
    blocking=False,
    query=(_MODEL, _TENANT, _STATUS, _LIMIT, _AFTER),
    errors=("unknown_model", *STORAGE),
)
def list_jobs() -> Response:
    """List the jobs that run and wait

    By model, and of each model those that run in the order of their dispatches, then those that wait in the
    order of their admissions. A page may have fewer jobs than `limit`, or none, and another one follow
    (`has_more`).
    """
    services, model, (first, cursor) = current_services(), request.args.get("model"), _after()
    tenant, status, limit = _tenant(), _status(), integer_parameter("limit", MAX_JOBS, minimum=1)

    async def serve(connection: ClientConnection) -> None:
        most = limit or DEFAULT_JOBS
        if model is None:
            models = sorted(services[Fleet].catalogue.models)
        else:
            models = [(await services[CatalogueFollower].definition(model)).name]
        rows: list[dict[str, Any]] = []
        names = [name for name in models if name >= first]
        # of a model that is gone, the page begins with the next one
        at = cursor if first in models else JobCursor()
        for _ in range(MAX_READS):
            if not names or len(rows) == most:
                break
            page = await services[AsyncLedger].list_jobs(names[0], tenant, status, at, most - len(rows))
            rows += await _serialize_page(services, page)
            at = page.following or JobCursor()
            if page.following is None:
                names = names[1:]
        following = f"{at.section}.{at.number}.{names[0]}" if names else None
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


def _after() -> tuple[str, JobCursor]:
    """The model at which the page begins, and where in its jobs. Raises `InvalidRequest`."""
    after = request.args.get("after")
    if after is None:
        return "", JobCursor()
    found = CURSOR.fullmatch(after)
    if found is None:
        raise InvalidRequest("after must be the next_after of a page", param="after")
    return found[3], JobCursor(found[1], int(found[2]))


async def _serialize_page(services: AppServices, page: JobPage) -> list[dict[str, Any]]:
    waiting = [job for job in page.jobs if job.status is Status.QUEUED]
    places: dict[str, Place] = {}
    if waiting:
        _, places = await services[QueueOrders].places(waiting[0].model, [job.id for job in waiting])
    return [_serialize_job(job, page.now, places.get(job.id)) for job in page.jobs]


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
    access=Access.ADMIN,
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
            place, waits_for = places.get(id), order.reason
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
    }
