"""/v1/conversations, and the responses that belong to one."""

from __future__ import annotations

import base64
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import openai
import pytest
import redis
from flask import Flask
from flask.testing import FlaskClient

from api.http.detached import DetachedResponse
from api.http.fair_semaphore import Limit
from api.http.open_streams import OpenStreams
from api.inference.answer import large_reads
from api.inference.answer.large_reads import ConversationJoins, LogReads
from api.inference.conversations import settling
from api.inference.conversations.items import stored_items
from api.inference.conversations.settling import Settler
from api.inference.conversations.store import ALL, MAX_ITEMS, ConversationStore
from api.inference.dialects.attachments import Attachments
from api.inference.dialects.base import ParsedRequest
from api.inference.dialects.response_items import from_input
from api.inference.document_reader import DocumentReader
from api.services import AppServices
from config.settings import Settings
from generation.generation import Generation, Message, ToolCall, text_content
from store.errors import RateLimited, StorageUnavailable
from streams.events import End, Event, ReasoningDelta, TextDelta, ToolCallDelta
from tests.api.conftest import KEY, OTHER_KEY
from tests.api.inference.conversations.conftest import on_loop
from tests.support.api_fakes import HELLO, Fakes
from tests.support.pdf_files import pdf
from tests.support.recordings import audio_part, wav
from tests.support.waiting import scaled

PIXEL = (
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAA"
    "AABJRU5ErkJggg=="
)
CALL: list[Event] = [
    ReasoningDelta("hm"),
    ToolCallDelta(0, '{"a": 1}', "call_a", "f"),
    End("completed", finish_reason="tool_calls"),
]


def new(http: FlaskClient, **body: Any) -> str:
    answer = http.post("/v1/conversations", json=body)
    assert answer.status_code == 200, answer.json
    id: str = answer.json["id"]
    return id


def ask(http: FlaskClient, conversation: Any, input: Any = "Hi", **body: Any) -> dict[str, Any]:
    body = {"model": "demo", "input": input, "conversation": conversation, **body}
    answer = http.post("/v1/responses", json=body)
    assert answer.status_code == 200, answer.json
    found: dict[str, Any] = answer.json
    return found


def error_of(http: FlaskClient, path: str = "/v1/responses", **body: Any) -> tuple[int, str, str | None]:
    if path == "/v1/responses":
        body = {"model": "demo", "input": "Hi", **body}
    answer = http.post(path, json=body)
    error = answer.json["error"]
    return answer.status_code, error["code"], error["param"]


def items_of(http: FlaskClient, conversation: str, query: str = "order=asc") -> list[dict[str, Any]]:
    answer = http.get(f"/v1/conversations/{conversation}/items?{query}")
    assert answer.status_code == 200, answer.json
    found: list[dict[str, Any]] = answer.json["data"]
    return found


def texts_of(http: FlaskClient, conversation: str) -> list[str]:
    return ["".join(part["text"] for part in item["content"]) for item in items_of(http, conversation)]


def messages_of(fakes: Fakes, response: dict[str, Any]) -> tuple[Message, ...]:
    return Generation.from_json(fakes.ledger.jobs[response["id"]].generation).messages


def message(role: str, text: str) -> Message:
    return Message(role, text_content(text))


def keys(settings: Settings) -> dict[str, Any]:
    """What is left in Redis of conversations."""
    client = redis.Redis.from_url(settings.redis.url, decode_responses=True)
    found = [str(key) for key in client.keys(f"{{{settings.redis.prefix}}}:*conversation*")]
    return {key.partition(":")[2]: client.type(key) for key in found}


def test_each_response_gets_all_that_is_before_it_and_no_earlier_instructions(
    http: FlaskClient, fakes: Fakes
) -> None:
    id = new(http, items=[{"role": "developer", "content": "Be brief."}])
    first = ask(http, id, instructions="Once.")
    second = ask(http, id, "And?", stream=False)
    hello = [message("user", "Hi"), message("assistant", "Hello.")]
    brief = message("system", "Be brief.")
    assert messages_of(fakes, first) == (message("system", "Once."), brief, message("user", "Hi"))
    assert messages_of(fakes, second) == (brief, *hello, message("user", "And?"))
    assert second["conversation"] == {"id": id}
    assert texts_of(http, id) == ["Be brief.", "Hi", "Hello.", "And?", "Hello."]
    assert items_of(http, id)[2].items() >= first["output"][0].items()
    assert http.get(f"/v1/responses/{second['id']}").json == second


