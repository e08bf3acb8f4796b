"""Integers between two bounds, as JSON values and as texts, and how a message names them."""

from __future__ import annotations

from typing import TypeGuard

MAX_DIGITS = 10
"""Of a text. Python takes quadratic time for long ones."""


def is_integer(value: object, minimum: float | None = None, maximum: float | None = None) -> TypeGuard[int]:
    """Whether a JSON value is an integer within the bounds, both inclusive; true, false and 1.0 are none."""
    return type(value) is int and is_within(value, minimum, maximum)


def read_integer(text: str, minimum: int, maximum: int) -> int:
    """Return the integer that a text of ASCII digits stands for, if it is within the bounds, both inclusive.

    Raises `ValueError`: "must be an integer from 1 to 5".
    """
    if text.isascii() and text.isdigit() and len(text) <= MAX_DIGITS and minimum <= int(text) <= maximum:
        return int(text)
    raise ValueError(f"must be an integer{bounds(minimum, maximum)}")


def is_within(value: float, minimum: float | None, maximum: float | None) -> bool:
    """Whether a number is within the bounds, both inclusive; None: there is none."""
    return (minimum is None or value >= minimum) and (maximum is None or value <= maximum)


def bounds(minimum: float | None, maximum: float | None) -> str:
    """The end of the phrase "an integer from 1 to 5" or "of at least 1"; empty without bounds."""
    if minimum is not None and maximum is not None:
        return f" from {minimum} to {maximum}"
    if minimum is not None:
        return f" of at least {minimum}"
    return f" of at most {maximum}" if maximum is not None else ""
