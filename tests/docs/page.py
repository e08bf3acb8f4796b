"""The pages of docs/: their code blocks and their generated tables.

A generated table is enclosed in two comments:

    <!-- generated: errors -->
    | code | ... | meaning |
    <!-- end of errors -->

The last column of a `written` table is written by hand: its cells are preserved, row by row.

A row has at most `MAX_ROW` characters. A cell of a longer one, usually its last, ends with `MORE` and
continues in a list below its table, before the next table or heading:

    | `seed` | the start of the random numbers (more below) |

    - `seed`: the rest of the cell

A table with long cells in several columns is a list instead, whose items are its rows:

    - the first cell
      - **Title of the column:** the second cell
      - **Title of the column:** the third cell
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
        *("clients.md", "command-line.md", "fields.md", "several-hosts.md", "tools.md"),
        *("quick-start-gpu.md", "guides/approver.md", "guides/administrator.md", "guides/operator.md"),
        *("adding-models.md", "gateway.md", "media.md", "people.md", "ui.md"),
    )
)

FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
CODE = re.compile(r"``([^`].*?)``|`([^`]+)`")
TABLE_LINE = re.compile(r"^\|(.+)\|$", re.MULTILINE)
CELL_BORDER = re.compile(r"(?<!\\)\|")
TABLE = re.compile(r"(?:^\|.+\|\n?)+", re.MULTILINE)
AFTER_A_TABLE = re.compile(r"^#|^\|", re.MULTILINE)
LIST_ITEM = re.compile(r"^- (.+(?:\n  .+)*)", re.MULTILINE)
LIST_ROW = re.compile(
    r"^- (.+(?:\n  (?! *- ).+)*)((?:\n  - \*\*.+?:\*\*(?: |\n    ).+(?:\n    .+)*)+)$", re.MULTILINE
)
LIST_CELL = re.compile(r"^  - \*\*.+?:\*\*(?: |\n    )(.+(?:\n    .+)*)", re.MULTILINE)
WORD = re.compile(r"(?:``[^`].*?``|`[^`]+`|\[[^\]]+\]\([^)]+\)|\S)+")
CLAUSE_END = re.compile(r"(?<=[.;]) (?=[^(])")

MAX_ROW = 200
MAX_LINE = 120
MORE = " (more below)"

Row = tuple[str, ...]


@dataclass(frozen=True)
class Table:
    """The generated content of a table: its columns, and its rows without the handwritten cell."""

    columns: Sequence[str]
    rows: Sequence[Row]
    written: bool = False
    listed: bool = False


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
    """The rows of all tables in a text, then those of its lists.

    Headers are rows, separator lines are not. Cells that continue below their table are complete.
    """
    found = []
    for table in TABLE.finditer(text):
        below = AFTER_A_TABLE.split(text[table.end() :], maxsplit=1)[0]
        continued = [_on_one_line(item) for item in LIST_ITEM.findall(below)]
        for line in TABLE_LINE.findall(table[0]):
            row = tuple(cell.strip() for cell in CELL_BORDER.split(line))
            if set("".join(row)) - set("-: "):
                found.append(_complete(row, continued))
    return found + [
        (_on_one_line(first), *map(_on_one_line, LIST_CELL.findall(others)))
        for first, others in LIST_ROW.findall(text)
    ]


def _on_one_line(text: str) -> str:
    return re.sub(r"\n +", " ", text)


def _complete(row: Row, continued: Sequence[str]) -> Row:
    return tuple(_whole_cell(cell, row[0], continued) for cell in row)


def _whole_cell(cell: str, name: str, continued: Sequence[str]) -> str:
    if not cell.endswith(MORE):
        return cell
    (rest,) = (item.removeprefix(f"{name}: ") for item in continued if item.startswith(f"{name}: "))
    begin = cell.removesuffix(MORE)
    return f"{begin} {rest}" if begin.endswith(".") else f"{begin}; {rest}"


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
    if table.listed:
        return "".join(list_row(table.columns, row) for row in body)
    split = [_split(row) for row in body]
    lines = [tuple(table.columns), ("---",) * len(table.columns), *(row for row, _ in split)]
    items = [list_item(f"{row[0]}: {rest}") for row, rest in split if rest]
    return "".join((*map(_line, lines), *(["\n"] if items else []), *items))


def list_row(columns: Sequence[str], row: Row) -> str:
    """A row as an item of a list."""
    cells = (f"**{title}:** {cell}" for title, cell in zip(columns[1:], row[1:], strict=True) if cell)
    return list_item(row[0]) + "".join(list_item(cell, "  ") for cell in cells)


def _line(row: Row) -> str:
    return f"|{''.join(f' {cell} |' if cell else ' |' for cell in row)}\n"


def _split(row: Row) -> tuple[Row, str]:
    """A row of at most `MAX_ROW` characters, and the rest of its last cell."""
    if len(_line(row)) <= MAX_ROW + 1:
        return row, ""
    for end in reversed([match.start() for match in CLAUSE_END.finditer(row[-1])]):
        short = (*row[:-1], f"{row[-1][:end].removesuffix(';')}{MORE}")
        if len(_line(short)) <= MAX_ROW + 1:
            return short, row[-1][end + 1 :]
    raise ValueError(f"a row of over {MAX_ROW} characters has no clause that fits: {row}")


def list_item(text: str, indent: str = "") -> str:
    """An item of a list, wrapped between words, inline code and links."""
    lines = [f"{indent}-"]
    for word in WORD.findall(text):
        if len(lines[-1]) + 1 + len(word) > MAX_LINE:
            lines.append(f"{indent} ")
        lines[-1] += f" {word}"
    return "".join(f"{line}\n" for line in lines)
