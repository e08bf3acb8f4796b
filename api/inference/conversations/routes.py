"""/v1/conversations: OpenAI's conversations, and their items."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from operator import itemgetter
from typing import Any

from flask import Response

from api.access.caller import current_caller
from api.http.answers import send_json
from api.http.detached import DetachedResponse
from api.http.error_codes import STORAGE
from api.http.errors import InvalidRequest, NotFound
from api.http.openapi import RouteGroup
from api.http.parameters import ITEM_LIST, ITEM_PAGE, MAX_ITEM_PAGE, ORDERS, chosen, list_keys, page_request
from api.http.route_access import Access
from api.http.server.client_connection import ClientConnection
from api.http.server.while_connected import while_connected
from api.inference.answer.large_reads import ConversationJoins
from api.inference.conversations.items import stored_items
from api.inference.conversations.schema import (
    ConversationChange,
    ConversationItem,
    ConversationItemList,
    ConversationObject,
    DeletedConversation,
    NewConversation,
    NewConversationItems,
)
from api.inference.conversations.settling import read_settled
from api.inference.conversations.store import ALL, ConversationStore, no_such_conversation
from api.inference.dialects.attachments import Attachments
from api.inference.dialects.response_items import ITEM_REFERENCE, from_items
from api.inference.dialects.sealed_summaries import INVALID, SummarySeal
from api.services import AppServices, current_services, service
from governance.cache_namespaces import CacheNamespaces

routes = RouteGroup("conversations", __name__, description="OpenAI's conversations.")

Json = dict[str, Any]

_ID = {"conversation_id": "The conversation's id."}
_ITEM = {**_ID, "item_id": "The item's id."}
_BUSY = ("server_busy", "too_many_streams")
_READS = ("not_found", *_BUSY, *STORAGE)
_WRITES = (INVALID, "unsupported_input", "conversation_quota_exceeded", "request_too_large", *STORAGE)


@routes.endpoint(
    "/v1/conversations",
    "POST",
    access=Access.INFERENCE,
    body=NewConversation,
    responses={200: ConversationObject},
    blocking=False,
    errors=_WRITES,
)
def create_conversation(body: Json) -> Response:
    """Create a conversation

    With up to 20 items. A response joins it by its field `conversation`.
    """
    items = _checked(body.get("items") or [])

    async def load_answer(services: AppServices, tenant: str) -> Json:
        return (
            await services[ConversationStore].create(tenant, body.get("metadata") or {}, items)
        ).as_object()

    return _detached(load_answer)


@routes.endpoint(
    "/v1/conversations/<conversation_id>",
    access=Access.INFERENCE,
    responses={200: ConversationObject},
    blocking=False,
    path=_ID,
    errors=("not_found", *STORAGE),
)
def retrieve_conversation(conversation_id: str) -> Response:
    """Fetch a conversation

    Its metadata; its items are listed by `/v1/conversations/{conversation_id}/items`.
    """

    async def load_answer(services: AppServices, tenant: str) -> Json:
        return (await services[ConversationStore].read(conversation_id, tenant)).as_object()

    return _detached(load_answer)


@routes.endpoint(
    "/v1/conversations/<conversation_id>",
    "POST",
    access=Access.INFERENCE,
    body=ConversationChange,
    responses={200: ConversationObject},
    blocking=False,
    path=_ID,
    errors=("not_found", *_WRITES),
)
def update_conversation(body: Json, conversation_id: str) -> Response:
    """Change the metadata of a conversation

    All of it; without `metadata` it is empty.
    """

    async def load_answer(services: AppServices, tenant: str) -> Json:
        await services[ConversationStore].update(conversation_id, tenant, body.get("metadata") or {})
        return (await services[ConversationStore].read(conversation_id, tenant)).as_object()

    return _detached(load_answer)


@routes.endpoint(
    "/v1/conversations/<conversation_id>",
    "DELETE",
    access=Access.INFERENCE,
    responses={200: DeletedConversation},
    blocking=False,
    path=_ID,
    errors=("not_found", *STORAGE),
)
def delete_conversation(conversation_id: str) -> Response:
    """Delete a conversation

    With its items. A response of it that runs goes on.
    """

    async def load_answer(services: AppServices, tenant: str) -> Json:
        if not await services[ConversationStore].delete(conversation_id, tenant):
            raise no_such_conversation(conversation_id, "conversation_id")
        return {"id": conversation_id, "object": "conversation.deleted", "deleted": True}

    return _detached(load_answer)


@routes.endpoint(
    "/v1/conversations/<conversation_id>/items",
    "POST",
    access=Access.INFERENCE,
    body=NewConversationItems,
    responses={200: ConversationItemList},
    blocking=False,
    path=_ID,
    errors=("not_found", "conversation_locked", *_BUSY, *_WRITES),
)
def create_conversation_items(body: Json, conversation_id: str) -> Response:
    """Add items to a conversation

    Up to 20, at its end. Not while a response of it runs.
    """
    items = _checked(body["items"])

    async def load_answer(services: AppServices, tenant: str) -> Json:
        await read_settled(services, conversation_id, tenant)
        await services[ConversationStore].add(conversation_id, tenant, items)
        return _item_list(items, list_keys([item["id"] for item in items], has_more=False))

    return _detached(load_answer)


@routes.endpoint(
    "/v1/conversations/<conversation_id>/items",
    access=Access.INFERENCE,
    responses={200: ConversationItemList},
    blocking=False,
    path=_ID,
    query=ITEM_LIST,
    errors=_READS,
)
def list_conversation_items(conversation_id: str) -> Response:
    """List the items of a conversation

    Those of a response that runs are not among them yet.
    """
    wanted, order = page_request(ITEM_PAGE, MAX_ITEM_PAGE), chosen("order", ORDERS)

    async def load_answer(services: AppServices, tenant: str) -> Json:
        async with services[ConversationJoins].hold(tenant):
            conversation = await read_settled(services, conversation_id, tenant, ALL)
        items = conversation.items if order == "asc" else conversation.items[::-1]
        page, keys = wanted.of(items, itemgetter("id"), "an item")
        return _item_list(page, keys)

    return _detached(load_answer, only_reads=True)


@routes.endpoint(
    "/v1/conversations/<conversation_id>/items/<item_id>",
    access=Access.INFERENCE,
    responses={200: ConversationItem},
    blocking=False,
    path=_ITEM,
    errors=_READS,
)
def retrieve_conversation_item(conversation_id: str, item_id: str) -> Response:
    """Fetch an item of a conversation

    As it was sent, or as the model made it.
    """

    async def load_answer(services: AppServices, tenant: str) -> Json:
        async with services[ConversationJoins].hold(tenant):
            conversation = await read_settled(services, conversation_id, tenant, item_id)
        if not conversation.items or conversation.items[0]["id"] != item_id:
            raise _no_such_item(item_id)
        return conversation.items[0]

    return _detached(load_answer, only_reads=True)


@routes.endpoint(
    "/v1/conversations/<conversation_id>/items/<item_id>",
    "DELETE",
    access=Access.INFERENCE,
    responses={200: ConversationObject},
    blocking=False,
    path=_ITEM,
    errors=_READS,
)
def delete_conversation_item(conversation_id: str, item_id: str) -> Response:
    """Delete an item of a conversation

    Later responses do not get it. Answers with the conversation.
    """

    async def load_answer(services: AppServices, tenant: str) -> Json:
        conversation = await read_settled(services, conversation_id, tenant)
        if not await services[ConversationStore].delete(conversation_id, tenant, item_id):
            raise _no_such_item(item_id)
        return conversation.as_object()

    return _detached(load_answer)


def _item_list(page: list[Json], keys: Json) -> Json:
    """A list of items; OpenAI's clients expect a text as an id, also where there is no item."""
    return {"data": page, **{key: "" if value is None else value for key, value in keys.items()}}


def _checked(given: list[Json]) -> list[Json]:
    """The items as they are stored. Raises `InvalidRequest` for one that no response could have."""
    for at, item in enumerate(given):
        if item.get("type") == ITEM_REFERENCE:
            raise InvalidRequest(
                "items cannot be referred to here: send the items themselves",
                code="unsupported_input",
                param=f"items[{at}].type",
            )
    attachments = Attachments()
    from_items(((f"items[{at}]", item) for at, item in enumerate(given)), attachments)
    SummarySeal(service(CacheNamespaces), current_caller().tenant.name).check(attachments)
    return stored_items(given)


def _no_such_item(id: str) -> NotFound:
    return NotFound(f"the conversation has no item {id}", param="item_id")


def _detached(
    load_answer: Callable[[AppServices, str], Coroutine[Any, Any, Json]], *, only_reads: bool = False
) -> Response:
    """The answer of a coroutine, for the caller's tenant. A disconnect ends one that `only_reads`."""
    services, tenant = current_services(), current_caller().tenant.name

    async def send_answer(connection: ClientConnection) -> None:
        loading = load_answer(services, tenant)
        send_json(connection, await (while_connected(connection, loading) if only_reads else loading))

    return DetachedResponse(send_answer)
