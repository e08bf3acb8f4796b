"""A page of docs/: its blocks of code, and the tables that are generated into it.

A generated table stands between two comments:

    <!-- generated: errors -->
    | code | ... | meaning |
    <!-- end of errors -->

Where a table is `written` by hand in part, that is its last column: it is kept, row by row.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from config.settings import ROOT

DOCS = ROOT / "docs"
PAGES = tuple(DOCS / name for name in ("api.md", "configuration.md", "operations.md", "runtimes.md"))

FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
CODE = re.compile(r"``([^`].*?)``|`([^`]+)`")
LINE = re.compile(r"^\|(.+)\|$", re.MULTILINE)
BAR = re.compile(r"(?<!\\)\|")

Row = tuple[str, ...]


@dataclass(frozen=True)
class Table:
    """What the code knows of a table: its columns, and the rows without the cell that is written by hand."""

    columns: Sequence[str]
    rows: Sequence[Row]
    written: bool = False


def read(name: str) -> str:
    """A page of docs/."""
    return (DOCS / name).read_text(encoding="utf-8")


def section(text: str, title: str) -> str:
    """What stands under a headline, up to the next one of its level or above."""
    level, rest = re.search(rf"^(#+) {re.escape(title)}\n(.*)", text, re.DOTALL | re.MULTILINE).groups()  # type: ignore[union-attr]  # a title that is gone fails the test
    return re.split(rf"^#{{1,{len(level)}}} ", rest, maxsplit=1, flags=re.MULTILINE)[0]


def blocks(text: str, language: str) -> list[str]:
    """The fenced blocks of that language."""
    return [body for kind, body in FENCE.findall(text) if kind == language]


def code(text: str) -> list[str]:
    """All that stands in code type in running text or a cell."""
    return [one or other for one, other in CODE.findall(FENCE.sub("", text))]


def rows(text: str) -> list[Row]:
    """The rows of all tables in a text, heads included, the lines of dashes below them not."""
    found = [tuple(cell.strip() for cell in BAR.split(line)) for line in LINE.findall(text)]
    return [row for row in found if set("".join(row)) - set("-: ")]


def fresh(text: str, tables: Mapping[str, Table]) -> str:
    """The page with the tables that it has brought up to date."""
    for name, table in tables.items():
        begin, end = f"<!-- generated: {name} -->\n", f"<!-- end of {name} -->"
        if begin in text:
            before, _, rest = text.partition(begin)
            old, _, after = rest.partition(end)
            text = f"{before}{begin}{_markdown(table, old)}{end}{after}"
    return text


def _markdown(table: Table, old: str) -> str:
    kept = {row[0]: row[-1] for row in rows(old)}
    body = [(*row, kept.get(row[0], "")) if table.written else row for row in table.rows]
    lines = [tuple(table.columns), ("---",) * len(table.columns), *body]
    return "".join(f"|{''.join(f' {cell} |' if cell else ' |' for cell in line)}\n" for line in lines)
