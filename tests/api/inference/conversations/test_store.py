"""The store of conversations, where a route cannot see the difference."""

from __future__ import annotations

from typing import Any

import pytest
import redis
from flask.testing import FlaskClient

from api.http.errors import InvalidRequest, NotFound
from api.inference.conversations import store as store_module
from api.inference.conversations.items import stored_items
from api.inference.conversations.record import Conversation
from api.inference.conversations.settling import Settler
from api.inference.conversations.store import ALL, BranchPlace, ConversationStore, item_field
from api.services import AppServices
from config.settings import Settings
from store.errors import StorageUnavailable
from tests.api.inference.conversations.conftest import on_loop

ITEM = [{"role": "user", "content": "Hi"}]


def made(services: AppServices) -> Conversation:
    created = on_loop(services, services[ConversationStore].create("one", {}, stored_items(ITEM)))
    return read(services, created.id)


def read(services: AppServices, id: str) -> Conversation:
    found: Conversation = on_loop(services, services[ConversationStore].read(id, "one", items=ALL))
    return found


def begin(services: AppServices, conversation: Conversation, response: str) -> bool:
    begun: bool = on_loop(services, services[ConversationStore].begin_turn(conversation, response, ITEM))
    return begun


def move(services: AppServices, seconds: float) -> None:
    for scripts in (services[ConversationStore].scripts, services[ConversationStore]._large):
        scripts.offset_us = int(seconds * 1e6)


def test_turn_begins_beside_no_other_one(services: AppServices) -> None:
    found = made(services)
    assert begin(services, found, "resp_a")
    assert begin(services, found, "resp_a"), "a repeated call"
    assert not begin(services, found, "resp_b")


def test_turn_begins_only_in_the_conversation_that_was_read(services: AppServices) -> None:
    found = made(services)
    on_loop(services, services[ConversationStore].add(found.id, "one", stored_items(ITEM)))
    assert not begin(services, found, "resp_a")
    changed = read(services, found.id)
    on_loop(services, services[ConversationStore].delete_items(found.id, "one", [changed.items[0]["id"]]))
    assert not begin(services, changed, "resp_a")
    assert begin(services, read(services, found.id), "resp_a")


def test_conversations_of_a_person_are_listed_to_the_person_and_to_keys(services: AppServices) -> None:
    store = services[ConversationStore]
    people = ["person_a", "person_b", "", "person_a"]
    ids = [on_loop(services, store.create("one", {}, (), person)).id for person in people]

    def listed(person: str, most: int = 9) -> tuple[list[str], bool, int]:
        page = on_loop(services, store.read_page("one", most, "", person))
        return [found.id for found in page.conversations], page.has_more, page.count

    assert listed("") == (ids[::-1], False, 4)
    assert listed("person_a", 1) == ([ids[3]], True, 4)
    on_loop(services, store.update(ids[0], "one", {"title": "the latest"}))
    assert listed("person_a") == ([ids[0], ids[3]], False, 4)
    assert not on_loop(services, store.delete(ids[0], "one", "person_b"))
    assert on_loop(services, store.delete(ids[0], "one", "person_a"))
    assert listed("person_a", 1) == ([ids[3]], False, 3)
    assert listed("person_b") == ([ids[1]], False, 3)
    on_loop(services, store.drop("one"))
    assert listed("person_a") == ([], False, 0)


def test_turn_of_a_person_makes_its_conversation_the_latest_one(services: AppServices) -> None:
    store = services[ConversationStore]
    first, last = (on_loop(services, store.create("one", {}, (), "person_a")) for _ in range(2))

    def listed() -> list[str]:
        page = on_loop(services, store.read_page("one", 9, "", "person_a"))
        return [found.id for found in page.conversations]

    assert begin(services, read(services, first.id), "resp_a")
    assert listed() == [first.id, last.id]
    on_loop(services, store.begin_branch_turn(last, "resp_b", stored_items(ITEM), BranchPlace(None)))
    assert listed() == [last.id, first.id]
    on_loop(services, store.end_turn(first.id, "resp_a", stored_items(ITEM)))
    assert listed() == [first.id, last.id]
    item = read(services, last.id).items[0]["id"]
    assert on_loop(services, store.delete_items(last.id, "one", [item]))
    assert listed() == [last.id, first.id]