def test_input_may_be_the_conversation_alone_when_it_is_empty(http: FlaskClient, fakes: Fakes) -> None:
    id = new(http, items=[{"role": "user", "content": "Hi"}])
    assert messages_of(fakes, ask(http, id, "")) == (message("user", "Hi"),)
    assert texts_of(http, id) == ["Hi", "Hello."]


def test_stored_items_make_the_same_prompt_as_those_that_were_sent() -> None:
    image = {"type": "input_image", "image_url": PIXEL, "detail": "low"}
    given: list[dict[str, Any]] = [
        {"role": "user", "content": [{"type": "input_text", "text": "a"}, image, audio_part(wav())]},
        {"type": "reasoning", "summary": [{"type": "summary_text", "text": "s"}], "id": "rs_1"},
        {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}", "status": "completed"},
        {"type": "function_call_output", "call_id": "c", "output": [{"type": "input_text", "text": "4"}]},
        {"role": "assistant", "content": [{"type": "refusal", "refusal": "no"}]},
        {"role": "user", "content": "why", "unknown": 1},
        {"role": "user", "content": [{"type": "input_file", "filename": "a.txt", "file_data": "aGk="}]},
    ]
    stored = stored_items(given)
    assert from_input(stored, Attachments()) == from_input(given, Attachments())
    assert len({item["id"] for item in stored}) == len(given)
    assert "unknown" not in stored[5]
    assert stored_items(stored)[0]["content"] == stored[0]["content"]


def test_result_of_a_call_follows_the_call_in_the_conversation(http: FlaskClient, fakes: Fakes) -> None:
    fakes.ledger.script = CALL
    id = new(http)
    ask(http, id)
    fakes.ledger.script = HELLO
    second = ask(http, id, [{"type": "function_call_output", "call_id": "call_a", "output": "sunny"}])
    assert messages_of(fakes, second)[1:] == (
        Message("assistant", reasoning="hm", tool_calls=(ToolCall("call_a", "f", '{"a": 1}'),)),
        Message("tool", text_content("sunny"), tool_call_id="call_a"),
    )


def test_call_that_was_cut_off_is_left_out_and_the_text_before_it_is_not(
    http: FlaskClient, fakes: Fakes
) -> None:
    cut = [
        TextDelta("So"),
        ToolCallDelta(0, '{"a"', "call_a", "f"),
        End("incomplete", finish_reason="length"),
    ]
    fakes.ledger.script = cut
    id = new(http)
    ask(http, id)
    assert [item["type"] for item in items_of(http, id)] == ["message", "message"]


@pytest.mark.parametrize("end", [End("failed", code="engine_crashed"), End("cancelled", code="cancelled")])
def test_conversation_stays_as_it_was_when_the_response_has_no_result(
    http: FlaskClient, fakes: Fakes, end: End
) -> None:
    fakes.ledger.script = [HELLO[0], end]
    id = new(http, items=[{"role": "user", "content": "first"}])
    ask(http, id, background=True)
    assert texts_of(http, id) == ["first"]


def test_second_response_is_refused_while_the_first_one_runs(http: FlaskClient, fakes: Fakes) -> None:
    fakes.ledger.script = [HELLO[0]]
    id = new(http)
    first = ask(http, id, background=True)
    answer = http.post("/v1/responses", json={"model": "demo", "input": "And?", "conversation": id})
    assert answer.status_code == 409
    assert answer.json["error"]["code"] == "conversation_locked"
    assert answer.headers["Retry-After"] == "1"
    assert "x-should-retry" not in answer.headers
    more = {"items": [{"role": "user", "content": "x"}]}
    assert error_of(http, f"/v1/conversations/{id}/items", **more)[:2] == (409, "conversation_locked")
    assert items_of(http, id) == []
    assert len(fakes.ledger.jobs) == 1
    fakes.ledger.append(first["id"], *HELLO[1:])
    fakes.ledger.script = HELLO
    ask(http, id, "And?")
    assert texts_of(http, id) == ["Hi", "Hello.", "And?", "Hello."]


