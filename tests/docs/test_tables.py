"""The generated tables of docs/ are up to date."""

from __future__ import annotations

import pytest

from tests.docs.page import MAX_LINE, MAX_ROW, PAGES, Table, read, rows, with_fresh_tables
from tests.docs.tables import tables


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_generated_tables_are_up_to_date(page):
    text = page.read_text(encoding="utf-8")
    assert text == with_fresh_tables(text, tables()), (
        "run `python -m tests.docs`, then write what is new into its last column"
    )


def test_each_table_is_in_exactly_one_page():
    text = "".join(page.read_text(encoding="utf-8") for page in PAGES)
    assert {name: text.count(f"<!-- generated: {name} -->\n") for name in tables()} == dict.fromkeys(
        tables(), 1
    )


@pytest.mark.parametrize("name", ["api.md", "configuration.md"])
def test_every_row_has_a_meaning(name):
    empty = [row[0] for row in rows(read(name)) if not row[-1]]
    assert not empty, f"write what they mean into the last column of docs/{name}"


def test_handwritten_cells_are_preserved_and_obsolete_rows_removed():
    head = "a\n<!-- generated: t -->\n| x | m |\n| --- | --- |\n"
    foot = "<!-- end of t -->\nb\n"
    table = Table(("x", "m"), [("`2`",), ("`3`",)], written=True)
    before = f"{head}| `1` | one |\n| `2` | two |\n{foot}"
    assert with_fresh_tables(before, {"t": table}) == f"{head}| `2` | two |\n| `3` | |\n{foot}"


def test_a_long_cell_continues_below_its_table_and_is_read_as_one_cell():
    sentences = ("It is long, " + "very " * 20 + "long.", "It goes on, " + "much " * 20 + "longer.")
    table = Table(("x", "m"), [("`1`", "short"), ("`2`", " ".join(sentences))])
    text = with_fresh_tables("<!-- generated: t -->\n<!-- end of t -->\n", {"t": table})
    assert max(map(len, text.splitlines())) <= MAX_ROW
    assert rows(text) == [("x", "m"), *table.rows]
    with pytest.raises(ValueError, match="not enough values"):
        rows(text.replace("- `2`: ", "- `3`: "))


def test_a_handwritten_cell_that_continues_below_is_preserved():
    before = (
        "<!-- generated: t -->\n| x | m |\n| --- | --- |\n| `1` | one; two (more below) |\n\n"
        "- `1`: three,\n  four\n<!-- end of t -->\n"
    )
    fresh = with_fresh_tables(before, {"t": Table(("x", "m"), [("`1`",)], written=True)})
    assert rows(fresh) == [("x", "m"), ("`1`", "one; two; three, four")]


def test_a_table_as_a_list_is_read_as_rows():
    table = Table(
        ("x", "first", "second"), [("`1`", "a `b` " * 30, "c"), ("two", "d", "`e: f`")], listed=True
    )
    text = with_fresh_tables("<!-- generated: t -->\n<!-- end of t -->\n", {"t": table})
    assert max(map(len, text.splitlines())) <= MAX_LINE
    assert rows(text) == [tuple(cell.strip() for cell in row) for row in table.rows]