def test_turn_ends_once_when_two_processes_end_it(services: AppServices) -> None:
    found = made(services)
    begin(services, found, "resp_a")
    (turn,) = read(services, found.id).turns
    for _ in range(2):
        on_loop(services, services[ConversationStore].end_turn(found.id, turn.response, stored_items(ITEM)))
    assert len(read(services, found.id).items) == 2


def test_input_of_a_turn_is_read_for_its_response_until_it_ends(services: AppServices) -> None:
    found, store = made(services), services[ConversationStore]
    begin(services, found, "resp_a")
    small = on_loop(
        services, store.scripts.run("read_conversation", id=found.id, tenant="one", person="", field="")
    )
    assert set(small[::2]) & {b"turn", b"turn_items"} == {b"turn"}
    assert on_loop(services, store.read_input(found.id, "one", "resp_a")) == ITEM
    assert on_loop(services, store.read_input(found.id, "one", "resp_b")) == []
    on_loop(services, store.end_turn(found.id, "resp_a", ()))
    assert on_loop(services, store.read_input(found.id, "one", "resp_a")) == []
    assert on_loop(services, store.read_input(found.id, "two", "resp_a")) == []


@pytest.mark.parametrize("store", ["1", "0"], ids=["stored", "deleted"])
def test_response_expires_as_any_other_when_its_turn_has_ended(
    services: AppServices, settings: Settings, store: str
) -> None:
    client: Any = redis.Redis.from_url(settings.redis.url)
    prefix = f"{{{settings.redis.prefix}}}:"
    client.hset(f"{prefix}job:resp_a", mapping={"ended_us": 5_000_000, "store": store})
    client.zadd(f"{prefix}deadlines", {"resp_a": 9e15, "resp_b": 9e15})
    found = made(services)
    begin(services, found, "resp_a")
    (turn,) = read(services, found.id).turns
    on_loop(services, services[ConversationStore].end_turn(found.id, turn.response, ()))
    expected = 5_000_000 + settings.responses.retention_s * 1_000_000
    assert client.zscore(f"{prefix}deadlines", "resp_a") == (expected if store == "1" else 9e15)
    assert client.zscore(f"{prefix}deadlines", "resp_b") == 9e15


def test_response_expires_as_any_other_when_its_conversation_is_deleted_while_its_turn_is_settled(
    services: AppServices, settings: Settings
) -> None:
    client: Any = redis.Redis.from_url(settings.redis.url)
    prefix = f"{{{settings.redis.prefix}}}:"
    client.hset(f"{prefix}job:resp_a", mapping={"ended_us": 5_000_000, "store": "1"})
    client.zadd(f"{prefix}deadlines", {"resp_a": 9e15})
    found = made(services)
    begin(services, found, "resp_a")
    assert on_loop(services, services[ConversationStore].delete(found.id, "one"))
    on_loop(services, services[ConversationStore].end_turn(found.id, "resp_a", stored_items(ITEM)))
    assert not client.exists(f"{prefix}conversation_turns")
    expected = 5_000_000 + settings.responses.retention_s * 1_000_000
    assert client.zscore(f"{prefix}deadlines", "resp_a") == expected