@pytest.mark.parametrize(
    ("problem", "keeps"),
    [(RateLimited("slow"), False), (StorageUnavailable("lost"), True)],
    ids=["refused", "unknown"],
)
def test_turn_is_given_up_when_the_job_is_refused_and_kept_when_its_admission_is_unknown(
    http: FlaskClient, fakes: Fakes, problem: Exception, keeps: bool
) -> None:
    id = new(http)
    fakes.ledger.rejection = problem
    error_of(http, conversation=id)
    fakes.ledger.rejection = None
    if keeps:
        assert error_of(http, conversation=id) == (409, "conversation_locked", "conversation")
    else:
        ask(http, id)
        assert texts_of(http, id) == ["Hi", "Hello."]


def test_turn_begins_with_the_admission(http: FlaskClient, services: AppServices) -> None:
    id, streams = new(http), services[OpenStreams]
    limit, streams.limit = streams.limit, 0
    assert error_of(http, conversation=id)[:2] == (503, "server_busy")
    streams.limit = limit
    ask(http, id)
    assert texts_of(http, id) == ["Hi", "Hello."]


def test_request_is_refused_when_its_conversation_changes_while_its_documents_are_read(
    http: FlaskClient, fakes: Fakes, services: AppServices, monkeypatch: pytest.MonkeyPatch
) -> None:
    id = new(http)
    complete = services[DocumentReader].complete

    async def changed_meanwhile(parsed: ParsedRequest, tenant: str) -> ParsedRequest:
        await services[ConversationStore].add(
            id, tenant, stored_items([{"role": "user", "content": "first"}])
        )
        return await complete(parsed, tenant)

    monkeypatch.setattr(services[DocumentReader], "complete", changed_meanwhile)
    file = base64.b64encode(pdf("Text")).decode()
    part = {"type": "input_file", "filename": "a.pdf", "file_data": f"data:application/pdf;base64,{file}"}
    input = [{"role": "user", "content": [part]}]
    assert error_of(http, conversation=id, input=input) == (409, "conversation_locked", "conversation")
    assert not fakes.ledger.jobs
    monkeypatch.undo()
    ask(http, id)
    assert texts_of(http, id) == ["first", "Hi", "Hello."]


def test_further_requests_of_a_tenant_are_refused_when_many_wait_for_a_conversation(
    app: Flask, http: FlaskClient, services: AppServices, monkeypatch: pytest.MonkeyPatch
) -> None:
    id = new(http, items=[{"role": "user", "content": "x"}])
    item = items_of(http, id)[0]["id"]
    monkeypatch.setattr(large_reads, "JOINS_OF_TENANT", Limit(1, 1, 1))
    services[ConversationJoins] = ConversationJoins()
    turn = services[ConversationJoins].hold("one")
    on_loop(services, turn.__aenter__())
    refused = (429, "too_many_streams", None)
    assert error_of(http, conversation=id) == refused
    for path in (f"/v1/conversations/{id}/items", f"/v1/conversations/{id}/items/{item}"):
        answer = http.get(path)
        assert (answer.status_code, answer.headers["Retry-After"]) == (429, "2")
    other = app.test_client()
    other.environ_base["HTTP_X_API_KEY"] = OTHER_KEY
    ask(other, new(other))
    on_loop(services, turn.__aexit__(None, None, None))
    ask(http, id)


def test_metadata_can_be_shortened_when_the_tenant_is_above_its_quota(
    http: FlaskClient, services: AppServices, settings: Settings
) -> None:
    id = new(http, metadata={"a": "b" * 100})
    with_bounds(services, settings, max_conversation_bytes_per_tenant=10)
    longer = {"metadata": {"a": "b" * 101}}
    assert error_of(http, f"/v1/conversations/{id}", **longer)[1] == "conversation_quota_exceeded"
    assert http.post(f"/v1/conversations/{id}", json={"metadata": {"a": "b"}}).status_code == 200


