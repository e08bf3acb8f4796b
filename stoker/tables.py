"""Formats rows as the lines of a table."""

from __future__ import annotations

from collections.abc import Sequence


def align(rows: Sequence[tuple[str, ...]]) -> list[str]:
    """Format rows as lines, each column as wide as its widest cell."""
    widths = [max(len(row[at]) for row in rows) for at in range(len(rows[0]))]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    ]
