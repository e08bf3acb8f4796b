"""Grammar expressions of numbers within bounds, in llama.cpp's notation.

A range of integers becomes one alternative for each digit in which a number may leave its bounds, so that the
grammar grows with the digits and not with the range. Numbers with a fraction are integers with a point in
them, with one to six digits behind it: fewer than the bounds allow, and none beyond them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from typing import Any

from .gbnf import SchemaError

MAX_DIGITS = 15  # of which every number is a different one in double precision
LARGEST = 10**MAX_DIGITS - 1
FRACTIONS = range(1, 7)  # digits behind the point
BOUNDS = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum")


def has_bounds(schema: Mapping[str, Any]) -> bool:
    """Whether a schema bounds its numbers."""
    return any(name in schema for name in BOUNDS)


def number_within(schema: Mapping[str, Any], *, whole: bool) -> str:
    """The expression of the numbers, or of the `whole` ones, within a schema's bounds.

    Raises `SchemaError` when there is none.
    """
    ways = list(_integers(*_scaled(schema, 0), point=0))
    if not whole:
        for point in (*FRACTIONS, max(_decimals(schema), 1)):
            ways += _integers(*_scaled(schema, point), point=point)
    if not ways:
        raise SchemaError("there is no number within the bounds of a schema")
    return " | ".join(dict.fromkeys(ways))


def _decimals(schema: Mapping[str, Any]) -> int:
    exponents = [Decimal(str(schema[name])).as_tuple().exponent for name in BOUNDS if name in schema]
    return max((-exponent for exponent in exponents if isinstance(exponent, int)), default=0)


def _scaled(schema: Mapping[str, Any], point: int) -> tuple[int, int]:
    """The least and the largest integer that is within the bounds, when its last digits are a fraction."""
    scale, least, most = Decimal(10) ** point, -LARGEST, LARGEST
    for name in BOUNDS:
        if name not in schema:
            continue
        bound = Decimal(str(schema[name])) * scale
        if name.endswith("inimum"):
            found = int(bound.to_integral_value(ROUND_CEILING))
            least = max(least, found + (name == "exclusiveMinimum" and found == bound))
        else:
            found = int(bound.to_integral_value(ROUND_FLOOR))
            most = min(most, found - (name == "exclusiveMaximum" and found == bound))
    return least, most


def _integers(least: int, most: int, *, point: int) -> Iterator[str]:
    """The alternatives of the integers from `least` to `most`, a point before their last `point` digits."""
    if least < 0 and least <= most:
        for way in _natural(max(1, -most), -least, point):
            yield f'"-" {way}'
    if most >= 0:
        yield from _natural(max(0, least), most, point)


def _natural(least: int, most: int, point: int) -> Iterator[str]:
    """The same for numbers that are not negative; shorter ones have zeros before them up to the point."""
    if least > most:
        return
    width = point + 1
    low, high = str(least).zfill(width), str(most).zfill(width)
    begun = low if low != "1" + "0" * (len(low) - 1) else ""  # the shortest length is not all there
    ended = high if high.strip("9") else ""
    if len(low) == len(high):
        yield from _pointed(_same_length(low, high), point)
        return
    if begun:
        yield from _pointed(_same_length(low, "9" * len(low)), point)
    if ended:
        yield from _pointed(_same_length("1" + "0" * (len(high) - 1), high), point)
    first, last = len(low) + bool(begun), len(high) - bool(ended)
    if first <= last:
        more = f"[1-9] [0-9]{{{first - width},{last - width}}}"
        yield more + (f' "." [0-9]{{{point}}}' if point else "")


def _pointed(ways: Iterator[list[str]], point: int) -> Iterator[str]:
    """The expressions of texts of digits, with a point before the last `point` of them."""
    for digits in ways:
        at = len(digits) - point
        yield " ".join([*digits[:at], *(['"."'] if point else []), *digits[at:]])


def _same_length(low: str, high: str) -> Iterator[list[str]]:
    """The alternatives of the texts of digits from `low` to `high`: for each digit its expression."""
    if not low:
        yield []
        return
    first, last = low[0], high[0]
    if first == last:
        for rest in _same_length(low[1:], high[1:]):
            yield [_digit(first, first), *rest]
        return
    size = len(low) - 1
    any_digits = [_digit("0", "9")] * size
    if low[1:].strip("0"):
        for rest in _same_length(low[1:], "9" * size):
            yield [_digit(first, first), *rest]
        first = str(int(first) + 1)
    if high[1:].strip("9"):
        for rest in _same_length("0" * size, high[1:]):
            yield [_digit(last, last), *rest]
        last = str(int(last) - 1)
    if first <= last:
        yield [_digit(first, last), *any_digits]


def _digit(first: str, last: str) -> str:
    return f'"{first}"' if first == last else f"[{first}-{last}]"