def test_turn_that_cannot_be_settled_stops_no_other_one(
    http: FlaskClient, services: AppServices, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken, kept = new(http), new(http)
    for id in (broken, kept):
        ask(http, id)
    settle = settling.settle_response

    async def failing(services: AppServices, id: str, tenant: str, response: str) -> None:
        if id == broken:
            raise ValueError("broken")
        await settle(services, id, tenant, response)

    monkeypatch.setattr(settling, "settle_response", failing)
    services[ConversationStore].scripts.offset_us = 6_000_000
    on_loop(services, Settler(services).poll())
    client: Any = redis.Redis.from_url(settings.redis.url, decode_responses=True)
    (left,) = client.zrange(f"{{{settings.redis.prefix}}}:conversation_turns", 0, -1)
    assert left.startswith(broken)


def test_turn_waits_for_the_next_look_and_logs_no_error_when_its_tenant_has_too_many_reads(
    http: FlaskClient,
    services: AppServices,
    settings: Settings,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    ask(http, new(http))
    monkeypatch.setattr(large_reads, "LOG_READS_OF_TENANT", Limit(1, 1))
    services[LogReads] = LogReads()
    turn = services[LogReads].hold("one")
    on_loop(services, turn.__aenter__())
    services[ConversationStore].scripts.offset_us = 6_000_000
    on_loop(services, Settler(services).poll())
    assert "conversation_turns" in keys(settings)
    assert not [record for record in caplog.records if record.levelname == "ERROR"]
    on_loop(services, turn.__aexit__(None, None, None))
    services[ConversationStore].scripts.offset_us = 12_000_000
    on_loop(services, Settler(services).poll())
    assert "conversation_turns" not in keys(settings)


def test_turn_without_a_job_is_dropped_after_a_minute(
    http: FlaskClient, fakes: Fakes, services: AppServices
) -> None:
    id = new(http)
    fakes.ledger.rejection = StorageUnavailable("lost")
    error_of(http, conversation=id)
    fakes.ledger.rejection = None
    services[ConversationStore]._large.offset_us = -61_000_000
    on_loop(services, _begin_again(services, id))
    services[ConversationStore]._large.offset_us = 0
    ask(http, id)
    assert texts_of(http, id) == ["Hi", "Hello."]


async def _begin_again(services: AppServices, id: str) -> None:
    store = services[ConversationStore]
    found = await store.read(id, "one", items=ALL)
    await store.end_turn(id, found.turns[0].response, ())
    assert await store.begin_turn(replace(found, turns=()), "resp_gone", [])


def test_repeat_under_the_same_idempotency_key_gets_the_same_turn(http: FlaskClient, fakes: Fakes) -> None:
    id = new(http)
    body = {"model": "demo", "input": "Hi", "conversation": id}
    answers = [
        http.post("/v1/responses", json=body, headers={"Idempotency-Key": "k"}).json["id"] for _ in range(2)
    ]
    assert answers[0] == answers[1]
    assert len(fakes.ledger.jobs) == 1
    assert texts_of(http, id) == ["Hi", "Hello."]


def test_process_settles_what_no_client_reads_and_the_response_is_kept_until_then(
    http: FlaskClient, fakes: Fakes, services: AppServices, settings: Settings
) -> None:
    id = new(http)
    response = ask(http, id)
    assert fakes.ledger.jobs[response["id"]].retention_s == 7 * 86_400
    assert "conversation_turns" in keys(settings)
    services[ConversationStore].scripts.offset_us = 6_000_000
    on_loop(services, Settler(services).poll())
    assert "conversation_turns" not in keys(settings)
    services[ConversationStore].scripts.offset_us = 0
    fakes.ledger.rows.clear()  # all responses have expired
    assert texts_of(http, id) == ["Hi", "Hello."]


def test_output_stays_when_its_response_is_deleted(http: FlaskClient) -> None:
    id = new(http)
    http.delete(f"/v1/responses/{ask(http, id)['id']}")
    assert texts_of(http, id) == ["Hi", "Hello."]


def test_delete_of_a_response_holds_no_thread_while_it_waits_for_the_reads_of_its_tenant(
    app: Flask, http: FlaskClient, services: AppServices
) -> None:
    id = new(http)
    response = ask(http, id)["id"]
    turns = [services[LogReads].hold("one") for _ in range(large_reads.LOG_READS_OF_TENANT.running)]
    for turn in turns:
        on_loop(services, turn.__aenter__())

    def view() -> Any:
        headers = {"Authorization": f"Bearer {KEY}"}
        with app.test_request_context(f"/v1/responses/{response}", method="DELETE", headers=headers):
            return app.full_dispatch_request()

    with ThreadPoolExecutor(2) as threads:
        try:
            assert isinstance(threads.submit(view).result(scaled(5)), DetachedResponse)
        finally:
            deleting = threads.submit(http.delete, f"/v1/responses/{response}")
            for turn in turns:
                on_loop(services, turn.__aexit__(None, None, None))
        assert deleting.result(scaled(5)).json["deleted"] is True
    assert texts_of(http, id) == ["Hi", "Hello."]


def test_tokens_of_the_conversation_are_counted_without_a_turn(http: FlaskClient, fakes: Fakes) -> None:
    id = new(http, items=[{"role": "user", "content": "first"}])
    counted = http.post(
        "/v1/responses/input_tokens", json={"model": "demo", "input": "Hi", "conversation": id}
    )
    assert counted.status_code == 200, counted.json
    (job,) = fakes.ledger.jobs.values()
    assert Generation.from_json(job.generation).messages == (message("user", "first"), message("user", "Hi"))
    assert texts_of(http, id) == ["first"]


def test_conversation_of_another_tenant_does_not_exist(app: Flask, http: FlaskClient) -> None:
    id = new(http, items=[{"role": "user", "content": "secret"}])
    item = items_of(http, id)[0]["id"]
    other = app.test_client()
    other.environ_base["HTTP_X_API_KEY"] = OTHER_KEY
    assert error_of(other, conversation=id) == (404, "not_found", "conversation")
    assert error_of(http, conversation="conv_1") == (404, "not_found", "conversation")
    paths = [
        f"/v1/conversations/{id}",
        f"/v1/conversations/{id}/items",
        f"/v1/conversations/{id}/items/{item}",
    ]
    for path in paths:
        assert other.get(path).status_code == 404
    for path in (paths[0], paths[2]):
        assert other.delete(path).status_code == 404
    assert other.post(paths[0], json={"metadata": {"a": "b"}}).status_code == 404
    assert other.post(paths[1], json={"items": [{"role": "user", "content": "x"}]}).status_code == 404
    assert texts_of(http, id) == ["secret"]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ({"previous_response_id": "resp_1"}, (400, "invalid_request", "previous_response_id")),
        (
            {"input": None, "messages": [{"role": "user", "content": "x"}]},
            (400, "invalid_request", "messages"),
        ),
        ({"store": False}, (400, "invalid_request", "store")),
        ({"conversation": {}}, (400, "invalid_request", "conversation.id")),
    ],
    ids=lambda value: "" if isinstance(value, tuple) else "-".join(value),
)
def test_conversation_is_refused_with_fields_that_exclude_it(
    http: FlaskClient, body: dict[str, Any], expected: tuple[int, str, str]
) -> None:
    assert error_of(http, **{"conversation": new(http), **body}) == expected


