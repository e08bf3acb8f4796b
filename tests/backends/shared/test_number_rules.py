"""Grammar expressions of numbers within bounds: each text that they allow is within them."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backends.shared.engine.gbnf import SchemaError
from backends.shared.engine.number_rules import number_within


def matches(expression: str, text: str) -> bool:
    """Whether the expression allows a text: its notation is that of regular expressions, but for quotes."""
    parts = re.sub(r'"([^"]*)"', lambda found: re.escape(found[1]), expression)
    return re.fullmatch(parts.replace(" ", ""), text) is not None


@given(st.integers(-2000, 2000), st.integers(0, 2000), st.integers(-4100, 4100))
def test_the_integers_of_an_expression_are_those_within_the_bounds(low: int, size: int, value: int) -> None:
    found = number_within({"minimum": low, "maximum": low + size}, whole=True)
    for one in (value, low - 1, low, low + size, low + size + 1):
        assert matches(found, str(one)) is (low <= one <= low + size)


@given(
    st.decimals(-300, 300, places=3),
    st.decimals(0, 300, places=2),
    st.decimals(-650, 650, places=2),
    st.booleans(),
)
def test_the_numbers_of_an_expression_are_within_the_bounds(low, size, value, exclusive) -> None:
    low_name, high_name = ("exclusiveMinimum", "exclusiveMaximum") if exclusive else ("minimum", "maximum")
    bounds = {low_name: float(low), high_name: float(low + size)}
    try:
        found = number_within(bounds, whole=False)
    except SchemaError:
        assert size < 1
        return
    for one in (value, low, low + size):
        inside = low < one < low + size if exclusive else low <= one <= low + size
        text = f"{one:f}"
        negative_zero = text.startswith("-0.") and not text.strip("-0.")
        assert matches(found, text) is (inside and not negative_zero)


def test_an_expression_stays_small_when_its_bounds_are_far_apart() -> None:
    largest = 10**15 - 1
    assert len(number_within({"minimum": 3, "maximum": largest}, whole=True)) < 60
    assert len(number_within({"minimum": -largest, "maximum": largest}, whole=False)) < 2000
    assert matches(number_within({"minimum": 3, "maximum": largest}, whole=True), str(largest))


def test_bounds_without_a_number_between_them_are_refused() -> None:
    with pytest.raises(SchemaError):
        number_within({"exclusiveMinimum": 1, "maximum": 1}, whole=True)