@pytest.mark.parametrize("ended", [True, False], ids=["ended", "running"])
def test_response_expires_as_any_other_when_its_conversation_is_deleted(
    services: AppServices, settings: Settings, ended: bool
) -> None:
    client: Any = redis.Redis.from_url(settings.redis.url)
    prefix = f"{{{settings.redis.prefix}}}:"
    client.hset(f"{prefix}job:resp_a", mapping={"store": "1", "retention_s": 604_800})
    if ended:
        client.hset(f"{prefix}job:resp_a", "ended_us", 5_000_000)
    client.zadd(f"{prefix}deadlines", {"resp_a": 9e15})
    found, kept_s = made(services), settings.responses.retention_s
    begin(services, found, "resp_a")
    assert on_loop(services, services[ConversationStore].delete(found.id, "one"))
    move(services, 6)
    assert on_loop(services, services[ConversationStore].open_turns()) == []
    assert not client.exists(f"{prefix}conversation_turns")
    expected = 5_000_000 + kept_s * 1_000_000 if ended else 9e15
    assert client.zscore(f"{prefix}deadlines", "resp_a") == expected
    assert client.hget(f"{prefix}job:resp_a", "retention_s") == (b"604800" if ended else b"%d" % kept_s)


def test_open_turn_is_looked_at_again_after_some_seconds(services: AppServices) -> None:
    begin(services, made(services), "resp_a")
    looks = []
    for seconds in (0, 6, 7, 12):
        move(services, seconds)
        looks.append(len(on_loop(services, services[ConversationStore].open_turns())))
    assert looks == [0, 1, 0, 1]


def test_conversation_is_kept_for_its_time_after_its_last_change(
    http: FlaskClient, services: AppServices, settings: Settings
) -> None:
    found, kept_s = made(services), settings.responses.conversation_retention_s
    move(services, kept_s / 2)
    assert http.post(f"/v1/conversations/{found.id}", json={"metadata": {"a": "b"}}).status_code == 200
    move(services, kept_s * 1.25)
    on_loop(services, Settler(services).poll())
    assert http.get(f"/v1/conversations/{found.id}").status_code == 200


NAMED = [{"id": "msg_00000001", "type": "message", "role": "user", "content": []}]


def begin_branch(services: AppServices, id: str, response: str, items: list[Any], parent: str | None) -> None:
    store, place = services[ConversationStore], BranchPlace(parent)
    on_loop(services, store.begin_branch_turn(read(services, id), response, items, place))


def test_item_that_another_request_has_added_meanwhile_is_the_same_one_or_refused(
    services: AppServices,
) -> None:
    found = made(services)
    for response in ("resp_a", "resp_b"):
        begin_branch(services, found.id, response, NAMED, None)
    assert len(read(services, found.id).items) == 2
    for items, parent in ((NAMED, found.items[0]["id"]), ([{**NAMED[0], "role": "system"}], None)):
        with pytest.raises(InvalidRequest):
            begin_branch(services, found.id, "resp_c", items, parent)


def test_branch_begins_at_no_item_that_was_deleted_meanwhile(services: AppServices) -> None:
    found = made(services)
    (item,) = found.items
    on_loop(services, services[ConversationStore].delete_items(found.id, "one", [item["id"]]))
    for items in ([], NAMED):
        with pytest.raises(NotFound):
            begin_branch(services, found.id, "resp_a", items, item["id"])


def test_delete_of_an_item_is_computed_again_when_the_conversation_was_changed(services: AppServices) -> None:
    found, store = made(services), services[ConversationStore]
    (item,) = found.items
    stale = {"id": found.id, "tenant": "one", "next_number": found.next_number, "kept_s": 60, "count": 1}
    child = {"id": "msg_00000002", "type": "message", "role": "user", "content": [], "parent_id": item["id"]}
    on_loop(services, store.add(found.id, "one", [child]))
    pairs = [item["id"], "-"]
    assert on_loop(services, store.scripts.run("delete_conversation_items", **stale, pairs=pairs)) == [
        b"changed"
    ]
    assert on_loop(services, store.delete_items(found.id, "one", [item["id"]]))
    assert [one["parent_id"] for one in read(services, found.id).items] == [None]