def test_item_that_no_response_could_have_is_refused_and_changes_nothing(http: FlaskClient) -> None:
    image = {"type": "input_image", "image_url": "https://example.com/a.png"}
    bad = [{"role": "user", "content": "x"}, {"role": "user", "content": [image]}]
    assert error_of(http, "/v1/conversations", items=bad)[2] == "items[1].content[0].image_url"
    assert error_of(http, "/v1/conversations", items=[{"role": "user"}])[2] == "items[0].content"
    many = [{"role": "user", "content": "x"}] * 21
    assert error_of(http, "/v1/conversations", items=many) == (400, "invalid_request", "items")
    id = new(http)
    assert error_of(http, f"/v1/conversations/{id}/items", items=bad)[0] == 400
    assert items_of(http, id) == []


def with_bounds(services: AppServices, settings: Settings, **bounds: int) -> None:
    changed = replace(settings, responses=replace(settings.responses, **bounds))
    store = services[ConversationStore]
    connection = store.scripts._connection
    services[ConversationStore] = ConversationStore(connection, connection, changed)


def test_conversations_of_a_tenant_are_bounded_and_free_after_a_delete(
    app: Flask, http: FlaskClient, services: AppServices, settings: Settings
) -> None:
    with_bounds(services, settings, max_conversations_per_tenant=2)
    first, _ = new(http), new(http)
    assert error_of(http, "/v1/conversations") == (409, "conversation_quota_exceeded", None)
    other = app.test_client()
    other.environ_base["HTTP_X_API_KEY"] = OTHER_KEY
    new(other)
    assert http.delete(f"/v1/conversations/{first}").json == {
        "id": first,
        "object": "conversation.deleted",
        "deleted": True,
    }
    new(http)


