"""Responses, conversations and streams of two people and a key of one tenant, over a real ledger."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx
import pytest

from config.settings import OIDC_SECRET_VARIABLE
from tests.conftest import ValkeyServer
from tests.support.oidc_provider import CLIENT_ID, CLIENT_SECRET, OidcProvider
from tests.support.served_api import Served, serving
from tests.support.waiting import scaled

KEY = "key-of-one"
TENANTS = {"one": {"api_keys_sha256": [hashlib.sha256(KEY.encode()).hexdigest()]}}
GROUPS = {name: {"role": name.removesuffix("s"), "tenant": "one"} for name in ("viewers", "operators")}
RESPONSES, CONVERSATIONS, STREAM = "/v1/responses", "/v1/conversations", "/v1/stream"
ASK = {"model": "alpha", "input": "Hi"}
CHAT = {"model": "alpha", "messages": [{"role": "user", "content": "Hi"}], "stream": True}
FIRST = f"msg_{1:032x}"
ITEM = {"type": "message", "role": "user", "content": "More"}

Way = tuple[str, str, Any]
OF_A_RESPONSE: dict[str, Way] = {
    "fetch": ("GET", f"{RESPONSES}/ID", None),
    "stream": ("GET", f"{RESPONSES}/ID?stream=true", None),
    "input items": ("GET", f"{RESPONSES}/ID/input_items", None),
    "cancel": ("POST", f"{RESPONSES}/ID/cancel", None),
    "detach": ("POST", f"{RESPONSES}/ID/detach", None),
    "place in the queue": ("GET", "/v1/queue/ID", None),
    "delete": ("DELETE", f"{RESPONSES}/ID", None),
    "continue": ("POST", RESPONSES, {**ASK, "previous_response_id": "ID"}),
    "count": ("POST", f"{RESPONSES}/input_tokens", {**ASK, "previous_response_id": "ID"}),
    "compact": ("POST", f"{RESPONSES}/compact", {**ASK, "previous_response_id": "ID"}),
}
OF_AN_OUTPUT_ITEM: dict[str, Way] = {
    "reference": ("POST", RESPONSES, {**ASK, "input": [{"type": "item_reference", "id": "ID"}]}),
}
OF_A_CONVERSATION: dict[str, Way] = {
    "fetch": ("GET", f"{CONVERSATIONS}/ID", None),
    "change": ("POST", f"{CONVERSATIONS}/ID", {"metadata": {"topic": "other"}}),
    "list after": ("GET", f"{CONVERSATIONS}?after=ID", None),
    "items": ("GET", f"{CONVERSATIONS}/ID/items", None),
    "item": ("GET", f"{CONVERSATIONS}/ID/items/{FIRST}", None),
    "add items": ("POST", f"{CONVERSATIONS}/ID/items", {"items": [ITEM]}),
    "delete item": ("DELETE", f"{CONVERSATIONS}/ID/items/{FIRST}", None),
    "continue": ("POST", RESPONSES, {**ASK, "conversation": "ID"}),
    "branch": ("POST", RESPONSES, {**ASK, "conversation": {"id": "ID", "parent": FIRST}}),
    "count": ("POST", f"{RESPONSES}/input_tokens", {**ASK, "conversation": "ID"}),
    "delete": ("DELETE", f"{CONVERSATIONS}/ID", None),
}
WAYS = [
    pytest.param(kind, way, id=f"{kind}: {name}")
    for kind, ways in (
        ("response", OF_A_RESPONSE),
        ("item", OF_AN_OUTPUT_ITEM),
        ("conversation", OF_A_CONVERSATION),
    )
    for name, way in ways.items()
]


@pytest.fixture(scope="module")
def provider() -> Iterator[OidcProvider]:
    with OidcProvider() as running:
        yield running


@pytest.fixture(scope="module")
def served(
    shared_server: ValkeyServer, tmp_path_factory: pytest.TempPathFactory, provider: OidcProvider
) -> Iterator[Served]:
    oidc = {"issuer": provider.issuer, "client_id": CLIENT_ID, "name": "Acme", "groups": GROUPS}
    environment = {OIDC_SECRET_VARIABLE: CLIENT_SECRET}
    folder = tmp_path_factory.mktemp("api")
    with serving(shared_server, folder, environment, slots=8, tenants=TENANTS, oidc=oidc) as served:
        yield served


@pytest.fixture(scope="module")
def key(served: Served) -> Iterator[httpx.Client]:
    with httpx.Client(
        base_url=served.url, headers={"Authorization": f"Bearer {KEY}"}, timeout=scaled(20)
    ) as client:
        yield client


@pytest.fixture(scope="module")
def vera(served: Served, provider: OidcProvider) -> Iterator[httpx.Client]:
    with signed_in(served, provider, "vera") as client:
        yield client


@pytest.fixture(scope="module")
def oscar(served: Served, provider: OidcProvider) -> Iterator[httpx.Client]:
    with signed_in(served, provider, "oscar") as client:
        yield client


@pytest.fixture
def running(served: Served) -> Iterator[None]:
    """Answers begin and do not end until the end of the test."""
    begun = len(served.claims)
    served.handle = lambda claim: served.platform.append_text(claim, 1, "Hel")
    yield
    served.handle = served.answer_hello
    for claim in served.claims[begun:]:
        served.platform.release(claim, finish_reason="stop")


@contextmanager
def signed_in(served: Served, provider: OidcProvider, person: str) -> Iterator[httpx.Client]:
    headers = {"X-Stoker-UI": "1", "Sec-Fetch-Site": "same-origin"}
    with httpx.Client(base_url=served.url, headers=headers, timeout=scaled(20)) as client:
        url = client.post("/v1/session/oidc", json={"admin": True}).json()["url"]
        answer = client.post("/v1/session", json={"oidc": provider.authorize(url, person)})
        assert answer.status_code == 201, answer.text
        yield client


def make(client: httpx.Client, kind: str) -> str:
    """Make a response that has ended, or a conversation; returns the id, or that of an item of the output."""
    if kind == "conversation":
        made = client.post(CONVERSATIONS, json={"items": [{**ITEM, "id": FIRST, "parent_id": None}]})
    else:
        made = client.post(RESPONSES, json=ASK)
    assert made.status_code == 200, made.text
    body = made.json()
    return str(body["output"][0]["id"] if kind == "item" else body["id"])


def go(client: httpx.Client, way: Way, id: str) -> httpx.Response:
    method, path, body = way
    text = (
        None
        if body is None
        else httpx.Request("POST", "/", json=body).content.replace(b'"ID"', b'"%b"' % id.encode())
    )
    return client.request(
        method, path.replace("ID", id), content=text, headers={"Content-Type": "application/json"}
    )


def unknown(id: str) -> str:
    """An id of the same form that nothing has."""
    digits = secrets.token_hex(16)
    prefix, _, rest = id.partition("_")
    return f"{prefix}_{digits}{rest[32:]}"


@pytest.mark.parametrize(("kind", "way"), WAYS)
def test_a_person_does_not_know_what_another_has_made_and_a_key_has_all_of_its_tenant(
    vera: httpx.Client, oscar: httpx.Client, key: httpx.Client, kind: str, way: Way
) -> None:
    for maker, other in ((vera, oscar), (key, vera)):
        id = make(maker, kind)
        refused, none = go(other, way, id), go(other, way, strange := unknown(id))
        assert (refused.status_code, refused.text) == (none.status_code, none.text.replace(strange, id))
        assert refused.status_code in (400, 404), refused.text
        assert go(maker, way, id).status_code == 200, "it is as it was"
    assert go(key, way, make(vera, kind)).status_code == 200


def test_a_person_lists_its_own_conversations(
    vera: httpx.Client, oscar: httpx.Client, key: httpx.Client
) -> None:
    ids = [make(client, "conversation") for client in (vera, oscar, key, vera)]
    of_all, of_vera = (client.get(CONVERSATIONS, params={"limit": 2}).json() for client in (key, vera))
    assert [row["id"] for row in of_all["data"]] == [ids[3], ids[2]]
    assert [row["id"] for row in of_vera["data"]] == [ids[3], ids[0]]
    assert of_vera["quota"] == of_all["quota"], "the quota is that of the tenant"
    for id in (ids[3], ids[0]):
        assert vera.delete(f"{CONVERSATIONS}/{id}").status_code == 200
    assert ids[0] not in vera.get(CONVERSATIONS).text
    more = oscar.get(CONVERSATIONS, params={"limit": 1}).json()
    assert [row["id"] for row in more["data"]] == [ids[1]]


@pytest.mark.usefixtures("running")
def test_an_answer_under_way_is_unknown_to_another_person(
    vera: httpx.Client, oscar: httpx.Client, key: httpx.Client
) -> None:
    id = vera.post(RESPONSES, json={**ASK, "background": True}).json()["id"]

    def listed(client: httpx.Client) -> list[str]:
        answer = client.get(RESPONSES, params={"status": "in_progress", "limit": 100}).json()
        return [row["id"] for row in answer["data"]]

    assert (listed(vera), listed(oscar), listed(key)) == ([id], [], [id])
    control = {"id": id, "action": "reasoning_end"}
    assert oscar.post("/v1/chat/completions/control", json=control).json() == {
        "success": False,
        "message": "no active completion for this id",
    }
    assert oscar.post(f"{RESPONSES}/{id}/cancel").status_code == 404
    assert oscar.delete(f"{RESPONSES}/{id}").status_code == 404
    assert listed(vera) == [id], "it runs on"


@pytest.mark.usefixtures("running")
def test_people_have_conversation_ids_of_streams_of_their_own(
    vera: httpx.Client, oscar: httpx.Client, key: httpx.Client
) -> None:
    name = f"talk-{secrets.token_hex(4)}"
    lookup = {"conversation_ids": [name]}

    def begin(client: httpx.Client) -> None:
        headers = {"X-Conversation-Id": name}
        with client.stream("POST", "/v1/chat/completions", json=CHAT, headers=headers) as answer:
            assert answer.status_code == 200, answer.read()
            assert next(answer.iter_raw())

    def streams(client: httpx.Client) -> list[bool]:
        return [row["is_done"] for row in client.post("/v1/streams/lookup", json=lookup).json()]

    begin(vera)
    for other in (key, oscar):
        assert streams(other) == []
        assert other.get(STREAM, params={"conv_id": name}).status_code == 404
        assert other.delete(STREAM, params={"conv_id": name}).status_code == 204
        begin(other)
        assert streams(other) == [False]
    assert streams(vera) == [False], "neither the other's end nor the other's stream has ended it"
    with vera.stream("GET", STREAM, params={"conv_id": name}) as again:
        assert again.status_code == 200
    assert vera.delete(STREAM, params={"conv_id": name}).status_code == 204
    assert streams(vera) == []
    assert streams(oscar) == streams(key) == [False]


def test_a_workflow_of_another_is_unknown_to_a_person(
    served: Served, vera: httpx.Client, oscar: httpx.Client, key: httpx.Client
) -> None:
    person = vera.get("/v1/session").json()["person"]["id"]
    for owner, made_by in ((vera, person), (key, person), (key, "")):
        id = served.platform.admit("one", dialect="comfyui", person=made_by)
        path = f"/v1/comfyui/prompts/{id}"
        for call in (oscar.get, oscar.delete):
            refused = call(path)
            assert (refused.status_code, refused.json()["error"]["code"]) == (404, "not_found")
        assert owner.delete(path).status_code == 200


def test_an_idempotency_key_is_its_person_s_own(
    vera: httpx.Client, oscar: httpx.Client, key: httpx.Client
) -> None:
    headers = {"Idempotency-Key": secrets.token_hex(8)}

    def ask(client: httpx.Client) -> str:
        answer = client.post(RESPONSES, json=ASK, headers=headers)
        assert answer.status_code == 200, answer.text
        return str(answer.json()["id"])

    first = [ask(client) for client in (vera, oscar, key)]
    assert len(set(first)) == 3
    assert [ask(client) for client in (vera, oscar, key)] == first


def test_a_session_of_a_key_has_all_of_its_tenant(served: Served, vera: httpx.Client) -> None:
    id, conversation = make(vera, "response"), make(vera, "conversation")
    with httpx.Client(base_url=served.url, headers=vera.headers, timeout=scaled(20)) as browser:
        assert browser.post("/v1/session", json={"key": KEY}).status_code == 201
        assert browser.get(f"{RESPONSES}/{id}").status_code == 200
        assert browser.get(f"{CONVERSATIONS}/{conversation}").status_code == 200


def test_a_key_stores_no_person_in_redis(served: Served, vera: httpx.Client, key: httpx.Client) -> None:
    prefix, client = served.platform.ledger.scripts.prefix, served.platform.client

    def stored(maker: httpx.Client) -> list[bool]:
        ids = f"job:{make(maker, 'response')}", f"conversation:{make(maker, 'conversation')}"
        return [bool(client.hexists(f"{prefix}{id}", "person")) for id in ids]

    assert stored(vera) == [True, True]
    assert stored(key) == [False, False]
