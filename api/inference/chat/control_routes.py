"""POST /v1/chat/completions/control: a client changes an answer that runs (llama.cpp, tools/server)."""

from __future__ import annotations

from typing import Any

import marshmallow
import orjson
from flask import Response
from marshmallow import fields

from api.access.caller import Caller, current_caller
from api.http.answers import send_error, send_json
from api.http.detached import DetachedResponse
from api.http.error_codes import STORAGE
from api.http.error_rendering import llama_server_body
from api.http.errors import NotSupported
from api.http.openapi import RouteGroup
from api.http.route_access import Access
from api.http.server.client_connection import ClientConnection
from api.http.strict_fields import EnumField, StringField
from api.http.strict_schema import StrictSchema
from api.inference.llama_server.chat_fields import CONTROL
from api.inference.resumable.schema import LlamaServerError
from api.services import AppServices, current_services
from backends.catalogue import BACKENDS
from fleet.fleet import Fleet
from scheduler.job import JobRow, Status
from scheduler.ledger import AsyncLedger
from store.errors import StokerError

NOT_RUNNING = "no active completion for this id"
NOT_ENABLED = "reasoning control not enabled for this completion"

routes = RouteGroup("chat_control", __name__)


class ControlRequest(StrictSchema):
    """A change of an answer that runs. Fields that are not listed are accepted and ignored."""

    id = StringField(
        "The `id` of the answer, as its chunks have it.", required=True, min_length=1, max_length=256
    )
    action = EnumField(
        "`reasoning_end`: end the reasoning; the answer follows.", ("reasoning_end",), required=True
    )
    model = StringField("Ignored: the id names the answer.", max_length=256)


class ControlAnswer(marshmallow.Schema):
    """Whether the action was passed on to the engine."""

    success = fields.Boolean(required=True)
    message = fields.String(metadata={"description": "Why it was not."})


@routes.endpoint(
    "/v1/chat/completions/control",
    "POST",
    access=Access.INFERENCE,
    body=ControlRequest,
    examples={"End the reasoning": {"id": "chatcmpl-0123456789abcdef", "action": "reasoning_end"}},
    responses={200: ControlAnswer},
    blocking=False,
    errors=("not_supported", *STORAGE),
    error_body=LlamaServerError,
)
def control_completion(body: dict[str, Any]) -> Response:
    """End the reasoning of a running answer

    The request has to have `reasoning_control: true`. `success` is false for an answer that has ended or does
    not exist. An answer that does not reason (any more) goes on as it is, so that a call may be repeated.
    """
    services, caller = current_services(), current_caller()

    async def send_answer(connection: ClientConnection) -> None:
        try:
            refusal = await _end_reasoning(services, body["id"], caller)
        except StokerError as error:
            send_error(connection, error, body=llama_server_body)
            return
        send_json(
            connection, {"success": True} if refusal is None else {"success": False, "message": refusal}
        )

    return DetachedResponse(send_answer)


async def _end_reasoning(services: AppServices, id: str, caller: Caller) -> str | None:
    """Pass the action on; the reason if that is impossible. Raises `StokerError`."""
    ledger = services[AsyncLedger]
    row = await ledger.lookup(id, caller.tenant.name, caller.person_id)
    if row is None or row.status is not Status.RUNNING:
        return NOT_RUNNING
    if not _is_enabled(row):
        return NOT_ENABLED
    model = services[Fleet].catalogue.get(row.model)
    if model is not None and not BACKENDS[model.backend].ends_reasoning:
        raise NotSupported(f"the engine of model {row.model} cannot end a reasoning")
    return None if await ledger.end_reasoning(id, row.tenant) else NOT_RUNNING


def _is_enabled(row: JobRow) -> bool:
    return bool(orjson.loads(row.echo).get("echo", {}).get(CONTROL))
