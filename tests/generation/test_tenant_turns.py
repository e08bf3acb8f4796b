"""The order of items that wait: tenants take turns."""

from __future__ import annotations

from generation.tenant_turns import TenantTurns


def turns_of(*items: str) -> TenantTurns[str]:
    turns: TenantTurns[str] = TenantTurns()
    for item in items:
        turns.add(item[0], item)
    return turns


def take_all(turns: TenantTurns[str]) -> list[str]:
    return list(iter(turns.take, None))


def test_items_of_a_tenant_come_in_their_order_and_tenants_take_turns() -> None:
    turns = turns_of("a1", "a2", "a3", "b1")
    taken = [turns.take(), turns.take()]
    turns.add("b", "b2")
    assert [*taken, *take_all(turns)] == ["a1", "b1", "a2", "b2", "a3"]


def test_a_tenant_without_a_turn_in_this_round_comes_before_those_with_many_items() -> None:
    turns = turns_of("a1", "a2", "a3", "b1", "b2", "b3")
    taken = [turns.take(), turns.take(), turns.take()]
    turns.add("c", "c1")
    assert [*taken, *take_all(turns)] == ["a1", "b1", "a2", "c1", "b2", "a3", "b3"]


def test_tenants_with_one_item_at_a_time_do_not_keep_out_those_with_many() -> None:
    turns = turns_of("a1", "a2", "a3", "b1", "c1")
    taken = []
    for number in range(2, 11):
        item = turns.take()
        assert item is not None
        taken.append(item)
        if item[0] != "a":
            turns.add(item[0], f"{item[0]}{number}")
    assert [item[0] for item in taken] == ["a", "b", "c"] * 3


def test_no_tenant_is_kept_when_nothing_waits() -> None:
    turns = turns_of("a1", "b1")
    assert turns.take() == "a1"
    turns.remove("b", "b1")
    assert not turns
    assert turns.take() is None
    turns.add("c", "c1")
    turns.add("a", "a2")
    assert (turns.waiting("a"), turns.waiting("b"), take_all(turns)) == (1, 0, ["c1", "a2"])


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
