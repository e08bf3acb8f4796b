"""The check of the committed build, and the committed build itself where no Node is needed."""

from __future__ import annotations

import hashlib
import re

from api.operations.ui_files import FOLDER
from tests.ui.built_files import (
    compressed_size,
    differences,
    foreign_addresses,
    loaded_by,
    loaded_later,
    over_budget,
    over_later_budgets,
    read_files,
)


def test_a_changed_a_missing_and_an_added_file_are_reported() -> None:
    committed = {"same": b"1", "changed": b"1", "old": b"1"}
    fresh = {"same": b"1", "changed": b"2", "new": b"1"}
    assert differences(committed, fresh) == [
        "new is missing",
        "old is not part of a fresh build",
        "changed differs from a fresh build",
    ]
    assert differences(fresh, fresh) == []


def test_a_page_over_its_budget_is_reported_and_what_it_loads_later_does_not_count() -> None:
    random = bytes(range(33, 127)).decode().replace('"', "")
    files = {
        "index.html": b'<link href="./_app/a.js" rel="modulepreload"><script>import("./_app/a.js")</script>',
        "admin/models.html": b'<link href="../_app/a.css" rel="stylesheet"><link href="../favicon.svg">',
        "favicon.svg": b"",
        "_app/a.js": b'import{x}from"./chunks/b.js";import"./chunks/c.js";import("./chunks/lazy.js")',
        "_app/a.css": random.encode(),
        "_app/chunks/b.js": f'export{{y}}from"./c.js";/*{random}*/'.encode(),
        "_app/chunks/c.js": b'import"../a.js"',
        "_app/chunks/lazy.js": random.encode() * 100,
    }
    scripts = {"_app/a.js", "_app/chunks/b.js", "_app/chunks/c.js"}
    assert loaded_by(files, "index.html") == scripts
    assert loaded_by(files, "admin/models.html") == {"_app/a.css"}
    size = compressed_size(files, scripts)
    assert over_budget(files, chat=size, admin=200) == []
    (line,) = over_budget(files, chat=size - 1, admin=200)
    assert line.startswith(f"the scripts and styles of index.html have {size} bytes")
    assert "admin/models.html" in over_budget(files, admin=10)[0]


def test_a_part_that_is_loaded_later_has_a_budget_of_its_own_without_what_the_page_has_already() -> None:
    files = {
        "index.html": b'<link href="./_app/a.js" rel="modulepreload">',
        "_app/a.js": b'm.f=["./chunks/dialog.js","./b.js","./dialog.css"];import"./b.js";'
        b'load(()=>import("./chunks/dialog.js"),__vite__mapDeps([0,1,2]));import("./nodes/7.js")',
        "_app/b.js": b'import("./chunks/pdf.js")',
        "_app/dialog.css": b"",
        "_app/chunks/dialog.js": b'import"../b.js";import"./table.js"',
        "_app/chunks/table.js": b"",
        "_app/chunks/pdf.js": b'PDFWorker;import("./parser.js");new URL("../worker.mjs",import.meta.url)',
        "_app/chunks/parser.js": b"",
        "_app/worker.mjs": b"",
    }
    dialog = {"_app/chunks/dialog.js", "_app/chunks/table.js", "_app/dialog.css"}
    reader = {"_app/chunks/pdf.js", "_app/chunks/parser.js", "_app/worker.mjs"}
    later = {"_app/chunks/dialog.js": dialog, "_app/chunks/pdf.js": reader}
    assert loaded_later(files, "index.html") == later
    assert over_later_budgets(files) == []
    large = {
        name: hashlib.shake_256(name.encode()).hexdigest(20_000).encode()
        for name in ("_app/chunks/parser.js", "_app/dialog.css")
    }
    (line,) = over_later_budgets(files | large)
    assert line.startswith("_app/chunks/dialog.js, loaded later by index.html, has ")


def test_an_address_of_another_origin_is_reported() -> None:
    files = {
        "a.js": b'fetch("https://cdn.example/x"); n="http://www.w3.org/2000/svg"; // a comment',
        "b.html": b'<script src="//evil.example/a.js"></script>',
        "c.css": b"a { background: url(wss://x.example) } /* ok */",
        "d.mjs": b'PDFWorker;a(b,"http://example.com");fetch("http://example.com/x")',
        "e.js": b'a(b,"http://example.com")',
        "LICENSES.txt": b"https://licences.example/",
    }
    found = foreign_addresses(files)
    assert found == [
        "a.js refers to https://cdn.example/x",
        "b.html refers to //evil.example/a.js",
        "c.css refers to wss://x.example",
        "d.mjs refers to http://example.com/x",
        "e.js refers to http://example.com",
    ]


def test_the_committed_build_is_small_and_refers_to_its_own_origin_only() -> None:
    files = read_files(FOLDER)
    assert {"index.html", "admin.html", "LICENSES.txt", "favicon.svg", "_app/version.json"} <= set(files)
    assert over_budget(files) == over_later_budgets(files) == foreign_addresses(files) == []


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