def test_bytes_of_a_tenant_and_of_all_are_bounded(
    app: Flask, http: FlaskClient, services: AppServices, settings: Settings
) -> None:
    with_bounds(services, settings, max_conversation_bytes_per_tenant=2_900, max_conversation_bytes=4_300)
    long = [{"role": "user", "content": "x" * 1_000}]
    id = new(http, items=long)
    path = f"/v1/conversations/{id}/items"
    assert http.post(path, json={"items": long}).status_code == 409
    assert error_of(http, conversation=id, input="x" * 2_000)[1] == "conversation_quota_exceeded"
    other = app.test_client()
    other.environ_base["HTTP_X_API_KEY"] = OTHER_KEY
    new(other, items=long)
    short = [{"role": "user", "content": "x" * 300}]
    assert error_of(other, "/v1/conversations", items=short)[:2] == (503, "storage_full")
    assert len(items_of(http, id)) == 1
    http.delete(f"/v1/conversations/{id}/items/{items_of(http, id)[0]['id']}")
    assert http.post(path, json={"items": long}).status_code == 200


def test_tenants_that_hold_all_that_they_may_leave_room_for_another_one(
    app: Flask, http: FlaskClient, services: AppServices, settings: Settings
) -> None:
    with_bounds(services, settings, max_conversation_bytes_per_tenant=4_000, max_conversation_bytes=4_000)
    items = [{"role": "user", "content": "x" * 1_000}]
    new(http, items=items)
    answer = http.post("/v1/conversations", json={"items": items})
    error = answer.json["error"]
    assert (answer.status_code, error["code"]) == (409, "conversation_quota_exceeded")
    assert "(responses.max_conversation_bytes)" in error["message"]
    other = app.test_client()
    other.environ_base["HTTP_X_API_KEY"] = OTHER_KEY
    new(other, items=items)


def test_one_conversation_is_bounded_by_its_bytes_and_items(
    http: FlaskClient, services: AppServices, monkeypatch: pytest.MonkeyPatch
) -> None:
    half = [{"role": "user", "content": "x" * 400_000}]
    id = new(http, items=half)
    path = f"/v1/conversations/{id}/items"
    assert http.post(path, json={"items": half}).status_code == 200
    assert error_of(http, path, items=half) == (413, "request_too_large", "conversation_id")
    assert error_of(http, conversation=id, input="x" * 300_000) == (413, "request_too_large", "conversation")
    store = services[ConversationStore]
    assert store._bounds["max_items"] == MAX_ITEMS
    monkeypatch.setattr(store, "_bounds", {**store._bounds, "max_items": 2})
    refused = http.post(path, json={"items": [{"role": "user", "content": "x"}]})
    assert refused.status_code == 413
    assert "would have 3, more than 2 items: start a new one, or delete items" in str(refused.json)


def test_redis_holds_no_conversation_after_the_last_delete(
    http: FlaskClient, services: AppServices, settings: Settings
) -> None:
    id = new(http, items=[{"role": "user", "content": "x"}], metadata={"a": "b"})
    ask(http, id)
    assert http.delete(f"/v1/conversations/{id}").status_code == 200
    assert http.delete(f"/v1/conversations/{id}").status_code == 404
    services[ConversationStore].scripts.offset_us = 6_000_000
    on_loop(services, Settler(services).poll())
    assert keys(settings) == {"conversation_bytes": "hash"}
    client = redis.Redis.from_url(settings.redis.url, decode_responses=True)
    assert client.hgetall(f"{{{settings.redis.prefix}}}:conversation_bytes") == {"@all": "0"}