def test_turn_that_ends_without_a_result_gives_its_bytes_back(services: AppServices) -> None:
    found = made(services)
    begin(services, found, "resp_a")
    assert read(services, found.id).bytes > found.bytes
    on_loop(services, services[ConversationStore].end_turn(found.id, "resp_a", ()))
    assert read(services, found.id).bytes == found.bytes


def placed(number: int, parent: int | None) -> dict[str, Any]:
    """An item with its place in a tree."""
    (item,) = stored_items(ITEM)
    return item | {"id": f"msg_{number:032}", "parent_id": None if parent is None else f"msg_{parent:032}"}


@pytest.mark.parametrize("descendants", [True, False])
def test_delete_that_changes_many_items_is_done_in_parts_and_a_repeat_completes_it(
    services: AppServices, monkeypatch: pytest.MonkeyPatch, descendants: bool
) -> None:
    monkeypatch.setattr(store_module, "MAX_CHANGED", 3)
    store = services[ConversationStore]
    tree = [placed(0, None), placed(1, 0), *(placed(at, 1 if at < 10 else at - 8) for at in range(2, 18))]
    id = on_loop(services, store.create("one", {}, ())).id
    on_loop(services, store.add(id, "one", tree))
    on_loop(services, store.begin_branch_turn(read(services, id), "resp_a", (), BranchPlace(tree[-1]["id"])))
    run, calls = store._large.run, 0

    async def run_twice(name: str, **args: Any) -> Any:
        nonlocal calls
        if name == "delete_conversation_items":
            calls += 1
            if calls == 3:
                raise StorageUnavailable("cut")
        assert len(args.get("pairs", ())) <= 6
        return await run(name, **args)

    monkeypatch.setattr(store._large, "run", run_twice)
    deleted = [tree[1]["id"]]
    with pytest.raises(StorageUnavailable):
        on_loop(services, store.delete_items(id, "one", deleted, descendants=descendants))
    half = read(services, id)
    known = {item["id"] for item in half.items}
    assert deleted[0] in known
    assert all(item["parent_id"] in known for item in half.items[1:]), "the tree is whole"
    assert on_loop(services, store.delete_items(id, "one", deleted, descendants=descendants))
    left = read(services, id)
    assert (left.item_count, len(left.items)) == ((1, 1) if descendants else (17, 17))
    assert sum(item["parent_id"] == tree[0]["id"] for item in left.items) == (0 if descendants else 8)
    assert left.turns[0].place == (tree[0]["id"] if descendants else tree[-1]["id"])
    assert not on_loop(services, store.delete_items(id, "one", deleted))
    on_loop(services, store.delete_items(id, "one", [item["id"] for item in left.items]))
    assert read(services, id).bytes == made_bytes(services)


def made_bytes(services: AppServices) -> int:
    """The bytes of a conversation without items."""
    return int(on_loop(services, services[ConversationStore].create("one", {}, ())).bytes)


def test_one_item_is_read_without_the_others_unless_its_parent_is_not_named(services: AppServices) -> None:
    store = services[ConversationStore]
    added = stored_items({"role": "user", "content": text} for text in "abc")
    id = on_loop(services, store.create("one", {}, added)).id
    for at, read in ((0, added), (1, added[1:2]), (2, added[2:])):
        found = on_loop(services, store.read(id, "one", items=item_field(added[at]["id"])))
        assert [item["id"] for item in found.items] == [item["id"] for item in read]
    assert on_loop(services, store.read(id, "one", items=item_field("msg_00000000"))).items == ()


def test_branch_turn_begins_once_when_the_call_is_repeated(services: AppServices) -> None:
    found = made(services)
    for _ in range(2):
        begin_branch(services, found.id, "resp_a", NAMED, None)
    again = read(services, found.id)
    assert ([turn.response for turn in again.turns], len(again.items)) == (["resp_a"], 2)
