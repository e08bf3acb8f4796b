"""Responses in branches of a conversation (docs/decisions/0045-conversation-trees.md)."""

from __future__ import annotations

import secrets
from typing import Any

import openai
import pytest
import redis
from flask.testing import FlaskClient

from api.inference.conversations.settling import Settler
from api.inference.conversations.store import MAX_TURNS, ConversationStore
from api.services import AppServices
from config.settings import Settings
from generation.generation import Generation
from store.errors import RateLimited, StorageUnavailable
from streams.events import End, PromptProgress, ReasoningDelta, TextDelta, ToolCallDelta
from tests.api.conftest import KEY
from tests.api.inference.conversations.conftest import on_loop
from tests.api.inference.conversations.test_conversations import (
    ask,
    error_of,
    items_of,
    message,
    messages_of,
    new,
    texts_of,
)
from tests.support.api_fakes import HELLO, Fakes


def question(text: str = "Hi") -> dict[str, Any]:
    return {"id": f"msg_{secrets.token_hex(16)}", "role": "user", "content": text}


def at(id: str, parent: str | None) -> dict[str, Any]:
    return {"id": id, "parent": parent}


def branch(http: FlaskClient, id: str, parent: str | None, input: Any, **body: Any) -> dict[str, Any]:
    return ask(http, at(id, parent), input, **body)


def parents_of(http: FlaskClient, id: str) -> dict[str, str | None]:
    return {item["id"]: item["parent_id"] for item in items_of(http, id)}


def answer_of(response: dict[str, Any]) -> str:
    id: str = response["output"][-1]["id"]
    return id


@pytest.mark.parametrize("kind", ["function_call_output", "custom_tool_call_output"])
def test_conversation_keeps_that_a_call_failed_in_the_status_of_its_result(
    http: FlaskClient, kind: str
) -> None:
    id = new(http)
    output = {"type": kind, "output": "no such file"}
    asked: list[dict[str, Any]] = [
        question(),
        {"type": "function_call", "call_id": "a", "name": "read", "arguments": "{}"},
        {"type": "function_call", "call_id": "b", "name": "read", "arguments": "{}"},
        {"type": "function_call", "call_id": "c", "name": "read", "arguments": "{}"},
        {**output, "call_id": "a", "status": "incomplete", "id": "fco_0a1b2c3d"},
        {**output, "call_id": "b", "status": "completed"},
        {**output, "call_id": "c"},
    ]
    first = branch(http, id, None, asked)
    listed = [item["status"] for item in items_of(http, id) if item["type"] == kind]
    assert listed == ["incomplete", "completed", "completed"]
    assert items_of(http, id)[-1]["id"] == answer_of(first)


def test_two_models_answer_the_same_message_side_by_side(http: FlaskClient, fakes: Fakes) -> None:
    fakes.ledger.script = [TextDelta("Hel")]
    id, asked = new(http), question()
    responses = [branch(http, id, None, [asked], background=True) for _ in range(2)]
    assert [messages_of(fakes, one) for one in responses] == [(message("user", "Hi"),)] * 2
    running = http.get(f"/v1/conversations/{id}").json["turns"]
    assert [(turn["response_id"], turn["parent_id"]) for turn in running] == [
        (one["id"], asked["id"]) for one in responses
    ]
    assert parents_of(http, id) == {asked["id"]: None}, "the question is there before the answers"
    for response in reversed(responses):
        fakes.ledger.append(response["id"], *HELLO[1:])
    items = items_of(http, id)
    assert [item["parent_id"] for item in items] == [None, asked["id"], asked["id"]]
    assert {item["response_id"] for item in items[1:]} == {one["id"] for one in responses}
    assert items[1]["response_status"] == "completed"
    assert items[1]["usage"]["output_tokens"] == 2
    assert items[1]["measurements"]["queue_wait_ms"] == 4
    assert http.get(f"/v1/conversations/{id}").json["turns"] == []


