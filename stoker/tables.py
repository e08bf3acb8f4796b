"""Formats rows as the lines of a table, and measures texts in the columns of a terminal."""

from __future__ import annotations

from collections.abc import Sequence


def align(rows: Sequence[tuple[str, ...]]) -> list[str]:
    """Format rows as lines, each column as wide as its widest cell."""
    widths = [max(text_width(row[at]) for row in rows) for at in range(len(rows[0]))]
    return ["  ".join(_fill(*cell) for cell in zip(row, widths, strict=True)).rstrip() for row in rows]


def text_width(text: str) -> int:
    """Return the columns of a terminal that a text takes: two for a wide character, none for an accent."""
    if text.isascii():
        return len(text)
    import wcwidth  # noqa: PLC0415 - it takes 35 ms, and most texts are ASCII

    return wcwidth.width(text)


def cut_to_width(text: str, width: int) -> str:
    """Return the start of a text that fits into `width` columns."""
    if text.isascii():
        return text[:width]
    import wcwidth  # noqa: PLC0415

    return wcwidth.clip(text, 0, width)


def _fill(cell: str, width: int) -> str:
    return cell + " " * (width - text_width(cell))
