"""Markdown tables for `docs/benchmarks.md`."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

NONE = ""


def table(rows: Sequence[Sequence[str]]) -> str:
    """A table with the first row as its header; all columns except the first are right-aligned."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]

    def line(cells: Sequence[str]) -> str:
        first, *others = zip(cells, widths, strict=True)
        return " | ".join([first[0].ljust(first[1]), *(cell.rjust(width) for cell, width in others)])

    head, *body = rows
    rule = " | ".join(["-" * widths[0], *("-" * (width - 1) + ":" for width in widths[1:])])
    return "\n".join(f"| {text} |" for text in (line(head), rule, *map(line, body)))


def spread(values: Sequence[float], form: str = "{:.2f}") -> str:
    """The median and the range; empty without values."""
    if not values:
        return NONE
    middle, low, high = map(form.format, (median(values), min(values), max(values)))
    return f"{middle} ({low} to {high})"
