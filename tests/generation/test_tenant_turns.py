"""The order of items that wait: tenants take turns."""

from __future__ import annotations

from generation.tenant_turns import TenantTurns


def turns_of(*items: str) -> TenantTurns[str]:
    turns: TenantTurns[str] = TenantTurns()
    for item in items:
        turns.add(item[0], item)
    return turns


def test_items_of_a_tenant_come_in_their_order_and_tenants_take_turns() -> None:
    turns = turns_of("a1", "a2", "a3", "b1")
    taken = [turns.take(), turns.take()]
    turns.add("c", "c1")
    turns.add("b", "b2")
    taken += [turns.take() for _ in range(5)]
    assert taken == ["a1", "b1", "a2", "c1", "b2", "a3", None]


def test_the_first_item_is_the_one_that_is_taken_next() -> None:
    turns = turns_of("a1", "a2", "b1")
    for expected in ("a1", "b1", "a2"):
        assert turns.first() == expected
        assert turns.take() == expected
    assert turns.first() is None


def test_an_item_that_is_removed_leaves_the_order_of_the_others() -> None:
    turns = turns_of("a1", "a2", "b1", "c1")
    turns.remove("a", "a1")
    turns.remove("b", "b1")
    assert [turns.take() for _ in range(3)] == ["a2", "c1", None]
