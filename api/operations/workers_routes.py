"""/v1/admin/workers: the workers with their replicas, and drains of workers."""

from __future__ import annotations

from typing import Any

from flask import Response, request

from api.access.authority import authorization_of_caller
from api.access.caller import current_caller
from api.http.error_codes import STORAGE
from api.http.errors import InvalidRequest, NotFound
from api.http.http_responses import json_response
from api.http.openapi import RouteGroup
from api.http.parameters import AFTER, integer_parameter
from api.http.route_access import Access
from api.operations.worker_serializer import serialize_worker
from api.operations.workers_schema import WorkerList, WorkerObject
from api.services import AppServices, current_services, service
from fleet.drain import NAME
from fleet.fleet import Fleet
from governance.audit import AuditLog
from governance.authorization import Authorization

routes = RouteGroup("workers", __name__)

MAX_WORKERS = 100
MAX_NAME = 256
_LIMIT = {
    "name": "limit",
    "in": "query",
    "description": f"The most workers of the page; {MAX_WORKERS} unless set.",
    "schema": {"type": "integer", "minimum": 0, "maximum": MAX_WORKERS},
}
_NAME = {"name": "The worker's name."}


@routes.endpoint(
    "/v1/admin/workers",
    access=Access.READ,
    responses={200: WorkerList},
    query=(_LIMIT, AFTER),
    errors=STORAGE,
)
def list_workers() -> Response:
    """List the workers

    Their machines, versions, memory, GPUs and replicas, as the workers reported them within the last seconds.
    Workers that were lost within the last day are in the list, too, and those that an operator drains.
    """
    limit, after = integer_parameter("limit", MAX_WORKERS), request.args.get("after", "")
    if len(after) > MAX_NAME:
        raise InvalidRequest("after is longer than a worker's name can be", param="after")
    workers, more = service(Fleet).worker_page(after, MAX_WORKERS if limit is None else limit)
    names: list[str | None] = [worker.name for worker in workers] or [None]
    keys: dict[str, Any] = {"object": "list", "has_more": more, "first_id": names[0], "last_id": names[-1]}
    return json_response({**keys, "data": [serialize_worker(worker) for worker in workers]})


@routes.endpoint(
    "/v1/admin/workers/<name>",
    access=Access.READ,
    responses={200: WorkerObject},
    path=_NAME,
    errors=("not_found", *STORAGE),
)
def retrieve_worker(name: str) -> Response:
    """Fetch a worker

    The same object as in the list.
    """
    return json_response(_worker(current_services(), name))


@routes.endpoint(
    "/v1/admin/workers/<name>/drain",
    "POST",
    access=Access.OPERATE,
    responses={200: WorkerObject},
    path=_NAME,
    errors=("not_found", "too_many_drains", *STORAGE),
)
def drain_worker(name: str) -> Response:
    """Drain a worker

    From then on it gets no new request and no new replica, until the drain is ended, also after a restart of
    the worker. Its running requests finish, and waiting ones are served by other replicas: without one they
    wait, for `queue.timeout_ms` at most. Its replicas stay loaded. A worker that is drained already stays so.
    """
    worker, services = _checked(name), current_services()
    services[Fleet].drains.begin(worker, _by_key())
    services[AuditLog].sync()
    return json_response(_worker(services, name))


@routes.endpoint(
    "/v1/admin/workers/<name>/drain",
    "DELETE",
    access=Access.OPERATE,
    responses={200: WorkerObject},
    path=_NAME,
    errors=("not_found", *STORAGE),
)
def end_drain(name: str) -> Response:
    """End the drain of a worker

    Its replicas accept requests again, and waiting ones begin at once. A worker that no operator drains stays
    as it is. The drain of a worker that is not registered can be ended, too: the answer is the worker without
    it, which is in the list no longer.
    """
    services = current_services()
    before = _worker(services, _checked(name))
    services[Fleet].drains.end(name, _by_key())
    services[AuditLog].sync()
    found = _found(services, name)
    return json_response({**before, "drain": None} if found is None else found)


def _checked(name: str) -> str:
    if not NAME.fullmatch(name):
        raise NotFound("no worker has such a name", param="name")
    return name


def _worker(services: AppServices, name: str) -> dict[str, Any]:
    found = _found(services, _checked(name))
    if found is None:
        raise NotFound(f"no worker {name} is registered", param="name")
    return found


def _found(services: AppServices, name: str) -> dict[str, Any] | None:
    worker = services[Fleet].worker(name)
    return None if worker is None else serialize_worker(worker)


def _by_key() -> Authorization:
    return authorization_of_caller(current_caller())
