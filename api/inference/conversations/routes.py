"""/v1/conversations: OpenAI's conversations, and their items."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Sequence
from operator import itemgetter
from typing import Any

from flask import Response, request

from api.access.caller import current_caller
from api.http.answers import send_json
from api.http.detached import DetachedResponse
from api.http.error_codes import STORAGE
from api.http.errors import InvalidRequest, NotFound
from api.http.openapi import RouteGroup
from api.http.parameters import (
    AFTER,
    ITEM_LIST,
    ITEM_PAGE,
    ORDERS,
    boolean_parameter,
    chosen,
    list_keys,
    page_request,
    page_size_parameter,
    query_parameter,
)
from api.http.route_access import Access
from api.http.server.client_connection import ClientConnection
from api.http.server.while_connected import while_connected
from api.inference.answer.large_reads import ConversationJoins
from api.inference.conversations.items import placed_items
from api.inference.conversations.schema import (
    FACTS,
    ConversationChange,
    ConversationItem,
    ConversationItemList,
    ConversationList,
    ConversationObject,
    DeletedConversation,
    NewConversation,
    NewConversationItems,
)
from api.inference.conversations.settling import read_settled
from api.inference.conversations.store import (
    ALL,
    ConversationStore,
    item_field,
    no_such_conversation,
)
from api.inference.conversations.tree import path_to
from api.inference.dialects.attachments import Attachments
from api.inference.dialects.response_items import ITEM_REFERENCE, from_items
from api.inference.dialects.sealed_summaries import INVALID, SummarySeal
from api.services import AppServices, current_services, service
from governance.cache_namespaces import CacheNamespaces

routes = RouteGroup("conversations", __name__)

Json = dict[str, Any]

PAGE, MAX_PAGE = 20, 100
MAX_ITEMS_LISTED = 1_000
LEAF = query_parameter("leaf", "The id of an item: only the path from a root to it.")

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
    examples={
        "A new conversation": {
            "metadata": {"topic": "stoker"},
            "items": [{"type": "message", "role": "user", "content": "What is Stoker?"}],
        }
    },
    responses={200: ConversationObject},
    blocking=False,
    errors=_WRITES,
)
def create_conversation(body: Json) -> Response:
    """Create a conversation

    With up to 20 items. A response joins it by its field `conversation`.
    """
    items = _checked(body.get("items") or [])

    async def load_answer(services: AppServices, tenant: str, person: str) -> Json:
        return (
            await services[ConversationStore].create(tenant, body.get("metadata") or {}, items, person)
        ).as_object()

    return _detached(load_answer)


@routes.endpoint(
    "/v1/conversations",
    access=Access.INFERENCE,
    responses={200: ConversationList},
    blocking=False,
    query=(page_size_parameter("conversations", PAGE, MAX_PAGE), AFTER),
    errors=("invalid_request", *_BUSY, *STORAGE),
)
def list_conversations() -> Response:
    """List the conversations

    Those of the tenant, the latest changed first, and what they take of its quota. A person sees its own
    alone.
    """
    wanted = page_request(PAGE, MAX_PAGE)

    async def load_answer(services: AppServices, tenant: str, person: str) -> Json:
        store = services[ConversationStore]
        async with services[ConversationJoins].hold(tenant):  # the metadata may be as large as a body
            page = await store.read_page(tenant, wanted.most, wanted.after, person)
        ids = [conversation.id for conversation in page.conversations]
        return {
            "data": [conversation.as_object() for conversation in page.conversations],
            **list_keys(ids, has_more=page.has_more),
            "quota": store.quota(page),
        }

    return _detached(load_answer, only_reads=True)


@routes.endpoint(
    "/v1/conversations/<conversation_id>",
    access=Access.INFERENCE,
    responses={200: ConversationObject},
    blocking=False,
    path=_ID,
    errors=_READS,
)
def retrieve_conversation(conversation_id: str) -> Response:
    """Fetch a conversation

    Its metadata; its items are listed by `/v1/conversations/{conversation_id}/items`.
    """

    async def load_answer(services: AppServices, tenant: str, person: str) -> Json:
        return (await read_settled(services, conversation_id, tenant, person)).as_object()

    return _detached(load_answer)


@routes.endpoint(
    "/v1/conversations/<conversation_id>",
    "POST",
    access=Access.INFERENCE,
    body=ConversationChange,
    examples={"Another topic": {"metadata": {"topic": "hardware"}}},
    responses={200: ConversationObject},
    blocking=False,
    path=_ID,
    errors=("not_found", *_WRITES),
)
def update_conversation(body: Json, conversation_id: str) -> Response:
    """Change the metadata of a conversation

    All of it; without `metadata` it is empty.
    """

    async def load_answer(services: AppServices, tenant: str, person: str) -> Json:
        metadata = body.get("metadata") or {}
        await services[ConversationStore].update(conversation_id, tenant, metadata, person)
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

    async def load_answer(services: AppServices, tenant: str, person: str) -> Json:
        if not await services[ConversationStore].delete(conversation_id, tenant, person):
            raise no_such_conversation(conversation_id, "conversation_id")
        return {"id": conversation_id, "object": "conversation.deleted", "deleted": True}

    return _detached(load_answer)


@routes.endpoint(
    "/v1/conversations/<conversation_id>/items",
    "POST",
    access=Access.INFERENCE,
    body=NewConversationItems,
    examples={"A message": {"items": [{"type": "message", "role": "user", "content": "On which hardware?"}]}},
    responses={200: ConversationItemList},
    blocking=False,
    path=_ID,
    errors=("not_found", "conversation_locked", *_BUSY, *_WRITES),
)
def create_conversation_items(body: Json, conversation_id: str) -> Response:
    """Add items to a conversation

    Up to 20, each after its `parent_id`; at the end without, and then not while a response outside of
    branches runs.
    """
    items = _checked(body["items"])

    async def load_answer(services: AppServices, tenant: str, person: str) -> Json:
        store = services[ConversationStore]
        await read_settled(services, conversation_id, tenant, person)
        await store.add(conversation_id, tenant, items, person)
        return _item_list(items, list_keys([item["id"] for item in items], has_more=False))

    return _detached(load_answer)


@routes.endpoint(
    "/v1/conversations/<conversation_id>/items",
    access=Access.INFERENCE,
    responses={200: ConversationItemList},
    blocking=False,
    path=_ID,
    query=(page_size_parameter("items", ITEM_PAGE, MAX_ITEMS_LISTED), *ITEM_LIST[1:], LEAF),
    errors=_READS,
)
def list_conversation_items(conversation_id: str) -> Response:
    """List the items of a conversation

    In the order of their addition. The output of a response that runs is not among them yet, and its input
    only if it has named a branch.
    """
    wanted, order = page_request(ITEM_PAGE, MAX_ITEMS_LISTED), chosen("order", ORDERS)
    leaf = request.args.get("leaf")

    async def load_answer(services: AppServices, tenant: str, person: str) -> Json:
        async with services[ConversationJoins].hold(tenant):
            conversation = await read_settled(services, conversation_id, tenant, person, ALL)
        items: Sequence[Json] | None = path_to(conversation.items, leaf) if leaf else conversation.items
        if items is None:
            raise InvalidRequest("leaf must be the id of an item", param="leaf")
        items = items if order == "asc" else items[::-1]
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

    async def load_answer(services: AppServices, tenant: str, person: str) -> Json:
        async with services[ConversationJoins].hold(tenant):
            conversation = await read_settled(services, conversation_id, tenant, person, item_field(item_id))
        found = next((item for item in conversation.items if item["id"] == item_id), None)
        if found is None:
            raise _no_such_item(item_id)
        return found

    return _detached(load_answer, only_reads=True)


@routes.endpoint(
    "/v1/conversations/<conversation_id>/items/<item_id>",
    "DELETE",
    access=Access.INFERENCE,
    responses={200: ConversationObject},
    blocking=False,
    path=_ITEM,
    query=(query_parameter("descendants", "Delete what follows it, too.", type="boolean"),),
    errors=("conversation_locked", *_READS),
)
def delete_conversation_item(conversation_id: str, item_id: str) -> Response:
    """Delete an item of a conversation

    Later responses do not get it, and what follows it follows its parent, unless it is deleted, too. Answers
    with the conversation.
    """
    descendants = boolean_parameter("descendants")

    async def load_answer(services: AppServices, tenant: str, person: str) -> Json:
        store = services[ConversationStore]
        async with services[ConversationJoins].hold(tenant):
            await read_settled(services, conversation_id, tenant, person)
            deleted = await store.delete_items(conversation_id, tenant, [item_id], descendants=descendants)
        if not deleted:
            raise _no_such_item(item_id)
        return (await store.read(conversation_id, tenant)).as_object()

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
    return placed_items(given, FACTS, "items")


def _no_such_item(id: str) -> NotFound:
    return NotFound(f"the conversation has no item {id}", param="item_id")


def _detached(
    load_answer: Callable[[AppServices, str, str], Coroutine[Any, Any, Json]], *, only_reads: bool = False
) -> Response:
    """The answer of a coroutine for the caller's tenant and person.

    A disconnect ends one that `only_reads`.
    """
    services, caller = current_services(), current_caller()

    async def send_answer(connection: ClientConnection) -> None:
        loading = load_answer(services, caller.tenant.name, caller.person_id)
        send_json(connection, await (while_connected(connection, loading) if only_reads else loading))

    return DetachedResponse(send_answer)
