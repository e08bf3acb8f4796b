"""The files that Markdown pages name in inline code exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from config.settings import ROOT
from tests.docs.page import code

FOLDERS = {path.name for path in ROOT.iterdir() if path.is_dir()}
FILE = re.compile(r"[\w-]+(?:/[\w.-]+)+\.(?:py|lua|json|txt|c|md)(?=:|$)")
PAGES = sorted(
    path
    for path in ROOT.rglob("*.md")
    if not any(part.startswith(".") or part == "node_modules" for part in path.relative_to(ROOT).parts)
)


def named_files(page: Path) -> set[str]:
    """The paths below the project's folders, from the root or from the folder of the page."""
    found = {match[0] for words in code(page.read_text(encoding="utf-8")) if (match := FILE.match(words))}
    return {name for name in found if name.partition("/")[0] in FOLDERS | {"lua", "include"}}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_the_files_that_a_page_names_exist(page: Path) -> None:
    missing = {
        name for name in named_files(page) if not any((base / name).exists() for base in (ROOT, page.parent))
    }
    assert missing == set()


def test_the_pages_name_many_files() -> None:
    assert len({name for page in PAGES for name in named_files(page)}) >= 40
