"""Paths in the tree of a conversation's items, and what a delete changes."""

from __future__ import annotations

from typing import Any

from api.inference.conversations.tree import as_history, heirs, latest_path, path_to, with_descendants


def item(id: str, parent: str | None, **more: Any) -> dict[str, Any]:
    return {"id": id, "parent_id": parent, **more}


TREE = [item("a", None), item("b", "a"), item("c", "a"), item("d", "b"), item("e", None), item("f", "gone")]


def ids(items: list[dict[str, Any]] | None) -> list[str] | None:
    return None if items is None else [item["id"] for item in items]


def test_path_leads_from_a_root_to_its_leaf() -> None:
    assert ids(path_to(TREE, "d")) == ["a", "b", "d"]
    assert ids(path_to(TREE, "c")) == ["a", "c"]
    assert ids(path_to(TREE, None)) == []
    assert path_to(TREE, "x") is None
    assert ids(path_to(TREE, "f")) == ["f"], "an item whose parent is not there is a root"
    assert ids(path_to([item("a", "a")], "a")) == ["a"]
    assert ids(latest_path(TREE[:4])) == ["a", "b", "d"]
    assert latest_path([]) == []


def test_delete_gives_the_children_of_an_item_to_the_nearest_item_above() -> None:
    assert with_descendants(TREE, "b") == ["b", "d"]
    assert heirs(TREE, ["a"]) == ([("a", None)], [("b", None), ("c", None)])
    assert heirs(TREE, ["a", "b"]) == ([("a", None), ("b", None)], [("c", None), ("d", None)])
    assert heirs(TREE, ["b"]) == ([("b", "a")], [("d", "a")])
    assert heirs(TREE, ["x"]) == ([], [])


def message(id: str, role: str, *texts: str, **more: Any) -> dict[str, Any]:
    return item(id, None, type="message", role=role, content=list(texts), **more)


def test_history_joins_a_message_with_the_one_that_continues_it() -> None:
    path = [
        message("q", "user", "Hi"),
        message("a", "assistant", "He"),
        item("r", "a", type="reasoning"),
        message("b", "assistant", "ll", continues="a"),
        message("c", "assistant", "o", continues="b"),
        message("d", "assistant", "x", continues="gone"),
        message("e", "assistant"),
        message("p", "user", "?"),
    ]
    joined = [(item["id"], item.get("content")) for item in as_history(path)]
    assert joined == [("q", ["Hi"]), ("c", ["He", "ll", "o"]), ("d", ["x"]), ("p", ["?"])]


def test_history_joins_a_message_with_a_message_of_the_assistant_right_before_it_alone() -> None:
    call = item("f", None, type="function_call")
    path = [
        message("q", "user", "Hi"),
        call,
        message("a", "assistant", "x", continues="q"),
        message("b", "assistant", "y", continues="f"),
        message("p", "user", "?"),
        message("c", "assistant", "z", continues="b"),
    ]
    assert as_history(path) == path


class Counted(str):
    """An id that counts its comparisons."""

    compared = 0
    __hash__ = str.__hash__

    def __eq__(self, other: object) -> bool:
        Counted.compared += 1
        return str.__eq__(self, other)


def test_history_takes_as_many_steps_as_it_has_items() -> None:
    path = [message(Counted(at), "assistant", "x", continues=Counted(at - 1)) for at in range(1000)]
    (joined,) = as_history(path)
    assert (joined["id"], len(joined["content"])) == ("999", 1000)
    apart = [message(Counted(at), "assistant", "x", continues="x") for at in range(1000)]
    assert len(as_history(apart)) == 1000
    assert Counted.compared < 10_000
    assert path[0]["content"] == ["x"], "the items stay as they are"