def test_conversation_is_gone_when_nothing_has_changed_it_for_its_time(
    http: FlaskClient, services: AppServices, settings: Settings
) -> None:
    id = new(http, items=[{"role": "user", "content": "x"}])
    scripts = services[ConversationStore].scripts, services[ConversationStore]._large
    for one in scripts:
        one.offset_us = (settings.responses.conversation_retention_s + 1) * 1_000_000
    assert http.get(f"/v1/conversations/{id}").status_code == 404
    on_loop(services, Settler(services).poll())
    assert "conversations" not in keys(settings)


def test_conversations_of_a_tenant_that_is_gone_are_removed_after_a_while(
    http: FlaskClient, services: AppServices, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = new(http)
    on_loop(services, services[ConversationStore].create("gone", {}, ()))
    settler, now = Settler(services), [1000.0]
    monkeypatch.setattr("api.inference.conversations.settling.time.monotonic", lambda: now[0])
    on_loop(services, settler.poll())
    now[0] += 599
    on_loop(services, settler.poll())
    assert "tenant_conversations:gone" in keys(settings)
    now[0] += 2
    on_loop(services, settler.poll())
    assert "tenant_conversations:gone" not in keys(settings)
    assert http.get(f"/v1/conversations/{kept}").status_code == 200


def test_official_sdk_creates_uses_and_deletes_a_conversation(sdk: openai.OpenAI) -> None:
    created = sdk.conversations.create(
        metadata={"topic": "demo"}, items=[{"type": "message", "role": "user", "content": "Hello!"}]
    )
    assert created.metadata == {"topic": "demo"}
    assert sdk.conversations.retrieve(created.id) == created
    changed = sdk.conversations.update(created.id, metadata={"topic": "other"})
    assert changed.metadata == {"topic": "other"}
    added = sdk.conversations.items.create(
        created.id,
        items=[
            {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "c", "output": "4"},
            {"type": "reasoning", "id": "rs_1", "summary": []},
            {"role": "assistant", "content": "Hm."},
        ],
    )
    assert [item.type for item in added.data] == [
        "function_call",
        "function_call_output",
        "reasoning",
        "message",
    ]
    answer = sdk.responses.create(model="demo", input="Hi", conversation=created.id)
    assert answer.conversation is not None
    assert answer.conversation.id == created.id
    with sdk.responses.stream(model="demo", input="And?", conversation=created.id) as stream:
        assert stream.get_final_response().output_text == "Hello."
    listed = list(sdk.conversations.items.list(created.id, limit=3))
    assert len(listed) == 9
    assert listed[0].type == "message"
    item = sdk.conversations.items.retrieve(listed[-1].id, conversation_id=created.id)
    assert item == listed[-1]
    sdk.conversations.items.delete(item.id, conversation_id=created.id)
    assert len(list(sdk.conversations.items.list(created.id, order="asc"))) == 8
    assert sdk.conversations.delete(created.id).deleted
    with pytest.raises(openai.NotFoundError):
        sdk.conversations.items.list(created.id)


def test_items_of_types_that_are_not_known_are_left_out_of_a_conversation(http: FlaskClient) -> None:
    conversation = new(http)
    unknown = [{"type": "web_search_call", "id": "ws_1"}, {"type": "additional_tools", "tools": []}]
    answer = http.post(f"/v1/conversations/{conversation}/items", json={"items": unknown})
    assert (answer.status_code, answer.json["data"], answer.json["first_id"]) == (200, [], "")
    call = {"type": "custom_tool_call", "call_id": "1", "namespace": "a", "name": "f", "input": "x"}
    output = {"type": "custom_tool_call_output", "call_id": "1", "output": "y"}
    http.post(f"/v1/conversations/{conversation}/items", json={"items": [*unknown, call, output]})
    kept = [
        {key: item[key] for key in item if key not in ("id", "status", "parent_id", "created_at")}
        for item in items_of(http, conversation)
    ]
    assert kept == [call, output]
