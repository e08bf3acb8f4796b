"""The tree that the items of a conversation are: paths, and what a delete changes. Pure.

Each item has its `parent_id`, the id of an item before it; an id that is not there counts as none.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

Json = dict[str, Any]


def path_to(items: Iterable[Json], leaf: str | None) -> list[Json] | None:
    """The items from a root to the one with the id `leaf`; None if there is no such item.

    Without a leaf, the path is empty.
    """
    by_id = {item["id"]: item for item in items}
    path: list[Json] = []
    if leaf is not None and leaf not in by_id:
        return None
    while leaf is not None and (item := by_id.pop(leaf, None)) is not None:
        path.append(item)
        leaf = item["parent_id"]
    return path[::-1]


def latest_path(items: Sequence[Json]) -> list[Json]:
    """The path to the latest item."""
    return path_to(items, items[-1]["id"]) or [] if items else []


def with_descendants(items: Iterable[Json], root: str) -> list[str]:
    """The id of an item and of all that follow it. The items are in the order of their addition."""
    found = {root: None}
    for item in items:
        if item["parent_id"] in found:
            found[item["id"]] = None
    return list(found)


def heirs(items: Iterable[Json], deleted: Iterable[str]) -> tuple[list[tuple[str, str | None]], ...]:
    """What a delete of items changes: for each of them the nearest item above it that stays, None at a root;
    and for each item that stays and follows one of them its new parent."""
    gone = set(deleted)
    heir: dict[str, str | None] = {}
    moved = []
    for item in items:
        id, parent = item["id"], item["parent_id"]
        above = heir.get(parent, parent)
        if id in gone:
            heir[id] = above
        elif parent in gone:
            moved.append((id, above))
    return list(heir.items()), moved


def as_history(path: Iterable[Json]) -> list[Json]:
    """The items of a path as a model gets them.

    A message that continues the one before it is one message with it, without the reasoning between them.
    Messages of the assistant without content, which stand for answers that failed, are left out.
    """
    found: list[Json] = []
    begun = -1  # the place of the latest message of the assistant, if nothing but reasoning follows
    for item in path:
        if item.get("role") != "assistant":
            begun = begun if item.get("type") == "reasoning" else -1
            found.append(item)
        elif item["content"]:
            content = []
            if begun >= 0 and found[begun]["id"] == item.get("continues"):
                content = found[begun]["content"]
                del found[begun:]
            content += item["content"]
            begun = len(found)
            found.append({**item, "content": content})
    return found
