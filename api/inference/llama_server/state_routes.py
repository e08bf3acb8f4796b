"""POST /slots/{id}: save, restore and erase the state of a conversation."""

from __future__ import annotations

import re
from typing import Any, get_args

from flask import Response, request

from api.http.error_codes import GENERATION
from api.http.errors import InvalidRequest, NotSupported
from api.http.openapi import RouteGroup
from api.http.parameters import choice_parameter
from api.http.route_access import Access
from api.http.stoker_flask import current_request
from api.inference.exchange import generate
from api.inference.generation_headers import (
    CACHE_TAG,
    CONVERSATION_ID,
    IDEMPOTENCY_KEY,
    PRIORITY,
    REQUEST_TIMEOUT,
    check_conversation_id,
    conversation_id_of,
)
from api.inference.llama_server import state_dialect
from api.inference.llama_server.model_name import with_model
from api.inference.llama_server.state_schema import StateBody, StateObject
from api.inference.resumable.schema import LlamaServerError
from api.services import service
from config.settings import Settings
from generation.generation import StateAction

OFF = "This server does not support slots action. Start it with the setting `state.directory`"
ACTIONS = get_args(StateAction)
ERRORS = (
    "not_supported",
    "state_not_found",
    "state_unusable",
    "state_quota_exceeded",
    "state_disk_full",
    "conversation_locked",
)

_SLOT = re.compile(r"[0-9]{1,4}")

routes = RouteGroup("states", __name__)


@routes.endpoint(
    "/slots/<slot>",
    "POST",
    access=Access.INFERENCE,
    body=StateBody,
    examples={"A state": {"model": "stoker-demo", "filename": "chat-1.bin"}},
    responses={200: StateObject},
    blocking=False,
    path={"slot": ("The place among the caller's states, from the last used one, which is 0.", "0")},
    query=({**choice_parameter("action", "What is to be done.", ACTIONS), "required": True},),
    headers=(PRIORITY, REQUEST_TIMEOUT, IDEMPOTENCY_KEY, CACHE_TAG, CONVERSATION_ID),
    errors=(*ERRORS, *GENERATION),
    error_body=LlamaServerError,
)
def act_on_state(body: dict[str, Any], slot: str) -> Response:
    """Save, restore or erase a state

    The state that the engine keeps of a conversation: with `X-Conversation-Id` that of its last request, else
    that of the caller's own slot. A restored state is used by the next prompt that continues it. The request
    waits in the model's queue and computes no token. 501 unless `state.directory` is set.
    """
    if service(Settings).state.directory is None:
        raise NotSupported(OFF)
    if not _SLOT.fullmatch(slot):
        raise InvalidRequest("Invalid slot ID", param="id_slot")
    action = request.args.get("action", "")
    if action not in ACTIONS:
        raise InvalidRequest("Invalid action", param="action")
    conversation = conversation_id_of(current_request().headers)
    if conversation is None and "conversation_id" in body:
        conversation = check_conversation_id(body["conversation_id"], "conversation_id")
    asked = {**with_model(body), "action": action, "slot": int(slot), "conversation_id": conversation}
    return generate(state_dialect, asked)
