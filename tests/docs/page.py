"""The pages of docs/: their code blocks and their generated tables.

A generated table is enclosed in two comments:

    <!-- generated: errors -->
    | code | ... | meaning |
    <!-- end of errors -->

The last column of a `written` table is written by hand: its cells are preserved, row by row.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from config.settings import ROOT

DOCS = ROOT / "docs"
PACKAGES = (
    *("api", "tasks", "workers", "backends", "engines", "fleet", "governance", "scheduler", "streams"),
    *("generation", "store", "telemetry", "config", "stoker"),
)
"""The top-level packages that are installed."""
PAGES = tuple(
    DOCS / name
    for name in (
        *("api.md", "configuration.md", "governance.md", "metrics.md", "operations.md", "runtimes.md"),
        *("clients.md", "fields.md", "several-hosts.md"),
    )
)

FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
CODE = re.compile(r"``([^`].*?)``|`([^`]+)`")
TABLE_LINE = re.compile(r"^\|(.+)\|$", re.MULTILINE)
CELL_BORDER = re.compile(r"(?<!\\)\|")

Row = tuple[str, ...]


@dataclass(frozen=True)
class Table:
    """The generated content of a table: its columns, and its rows without the handwritten cell."""

    columns: Sequence[str]
    rows: Sequence[Row]
    written: bool = False


def read(name: str) -> str:
    """The text of a page of docs/."""
    return (DOCS / name).read_text(encoding="utf-8")


def section(text: str, title: str) -> str:
    """The text of a section, up to the next heading of its level or above."""
    level, rest = re.search(rf"^(#+) {re.escape(title)}\n(.*)", text, re.DOTALL | re.MULTILINE).groups()  # type: ignore[union-attr]  # a missing title fails the test
    return re.split(rf"^#{{1,{len(level)}}} ", rest, maxsplit=1, flags=re.MULTILINE)[0]


def blocks(text: str, language: str) -> list[str]:
    """The fenced code blocks of that language."""
    return [body for kind, body in FENCE.findall(text) if kind == language]


def code(text: str) -> list[str]:
    """All inline code of a text or a cell."""
    return [one or other for one, other in CODE.findall(FENCE.sub("", text))]


def rows(text: str) -> list[Row]:
    """The rows of all tables in a text, with the headers, without the separator lines."""
    found = [tuple(cell.strip() for cell in CELL_BORDER.split(line)) for line in TABLE_LINE.findall(text)]
    return [row for row in found if set("".join(row)) - set("-: ")]


def with_fresh_tables(text: str, tables: Mapping[str, Table]) -> str:
    """The page with up-to-date tables."""
    for name, table in tables.items():
        begin, end = f"<!-- generated: {name} -->\n", f"<!-- end of {name} -->"
        if begin in text:
            before, _, rest = text.partition(begin)
            old, _, after = rest.partition(end)
            text = f"{before}{begin}{_markdown(table, old)}{end}{after}"
    return text


def _markdown(table: Table, old: str) -> str:
    handwritten = {row[0]: row[-1] for row in rows(old)}
    body = [(*row, handwritten.get(row[0], "")) if table.written else row for row in table.rows]
    lines = [tuple(table.columns), ("---",) * len(table.columns), *body]
    return "".join(f"|{''.join(f' {cell} |' if cell else ' |' for cell in line)}\n" for line in lines)
