"""Every Markdown page of the project: short table rows, lists that are lists, links with targets."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from config.settings import ROOT
from tests.docs.page import DOCS, FENCE, MAX_ROW, rows
from tests.docs.test_file_names import PAGES

LINK = re.compile(r"\[[^\]]+\]\(([^)\s]+)\)")
ITEM_NUMBER = re.compile(r"(?:^|(?<= ))(\d+)\. ")
every_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))


def text_of(page: Path) -> str:
    """The page without its code blocks."""
    return FENCE.sub("", page.read_text(encoding="utf-8"))


def collapsed_lists(text: str) -> list[str]:
    """Lines in which an item of a list follows another text: in a numbered list, or after a dash."""
    found, number = [], 0
    for line in text.splitlines():
        if line.startswith(("|", "#", "    ")):
            continue
        plain = re.sub(r"`[^`]*`", "``", line)
        if not plain.strip():
            number = 0
        for match in ITEM_NUMBER.finditer(plain):
            begins_line = not plain[: match.start()].strip()
            if begins_line or (number and int(match[1]) == number + 1):
                number = int(match[1])
                found += [] if begins_line else [line]
        if re.search(r"[^\s-] +[-*] +\S", plain):
            found.append(line)
    return found


def anchors(text: str) -> set[str]:
    titles = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def linked_files(page: Path) -> set[Path]:
    links = (link.partition("#")[0] for link in LINK.findall(page.read_text(encoding="utf-8")))
    return {(page.parent / link).resolve() for link in links if link and not link.startswith("https://")}


@every_page
def test_no_table_row_is_longer_than_200_characters(page: Path) -> None:
    assert [line for line in text_of(page).splitlines() if line.startswith("|") and len(line) > MAX_ROW] == []


@every_page
def test_each_cell_that_continues_below_has_its_text_there(page: Path) -> None:
    assert [row for row in rows(text_of(page)) if "(more below)" in "".join(row)] == []


@every_page
def test_no_list_is_collapsed_into_a_paragraph(page: Path) -> None:
    assert collapsed_lists(text_of(page)) == []


@every_page
def test_every_link_has_a_target(page: Path) -> None:
    for link in LINK.findall(text_of(page)):
        if link.startswith(("https://", "http://")):
            continue  # tests run without the internet
        file, _, anchor = link.partition("#")
        target = page.parent / file if file else page
        assert target.exists(), link
        assert not anchor or anchor in anchors(target.read_text(encoding="utf-8")), link


def test_every_page_of_docs_is_reachable_from_its_index() -> None:
    assert DOCS / "README.md" in linked_files(ROOT / "README.md")
    found, new = set(), {DOCS / "README.md"}
    while new:
        found |= new
        new = {link for page in new for link in linked_files(page) if link.suffix == ".md"} - found
    assert set(DOCS.rglob("*.md")) <= found


def test_the_index_of_docs_has_eight_entries() -> None:
    lines = (DOCS / "README.md").read_text(encoding="utf-8").splitlines()
    entries = [line for line in lines if line and not line.startswith("#")]
    assert len(entries) == 8
    assert all(re.fullmatch(r"- \[[\w ]+\]\(\S+\): [^.]+\.", entry) for entry in entries)


def test_a_collapsed_list_is_found() -> None:
    assert collapsed_lists("1. One thing. 2. Another one.\n")
    assert collapsed_lists("1. One thing is\nlong. 2. Another one.\n")
    assert collapsed_lists("- one thing - another one\n")
    assert not collapsed_lists("1. One thing.\n2. Another one, with Redis 7.\n   It follows 1. The end.\n")
    assert not collapsed_lists("| a - b |\nas in version 3. Then `a - b`\n\n    make -j 2 - 1\n")