def test_response_gets_its_path_alone(http: FlaskClient, fakes: Fakes) -> None:
    id = new(http)
    first = branch(http, id, None, [question()])
    edited = branch(http, id, None, [question("Hello")])
    second = branch(http, id, answer_of(first), [question("And?")])
    hello = message("assistant", "Hello.")
    assert messages_of(fakes, edited) == (message("user", "Hello"),)
    assert messages_of(fakes, second) == (message("user", "Hi"), hello, message("user", "And?"))
    assert second["conversation"] == at(id, answer_of(first))
    latest = ask(http, id, "Last")
    assert messages_of(fakes, latest)[-3:] == (message("user", "And?"), hello, message("user", "Last"))
    leaf = http.get(f"/v1/conversations/{id}/items?order=asc&leaf={answer_of(edited)}").json["data"]
    assert [item["content"][0]["text"] for item in leaf] == ["Hello", "Hello."]
    assert http.get(f"/v1/conversations/{id}/items?leaf=x").status_code == 400


def test_answer_is_made_again_below_the_same_question(http: FlaskClient, fakes: Fakes) -> None:
    id, asked = new(http), question()
    branch(http, id, None, [asked])
    for input, parent in (([asked], None), ([], asked["id"]), ("", asked["id"])):
        again = branch(http, id, parent, input)
        assert messages_of(fakes, again) == (message("user", "Hi"),)
    assert [item["parent_id"] for item in items_of(http, id)] == [None, *[asked["id"]] * 4]


