"""The check of the committed build, and the committed build itself where no Node is needed."""

from __future__ import annotations

import re

from api.operations.ui_files import FOLDER
from tests.ui.built_files import differences, foreign_addresses, over_budget, read_files


def test_a_changed_a_missing_and_an_added_file_are_reported() -> None:
    committed = {"same": b"1", "changed": b"1", "old": b"1"}
    fresh = {"same": b"1", "changed": b"2", "new": b"1"}
    assert differences(committed, fresh) == [
        "new is missing",
        "old is not part of a fresh build",
        "changed differs from a fresh build",
    ]
    assert differences(fresh, fresh) == []


def test_a_build_over_its_budget_is_reported() -> None:
    files = {"a.js": bytes(range(256)), "b.css": bytes(range(256)), "c.txt": bytes(range(256))}
    assert over_budget(files, 1000) == []
    assert "the budget is 400" in over_budget(files, 400)[0]


def test_an_address_of_another_origin_is_reported() -> None:
    files = {
        "a.js": b'fetch("https://cdn.example/x"); n="http://www.w3.org/2000/svg"; // a comment',
        "b.html": b'<script src="//evil.example/a.js"></script>',
        "c.css": b"a { background: url(wss://x.example) } /* ok */",
        "LICENSES.txt": b"https://licences.example/",
    }
    found = foreign_addresses(files)
    assert found == [
        "a.js refers to https://cdn.example/x",
        "b.html refers to //evil.example/a.js",
        "c.css refers to wss://x.example",
    ]


def test_the_committed_build_is_small_and_refers_to_its_own_origin_only() -> None:
    files = read_files(FOLDER)
    assert {"index.html", "LICENSES.txt", "favicon.svg", "_app/version.json"} <= set(files)
    assert over_budget(files) == []
    assert foreign_addresses(files) == []


def test_each_page_has_one_inline_script_and_no_inline_style() -> None:
    pages = {name: data for name, data in read_files(FOLDER).items() if name.endswith(".html")}
    for name, data in pages.items():
        assert len(re.findall(rb"<script\b", data)) == len(re.findall(rb"<script>", data)) == 1, name
        assert not re.search(rb"<style|\sstyle=|\son\w+=|javascript:", data), name


def test_no_source_stores_a_key() -> None:
    sources = FOLDER.parents[2] / "ui" / "src"
    named = {
        path.name for path in sources.rglob("*") if path.is_file() and b"localStorage" in path.read_bytes()
    }
    assert named == {"preferences.ts"}
