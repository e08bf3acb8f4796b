"""Trees of conversations with the official SDK in strict mode: turns side by side, pages, cut answers."""

from __future__ import annotations

import secrets
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import openai
import pytest

from tests.support.waiting import wait_until

pytestmark = pytest.mark.journey
TURNS = 12


def question(text: str) -> Any:
    return {"id": f"msg_{secrets.token_hex(16)}", "role": "user", "content": text}


def ask(sdk: openai.OpenAI, id: str, parent: str | None, input: list[Any], **fields: Any) -> Any:
    """A response at a place of the tree; `parent` is a field that the SDK does not know."""
    extra = {"conversation": {"id": id, "parent": parent}, **fields.pop("extra_body", {})}
    return sdk.responses.create(**{"model": "stub", "input": input, **fields}, extra_body=extra)


def items_of(sdk: openai.OpenAI, id: str, **query: Any) -> list[Any]:
    """All items, page by page."""
    return list(sdk.conversations.items.list(id, order="asc", limit=5, extra_query=query))


def test_turns_of_a_tree_run_side_by_side_and_are_listed_page_by_page(sdk: openai.OpenAI) -> None:
    id, asked = sdk.conversations.create(metadata={"topic": "tree"}).id, question("/stub tokens=3")
    with ThreadPoolExecutor(TURNS) as pool:
        answers = list(pool.map(lambda _: ask(sdk, id, None, [asked]), range(TURNS)))
    items = items_of(sdk, id)
    assert [item.id for item in items[:1]] == [asked["id"]]
    assert {item.id for item in items[1:]} == {answer.output[-1].id for answer in answers}
    assert len(items) == 1 + TURNS
    assert {item.parent_id for item in items[1:]} == {asked["id"]}
    latest_first = list(sdk.conversations.items.list(id, limit=5))
    assert [item.id for item in latest_first] == [item.id for item in reversed(items)]
    leaf = ask(sdk, id, answers[3].output[-1].id, [question("/stub echo_json")])
    assert leaf.output_text.count("tok0 tok1 tok2") == 1, (
        "the answers beside its own are no part of its history"
    )
    assert len(items_of(sdk, id, leaf=leaf.output[-1].id)) == 4


def test_item_is_fetched_and_its_delete_leaves_what_follows_it(sdk: openai.OpenAI) -> None:
    id, asked = sdk.conversations.create().id, question("/stub tokens=3")
    first = ask(sdk, id, None, [asked])
    second = ask(sdk, id, first.output[-1].id, [question("/stub tokens=2")])
    items = items_of(sdk, id)
    assert [sdk.conversations.items.retrieve(item.id, conversation_id=id) for item in items] == items
    sdk.conversations.items.delete(first.output[-1].id, conversation_id=id)
    left = items_of(sdk, id)
    assert [item.id for item in left] == [items[0].id, items[2].id, second.output[-1].id]
    assert left[1].parent_id == asked["id"]
    with pytest.raises(openai.NotFoundError):
        sdk.conversations.items.retrieve(first.output[-1].id, conversation_id=id)
    sdk.conversations.items.delete(asked["id"], conversation_id=id, extra_query={"descendants": "true"})
    assert items_of(sdk, id) == []


@pytest.mark.parametrize("how", ["disconnect", "cancel"])
def test_partial_output_of_a_cut_response_is_kept_and_continued(sdk: openai.OpenAI, how: str) -> None:
    # 4 s, before whose end the client leaves, and which the continuation takes again
    id, asked = sdk.conversations.create().id, question("/stub tokens=160 tokens_per_s=40")
    received = ""
    with ask(sdk, id, None, [asked], stream=True, background=how == "cancel") as stream:
        for event in stream:
            if event.type == "response.created":
                response = event.response.id
            if event.type == "response.output_text.delta":
                received += event.delta
                if len(received) > 20:
                    break
        if how == "cancel":
            sdk.responses.cancel(response)
    wait_until(lambda: len(items_of(sdk, id)) == 2, 10)
    cut = items_of(sdk, id)[1]
    assert (cut.status, cut.response_status, cut.response_id) == ("incomplete", "cancelled", response)
    assert cut.content[0].text.startswith(received)
    assert len(cut.content[0].text.split()) < 160
    rest = ask(sdk, id, cut.id, [], extra_body={"continue_final_message": True})
    assert rest.status == "completed"
    _, _, continued = items_of(sdk, id)
    assert (continued.id, continued.parent_id, continued.continues) == (rest.output[-1].id, cut.id, cut.id)