@pytest.mark.parametrize(
    ("end", "status", "code"),
    [
        (End("failed", code="engine_crashed", message="the engine crashed"), "failed", "engine_crashed"),
        (End("cancelled", code="cancelled"), "cancelled", None),
        (End("incomplete", "length"), "incomplete", None),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_partial_output_is_kept_however_the_response_ends(
    http: FlaskClient, fakes: Fakes, end: End, status: str, code: str | None
) -> None:
    call = ToolCallDelta(0, '{"a', "call_a", "f")
    fakes.ledger.script = [ReasoningDelta("hm"), TextDelta("Hel"), call, end]
    id, asked = new(http), question()
    branch(http, id, None, [asked], background=True, metadata={"second": "true"})
    _, reasoning, answer = items_of(http, id)
    assert (reasoning["type"], reasoning["parent_id"]) == ("reasoning", asked["id"])
    assert answer["parent_id"] == reasoning["id"]
    assert answer["content"][0]["text"] == "Hel"
    assert answer["response_status"] == status
    assert answer["metadata"] == {"second": "true"}
    assert (answer["error"] or {}).get("code") == code
    assert "response_status" not in reasoning


def test_answer_without_output_leaves_its_error_and_is_no_part_of_the_history(
    http: FlaskClient, fakes: Fakes
) -> None:
    fakes.ledger.script = [End("failed", code="engine_crashed")]
    id, asked = new(http), question()
    branch(http, id, None, [asked], background=True)
    empty = items_of(http, id)[1]
    assert (empty["status"], empty["content"], empty["error"]["code"]) == ("incomplete", [], "engine_crashed")
    fakes.ledger.script = HELLO
    after = branch(http, id, empty["id"], [question("Well?")])
    assert messages_of(fakes, after) == (message("user", "Hi"), message("user", "Well?"))


def test_cut_answer_is_continued_and_later_responses_get_both_parts_as_one(
    http: FlaskClient, fakes: Fakes
) -> None:
    fakes.ledger.script = [TextDelta("One, "), End("incomplete", "length")]
    id = new(http)
    cut = branch(http, id, None, [question()])
    fakes.ledger.script = [TextDelta("two."), End("completed", "stop")]
    rest = branch(http, id, answer_of(cut), [], continue_final_message=True)
    generation = Generation.from_json(fakes.ledger.jobs[rest["id"]].generation)
    assert generation.continue_last
    assert generation.messages == (message("user", "Hi"), message("assistant", "One, "))
    assert items_of(http, id)[2]["continues"] == answer_of(cut)
    after = branch(http, id, answer_of(rest), [question("And?")])
    assert [part.text for part in messages_of(fakes, after)] == ["Hi", "One, two.", "And?"]
    assert "continues" not in items_of(http, id)[-1]
    asked = items_of(http, id)[0]["id"]
    refused = error_of(http, conversation=at(id, asked), input=[], continue_final_message=True)
    assert refused == (400, "invalid_request", "continue_final_message")


@pytest.mark.parametrize("named", [True, False])
def test_refused_request_leaves_its_input_if_the_client_has_named_it(
    http: FlaskClient, fakes: Fakes, named: bool
) -> None:
    fakes.ledger.rejection = RateLimited("slow")
    id, asked = new(http), question()
    if not named:
        del asked["id"]
    error_of(http, conversation=at(id, None), input=[asked])
    assert len(items_of(http, id)) == int(named)
    fakes.ledger.rejection = None
    branch(http, id, None, [asked])
    assert texts_of(http, id) == ["Hi", "Hello."]
    assert http.get(f"/v1/conversations/{id}").json["turns"] == []


def test_turn_without_a_job_is_dropped_after_a_minute_and_its_input_stays(
    http: FlaskClient, fakes: Fakes, services: AppServices
) -> None:
    id = new(http)
    fakes.ledger.rejection = StorageUnavailable("lost")
    services[ConversationStore]._large.offset_us = -61_000_000
    error_of(http, conversation=at(id, None), input=[question()])
    assert texts_of(http, id) == ["Hi"]
    assert http.get(f"/v1/conversations/{id}").json["turns"] == []


def test_process_settles_the_branches_that_no_client_reads(
    http: FlaskClient, fakes: Fakes, services: AppServices
) -> None:
    id, asked = new(http), question()
    for _ in range(2):
        branch(http, id, None, [asked])
    services[ConversationStore].scripts.offset_us = 6_000_000
    on_loop(services, Settler(services).poll())
    services[ConversationStore].scripts.offset_us = 0
    fakes.ledger.rows.clear()  # all responses have expired
    assert texts_of(http, id) == ["Hi", "Hello.", "Hello."]


def test_item_is_refused_at_another_place_or_with_another_content(http: FlaskClient) -> None:
    id, asked = new(http), question()
    first = branch(http, id, None, [asked])
    other = {**asked, "content": "Other"}
    for parent, item in ((None, other), (answer_of(first), asked)):
        assert error_of(http, conversation=at(id, parent), input=[item]) == (400, "invalid_request", "input")
    assert error_of(http, conversation=at(id, "msg_00000000"))[:2] == (404, "not_found")
    assert error_of(http, conversation=at(id, None), input=[]) == (400, "invalid_request", "input")
    for bad in ("x", "msg_1", "msg_" + "a" * 65, "msg_a b c d e f", 7):
        refused = error_of(http, conversation=at(id, None), input=[{**asked, "id": bad}])
        assert refused == (400, "invalid_request", "input[0].id")
    refused = error_of(http, conversation=at(id, None), input=[question("New"), asked])
    assert refused == (400, "invalid_request", "input")
    refused = error_of(http, conversation=at(id, None), input=[asked, asked])
    assert refused == (400, "invalid_request", "input[1].id")


def test_responses_of_a_conversation_are_bounded(http: FlaskClient, fakes: Fakes) -> None:
    fakes.ledger.script = []
    id, asked = new(http), question()
    for _ in range(MAX_TURNS):
        branch(http, id, None, [asked], background=True)
    refused = error_of(http, conversation=at(id, None), input=[asked], background=True)
    assert refused[:2] == (409, "conversation_locked")


def test_response_outside_of_branches_runs_beside_those_in_branches(http: FlaskClient, fakes: Fakes) -> None:
    id = new(http, items=[{"role": "user", "content": "first"}])
    (first,) = items_of(http, id)
    fakes.ledger.script = []
    line = ask(http, id, "Line", background=True)
    side = branch(http, id, first["id"], [question("Side")], background=True)
    assert error_of(http, conversation=id)[1] == "conversation_locked"
    for response in (side, line):
        fakes.ledger.append(response["id"], *HELLO)
    parents = {item["content"][0]["text"]: item["parent_id"] for item in items_of(http, id)[:-1]}
    assert parents["Side"] == parents["Line"] == first["id"]


def test_deleted_item_leaves_its_children_to_its_parent(http: FlaskClient, fakes: Fakes) -> None:
    id, asked = new(http), question()
    first = branch(http, id, None, [asked])
    branch(http, id, answer_of(first), [question("And?")])
    fakes.ledger.script = []
    running = branch(http, id, answer_of(first), [], background=True)
    path = f"/v1/conversations/{id}/items"
    assert http.delete(f"{path}/{answer_of(first)}").status_code == 200
    assert [item["parent_id"] for item in items_of(http, id)][:2] == [None, asked["id"]]
    fakes.ledger.append(running["id"], *HELLO)
    assert items_of(http, id)[-1]["parent_id"] == asked["id"]
    assert http.delete(f"{path}/{asked['id']}?descendants=true").json["item_count"] == 0
    assert items_of(http, id) == []
    assert http.delete(f"{path}/{asked['id']}").status_code == 404


def test_copy_of_a_conversation_is_pushed_once_with_what_is_known_of_it(http: FlaskClient) -> None:
    id, asked = new(http), question()
    asked |= {"parent_id": None, "created_at": 1_700_000_000}
    answer = {
        **question("Hello."),
        "role": "assistant",
        "parent_id": asked["id"],
        "model": "demo",
        "response_status": "failed",
        "status": "incomplete",
        "usage": {"input_tokens": 3, "output_tokens": 2, "input_tokens_details": {"cached_tokens": 1}},
        "error": {"code": "engine_crashed", "message": "it crashed"},
        "metadata": {"a": "b"},
    }
    for _ in range(2):
        assert http.post(f"/v1/conversations/{id}/items", json={"items": [asked, answer]}).status_code == 200
    first, second = items_of(http, id)
    assert (first["id"], first["created_at"], first["parent_id"]) == (asked["id"], 1_700_000_000, None)
    kept = {key: value for key, value in answer.items() if key not in ("content", "usage")}
    assert second.items() >= kept.items()
    assert second["usage"]["total_tokens"] == 5
    assert second["usage"]["input_tokens_details"] == {"cached_tokens": 1}
    assert isinstance(http.get(f"/v1/conversations/{id}").json["bytes"], int)


@pytest.mark.parametrize(
    ("item", "status", "param"),
    [
        ({"parent_id": "msg_00000000"}, 404, "conversation_id"),
        ({"parent_id": 1}, 400, "items[0].parent_id"),
        ({"parent_id": None, "id": "x"}, 400, "items[0].id"),
        ({"parent_id": None, "usage": {"input_tokens": -1}}, 400, "items[0].usage.input_tokens"),
        ({"parent_id": None, "response_status": "well"}, 400, "items[0].response_status"),
        ({"parent_id": None, "error": {"code": "x" * 65, "message": ""}}, 400, "items[0].error.code"),
        ({"parent_id": None, "metadata": {"a": 1}}, 400, "items[0].metadata.a"),
    ],
)
def test_item_with_a_bad_place_or_fact_is_refused(
    http: FlaskClient, item: dict[str, Any], status: int, param: str
) -> None:
    id = new(http)
    answer = http.post(
        f"/v1/conversations/{id}/items", json={"items": [{"role": "user", "content": "x", **item}]}
    )
    assert (answer.status_code, answer.json["error"]["param"]) == (status, param)
    assert items_of(http, id) == []


def test_conversations_are_listed_with_the_latest_changed_first_and_the_quota(http: FlaskClient) -> None:
    first, second, third = (new(http, metadata={"title": name}) for name in "abc")
    http.post(f"/v1/conversations/{first}", json={"metadata": {"title": "changed"}})
    page = http.get("/v1/conversations?limit=2").json
    assert [one["id"] for one in page["data"]] == [first, third]
    assert page["data"][0]["metadata"] == {"title": "changed"}
    assert (page["has_more"], page["first_id"], page["last_id"]) == (True, first, third)
    rest = http.get(f"/v1/conversations?after={third}").json
    assert ([one["id"] for one in rest["data"]], rest["has_more"]) == ([second], False)
    assert rest["quota"] == {
        "conversations": 3,
        "max_conversations": 10_000,
        "bytes": sum(one["bytes"] for one in (*page["data"], *rest["data"])),
        "max_bytes": 268_435_456,
    }
    assert http.get("/v1/conversations?after=conv_0").status_code == 400
    http.delete(f"/v1/conversations/{first}")
    assert http.get("/v1/conversations").json["quota"]["conversations"] == 2


def test_conversation_of_an_older_platform_is_read_listed_and_continued(
    http: FlaskClient, fakes: Fakes, settings: Settings
) -> None:
    id = new(http, items=[{"role": "user", "content": text} for text in "ab"])
    client: Any = redis.Redis.from_url(settings.redis.url, decode_responses=True)
    prefix = f"{{{settings.redis.prefix}}}:"
    key, own = f"{prefix}conversation:{id}", f"{prefix}tenant_conversations:one"
    for field, value in client.hgetall(key).items():
        if field.startswith("i:"):
            number, _, _, text = value.split(" ", 3)
            client.hset(key, field, f"{number} {text}")
    client.hdel(key, "changed_us")
    client.delete(own)
    client.sadd(own, id)
    first, second = items_of(http, id)
    assert (first["parent_id"], second["parent_id"]) == (None, first["id"])
    later = new(http)  # converts what was there
    order = [one["id"] for one in http.get("/v1/conversations").json["data"]]
    assert order == [later, id]
    client.delete(own)
    client.sadd(own, *order)
    listed = http.get("/v1/conversations?limit=1").json
    rest = http.get(f"/v1/conversations?limit=1&after={later}").json
    assert [(page["data"][0]["id"], page["has_more"]) for page in (listed, rest)] == [
        (later, True),
        (id, False),
    ]
    assert http.get("/v1/conversations").json["quota"]["conversations"] == 2
    assert http.get("/v1/conversations?after=conv_0").status_code == 400
    assert client.type(own) == "set", "a reading changes nothing"
    assert http.delete(f"/v1/conversations/{id}/items/{first['id']}").status_code == 200
    asked = ask(http, id, "c")
    assert messages_of(fakes, asked) == (message("user", "b"), message("user", "c"))
    assert [item["parent_id"] for item in items_of(http, id)][:2] == [None, second["id"]]
    assert client.type(own) == "zset"


def test_official_sdk_uses_branches(sdk: openai.OpenAI) -> None:
    conversation = sdk.conversations.create()
    asked = question()
    answers = [
        sdk.responses.create(
            model="demo",
            input=[asked],  # type: ignore[list-item]
            conversation={"id": conversation.id, "parent": None},  # type: ignore[typeddict-unknown-key]
        )
        for _ in range(2)
    ]
    assert answers[0].conversation is not None
    assert answers[0].conversation.id == conversation.id
    items = list(sdk.conversations.items.list(conversation.id, order="asc"))
    assert [item.type for item in items] == ["message"] * 3
    assert items[1].parent_id == items[2].parent_id == asked["id"]  # type: ignore[union-attr]


def test_prompt_progress_is_streamed_to_the_official_sdk(port: int, fakes: Fakes) -> None:
    sdk = openai.OpenAI(api_key=KEY, base_url=f"http://127.0.0.1:{port}/v1", max_retries=0)
    fakes.ledger.script = [PromptProgress(1000, 200, 512, 130), *HELLO]
    extra = {"return_progress": True}
    with sdk.responses.stream(model="demo", input="Hi", extra_body=extra) as stream:
        events = list(stream)
        assert stream.get_final_response().output_text == "Hello."
    progress: Any = next(event for event in events if event.type == "response.prompt_progress")
    assert progress.prompt_progress == {"total": 1000, "cache": 200, "processed": 512, "time_ms": 130}
    (job,) = fakes.ledger.jobs.values()
    assert Generation.from_json(job.generation).reports_progress


def test_begun_answer_of_the_input_is_continued(http: FlaskClient, fakes: Fakes) -> None:
    begun = [{"role": "user", "content": "Count."}, {"role": "assistant", "content": "One, "}]
    plain = ask(http, None, begun, continue_final_message=True)
    assert Generation.from_json(fakes.ledger.jobs[plain["id"]].generation).continue_last
    refused = error_of(http, input=begun, continue_final_message=True, thinking="enabled")
    assert refused[1] in ("unsupported_parameter", "thinking_unsupported")
    after = ask(http, None, begun, previous_response_id=plain["id"], continue_final_message=True)
    assert Generation.from_json(fakes.ledger.jobs[after["id"]].generation).continue_last


@pytest.mark.parametrize("parent", ["^", "=", "-", "*", "i:x", "msg_0123456789 -", "msg_0123456789\n", ""])
def test_item_cannot_name_a_parent_that_has_no_form_of_an_id(http: FlaskClient, parent: str) -> None:
    id = new(http)
    items = [question() | {"parent_id": None}, question() | {"parent_id": parent}]
    answer = http.post(f"/v1/conversations/{id}/items", json={"items": items})
    assert (answer.status_code, answer.json["error"]["param"]) == (400, "items[1].parent_id")
    assert error_of(http, conversation=at(id, parent))[0] in (400, 404)
    assert items_of(http, id) == []


def test_conversation_that_would_be_too_large_names_its_bound(http: FlaskClient, settings: Settings) -> None:
    bound = settings.api.max_body_bytes
    id, text = new(http), "x" * (bound // 2)
    for status in (200, 413):
        items = [{"role": "user", "content": text}]
        answer = http.post(f"/v1/conversations/{id}/items", json={"items": items})
        assert answer.status_code == status
    error = answer.json["error"]
    assert (error["code"], error["param"]) == ("request_too_large", "conversation_id")
    assert f"more than {bound} bytes (api.max_body_bytes): start a new one" in error["message"]


def test_item_alone_is_as_it_is_in_the_list(http: FlaskClient, fakes: Fakes) -> None:
    id, asked = new(http, items=[{"role": "user", "content": text} for text in "ab"]), question()
    branch(http, id, None, [asked])
    fakes.ledger.script = [TextDelta("Hel")]
    running = branch(http, id, asked["id"], [], background=True)
    http.post(f"/v1/conversations/{id}/items", json={"items": [{"role": "user", "content": "c"}]})
    fakes.ledger.append(running["id"], *HELLO[1:])
    path = f"/v1/conversations/{id}/items"
    response = http.get(f"/v1/responses/{running['id']}").json
    late = http.get(f"{path}/{answer_of(response)}")
    assert late.json["parent_id"] == asked["id"], "the read has ended its turn"
    listed = items_of(http, id)
    assert [http.get(f"{path}/{item['id']}").json for item in listed] == listed
    assert http.get(f"{path}/msg_00000000").status_code == 404


def test_conversation_has_the_output_of_a_response_that_has_ended_when_it_is_read(
    http: FlaskClient, fakes: Fakes
) -> None:
    fakes.ledger.script = []
    id, asked = new(http), question()
    running = branch(http, id, None, [asked], background=True)
    assert len(http.get(f"/v1/conversations/{id}").json["turns"]) == 1
    fakes.ledger.append(running["id"], *HELLO)
    read = http.get(f"/v1/conversations/{id}").json
    assert (read["turns"], read["item_count"]) == ([], 2)


def test_repeat_of_a_response_that_runs_takes_no_turn_of_its_own(http: FlaskClient, fakes: Fakes) -> None:
    fakes.ledger.script = []
    id = new(http)
    body = {"model": "demo", "input": "Hi", "conversation": at(id, None), "background": True}
    answers = [
        http.post("/v1/responses", json=body, headers={"Idempotency-Key": "k"}).json["id"] for _ in range(2)
    ]
    assert answers[0] == answers[1]
    read = http.get(f"/v1/conversations/{id}").json
    assert ([turn["response_id"] for turn in read["turns"]], read["item_count"]) == (answers[:1], 1)


def test_bytes_of_a_branch_are_counted_and_given_back_with_its_items(http: FlaskClient) -> None:
    id, asked = new(http), question("x" * 1_000)
    before = http.get(f"/v1/conversations/{id}").json["bytes"]
    branch(http, id, None, [asked])
    items_of(http, id)
    assert http.get(f"/v1/conversations/{id}").json["bytes"] > before + 1_000
    left = http.delete(f"/v1/conversations/{id}/items/{asked['id']}?descendants=true").json
    assert (left["item_count"], left["bytes"]) == (0, before)


def test_response_outside_of_branches_follows_the_item_above_when_its_place_is_deleted(
    http: FlaskClient, fakes: Fakes
) -> None:
    id = new(http, items=[{"role": "user", "content": text} for text in "ab"])
    first, second = items_of(http, id)
    fakes.ledger.script = []
    running = ask(http, id, "Line", background=True)
    assert http.delete(f"/v1/conversations/{id}/items/{second['id']}").status_code == 200
    fakes.ledger.append(running["id"], *HELLO)
    assert [item["parent_id"] for item in items_of(http, id)][:2] == [None, first["id"]]
    assert texts_of(http, id) == ["a", "Line", "Hello."]
