"""/v1/comfyui/prompts: run a workflow, and fetch or delete one that was run."""

from __future__ import annotations

import asyncio
from contextlib import ExitStack
from functools import partial
from typing import Any

from flask import Response

from api.access.caller import current_caller
from api.access.workflow_rights import check_may_run_workflows
from api.files.job_folders import UPLOAD, JobFolders
from api.files.store import FileStore
from api.http.answers import send_json
from api.http.detached import DetachedResponse
from api.http.error_codes import STORAGE, WORKFLOWS
from api.http.errors import NotFound
from api.http.openapi import RouteGroup
from api.http.parameters import STREAM, boolean_parameter
from api.http.route_access import Access
from api.http.server.client_connection import ClientConnection
from api.http.server.while_connected import while_connected
from api.http.stoker_flask import current_request
from api.inference.answer.stored_response import send_stored, stream_from_start
from api.inference.comfyui import dialect
from api.inference.comfyui.example import GRAPH
from api.inference.comfyui.inputs import WorkflowInputs
from api.inference.comfyui.schema import DeletedWorkflow, WorkflowEvent, WorkflowObject, WorkflowRequest
from api.inference.generation_headers import GENERATION_HEADERS
from api.inference.media.folder_answer import answer_with_folder
from api.services import current_services, service
from config.limits import limits_of
from config.settings import Settings
from scheduler.job import JobRow
from scheduler.ledger import AsyncLedger

routes = RouteGroup("comfyui", __name__)

_ID = {"id": "The id of the workflow's job."}


@routes.endpoint(
    "/v1/comfyui/prompts",
    "POST",
    access=Access.INFERENCE,
    body=WorkflowRequest,
    examples={"A text becomes an image": {"model": "painter", "prompt": GRAPH}},
    responses={200: WorkflowObject},
    streams=True,
    events=WorkflowEvent,
    headers=GENERATION_HEADERS,
    errors=WORKFLOWS,
)
def run_workflow(body: dict[str, Any]) -> Response:
    """Run a workflow

    A graph of nodes as ComfyUI takes it, for tenants with `comfyui_workflows`. It is checked before it is
    admitted: only classes of nodes that the model allows, only files of the request, bounded numbers. It
    waits in the model's queue. With `background: true` the answer comes at once with the status `queued`.
    """
    caller = current_caller()
    check_may_run_workflows(caller)
    services = current_services()
    given = body.get("inputs") or {}
    with ExitStack() as closing:
        most = services[Settings].files.max_media_bytes
        inputs = WorkflowInputs(services[FileStore], caller.tenant.name, most, closing)
        files = inputs.write(given)
        uploads = {f"{UPLOAD}{index}": file for index, file in enumerate(files)}
        body = {
            **body,
            "inputs": dict(zip(given, uploads, strict=True)),
            "input_pixels": inputs.pixels.largest,
            "base": current_request().host_url,
        }
        return answer_with_folder(dialect, uploads, body, dialect.whole_answer, dialect.make_reader)


@routes.endpoint(
    "/v1/comfyui/prompts/<id>",
    access=Access.INFERENCE,
    responses={200: WorkflowObject},
    streams=True,
    events=WorkflowEvent,
    blocking=False,
    path=_ID,
    query=(STREAM,),
    errors=("not_found", "server_busy", "too_many_streams", *STORAGE),
)
def retrieve_workflow(id: str) -> Response:
    """Fetch a workflow

    As it is now, with the URLs of its images; with `stream=true` all its events from the first one. Works
    for as long as it is stored (`responses.retention_s`), on any API process.
    """
    services, tenant = current_services(), current_caller().tenant
    person = current_caller().person_id
    limits, is_streamed = limits_of(tenant, service(Settings)), boolean_parameter("stream")

    async def send_answer(connection: ClientConnection) -> None:
        row = _check(id, await services[AsyncLedger].lookup(id, tenant.name, person))
        if is_streamed:
            reader = dialect.make_reader(connection, services, tenant.name)
            await stream_from_start(services, reader, row, dialect, limits)
        else:
            answer = send_stored(services, connection, row, partial(dialect.with_urls, services))
            await while_connected(connection, answer)

    return DetachedResponse(send_answer)


@routes.endpoint(
    "/v1/comfyui/prompts/<id>",
    "DELETE",
    access=Access.INFERENCE,
    responses={200: DeletedWorkflow},
    blocking=False,
    path=_ID,
    errors=("not_found", *STORAGE),
)
def delete_workflow(id: str) -> Response:
    """Delete a workflow

    With its images. One that has not ended is cancelled first.
    """
    services, tenant = current_services(), current_caller().tenant.name
    person = current_caller().person_id

    async def send_answer(connection: ClientConnection) -> None:
        _check(id, await services[AsyncLedger].lookup(id, tenant, person))
        await services[AsyncLedger].delete(id, tenant)
        await asyncio.to_thread(services[JobFolders].clear, tenant, id)
        send_json(connection, {"id": id, "object": "comfyui.prompt", "deleted": True})

    return DetachedResponse(send_answer)


def _check(id: str, row: JobRow | None) -> JobRow:
    """The row, if it is a workflow of the caller that was not deleted. Raises `NotFound`."""
    if row is None or row.dialect != dialect.NAME or not row.store:
        raise NotFound(f"there is no workflow {id}", param="id")
    return row
