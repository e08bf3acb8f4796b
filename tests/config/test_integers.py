"""Integers between two bounds, as JSON values and as texts."""

from __future__ import annotations

import pytest

from config.integers import bounds, is_integer, read_integer


@pytest.mark.parametrize(("text", "expected"), [("1", 1), ("5", 5), ("03", 3), ("0000000005", 5)])
def test_text_of_digits_within_the_bounds_is_read(text: str, expected: int) -> None:
    assert read_integer(text, 1, 5) == expected


@pytest.mark.parametrize(
    "text", ["", "0", "6", "-1", "+1", " 1", "1_0", "1.0", "1e0", "x", "\u0661", "\u00b9", "1" * 5000]
)
def test_other_text_is_an_error_with_the_bounds(text: str) -> None:
    with pytest.raises(ValueError, match=r"^must be an integer from 1 to 5$"):
        read_integer(text, 1, 5)


@pytest.mark.parametrize("value", [1, 5, 3])
def test_integer_within_the_bounds_is_one(value: int) -> None:
    assert is_integer(value, 1, 5)
    assert is_integer(value)


@pytest.mark.parametrize("value", [0, 6, True, False, 1.0, "1", None, [1]])
def test_other_value_is_none(value: object) -> None:
    assert not is_integer(value, 1, 5)


def test_bounds_are_named_as_far_as_there_are_any() -> None:
    assert [bounds(1, 5), bounds(1, None), bounds(None, 5), bounds(None, None)] == [
        " from 1 to 5",
        " of at least 1",
        " of at most 5",
        "",
    ]
