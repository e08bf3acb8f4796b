"""`python -m tests.ui.built_files FOLDER`: compares a fresh build of the UI with the committed one.

It also checks that each page stays small, and that the files refer to nothing of another origin.
"""

from __future__ import annotations

import gzip
import posixpath
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from api.operations.ui_files import FOLDER
from config.settings import ROOT

CHAT_BUDGET_BYTES = 180 * 1024
ADMIN_BUDGET_BYTES = 160 * 1024
"""The most that the scripts and styles which a page loads at once may have, compressed."""

CHAT_PAGES = ("index.html", "settings.html")

LATER_BUDGETS_BYTES = {b"temml": 55 * 1024, b"hljs": 50 * 1024, b"PDFWorker": 520 * 1024}
"""The same for what the chat loads when it is needed, by a name in it: formulas, colours of code, PDFs."""

OTHER_LATER_BYTES = 16 * 1024
"""The same for all else that is loaded later: a dialog, the words of a language."""

KNOWN_ADDRESSES = (
    "http://www.w3.org/",
    "http://ns.adobe.com/",
    "http://www.xfa.org/schema/",
    "http://www.apache.org/licenses/",
    "https://svelte.dev/e/",
    "https://github.com/highlightjs/highlight.js/",
    "https://github.com/markedjs/marked",
)
"""Addresses in scripts that are never fetched: names of XML namespaces, and those in messages of packages."""

BASES_IN_PDF_JS = ("http://example.com", "https://foo.bar")
"""Whole addresses in pdf.js, which it puts before relative ones to check whether they are valid."""

_NAMED = re.compile(r'(?:\bhref=|\bimport\()"([^"]+\.(?:js|css))"')
_IMPORTED = re.compile(r'\b(?:import|from)"(\.[^"]+)"')
"""The files that a page names, and those that a script imports statically (as Rollup writes it)."""

_LATER = re.compile(
    r'\bimport\("(\.[^"]+)"\)(?:,__vite__mapDeps\(\[([\d,]*)\]\))?|\bnew URL\("(\.[^"]+)",import\.meta\.url\)'
)
_NEEDED = re.compile(r"\bm\.f=\[([^\]]*)\]")
"""What a script loads later: another one with what it needs (places in a list of the importer), or a file."""

ADDRESS = re.compile(r"""(?:\b(?:https?|wss?):)?//[a-z0-9-]+(?:\.[a-z0-9-]+)+[^\s"'`)<]*""", re.IGNORECASE)


def read_files(folder: Path) -> dict[str, bytes]:
    """The content of all files below the folder, by their paths."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def differences(committed: Mapping[str, bytes], fresh: Mapping[str, bytes]) -> list[str]:
    """A line for each file that is missing, added or changed in the committed build."""
    lines = [f"{name} is missing" for name in sorted(fresh.keys() - committed.keys())]
    lines += [f"{name} is not part of a fresh build" for name in sorted(committed.keys() - fresh.keys())]
    both = sorted(fresh.keys() & committed.keys())
    return lines + [f"{name} differs from a fresh build" for name in both if fresh[name] != committed[name]]


def loaded_by(files: Mapping[str, bytes], page: str) -> set[str]:
    """The scripts and styles that the page loads at once: those that it names, and their static imports."""
    return _with_imports(files, {_beside(page, address) for address in _NAMED.findall(files[page].decode())})


def loaded_later(files: Mapping[str, bytes], page: str) -> dict[str, set[str]]:
    """What comes with each script or file that the page loads later, without what it has, and other pages."""
    loaded = loaded_by(files, page)
    found: dict[str, set[str]] = {}
    for name in sorted(loaded):
        for later, needed in _later(files, name):
            if "/nodes/" not in later:
                found[later] = _all_later(files, {later, *needed}, loaded)
    return found


def _all_later(files: Mapping[str, bytes], names: set[str], loaded: set[str]) -> set[str]:
    found = _with_imports(files, names) - loaded
    for name in sorted(found):
        for later, needed in _later(files, name):
            if later not in found | loaded:
                found |= _all_later(files, {later, *needed}, loaded | found)
    return found


def _later(files: Mapping[str, bytes], importer: str) -> Iterator[tuple[str, set[str]]]:
    """The scripts and files that a script loads later, each with what it needs."""
    text = files[importer].decode() if importer.endswith(".js") else ""
    listed = [address.strip('"') for addresses in _NEEDED.findall(text) for address in addresses.split(",")]
    for script, places, file in _LATER.findall(text):
        needed = {_beside(importer, listed[int(place)]) for place in places.split(",") if place}
        yield _beside(importer, script or file), needed


def _with_imports(files: Mapping[str, bytes], names: set[str]) -> set[str]:
    """The files, and all that they import statically."""
    waiting, found = set(names), set[str]()
    while waiting:
        name = waiting.pop()
        found.add(name)
        if name.endswith(".js"):
            waiting |= {_beside(name, other) for other in _IMPORTED.findall(files[name].decode())} - found
    return found


def _beside(importer: str, address: str) -> str:
    return posixpath.normpath(posixpath.join(posixpath.dirname(importer), address))


def compressed_size(files: Mapping[str, bytes], names: Iterable[str]) -> int:
    """The bytes that the files have on the way to a browser."""
    return sum(len(gzip.compress(files[name], mtime=0)) for name in names)


def over_budget(
    files: Mapping[str, bytes], chat: int = CHAT_BUDGET_BYTES, admin: int = ADMIN_BUDGET_BYTES
) -> list[str]:
    """A line for each page whose scripts and styles, compressed, are larger than its budget (bytes)."""
    lines = []
    for page in sorted(name for name in files if name.endswith(".html")):
        budget = chat if page in CHAT_PAGES else admin
        size = compressed_size(files, loaded_by(files, page))
        if size > budget:
            lines.append(
                f"the scripts and styles of {page} have {size} bytes, compressed; the budget is {budget}"
            )
    return lines


def over_later_budgets(files: Mapping[str, bytes], page: str = "index.html") -> list[str]:
    """A line for each part that the page loads later which is larger, compressed, than its budget."""
    lines = []
    for name, part in loaded_later(files, page).items():
        marked = [
            size for mark, size in LATER_BUDGETS_BYTES.items() if any(mark in files[one] for one in part)
        ]
        budget, size = max(marked, default=OTHER_LATER_BYTES), compressed_size(files, part)
        if size > budget:
            lines.append(
                f"{name}, loaded later by {page}, has {size} bytes, compressed; the budget is {budget}"
            )
    return lines


def foreign_addresses(files: Mapping[str, bytes]) -> list[str]:
    """A line for each address of another origin in a page, a script or a style."""
    return [
        f"{name} refers to {address}"
        for name, data in sorted(files.items())
        if name.endswith((".css", ".html", ".js", ".mjs"))
        for address in ADDRESS.findall(data.decode())
        if not address.startswith(KNOWN_ADDRESSES)
        if not (address in BASES_IN_PDF_JS and b"PDFWorker" in data)
    ]


def untracked(folder: Path, files: Mapping[str, bytes]) -> list[str]:
    """A line for each file that git does not know; none outside a clone."""
    if not (ROOT / ".git").exists():
        return []
    listed = subprocess.run(
        ["git", "-C", str(folder), "ls-files", "-z"],  # noqa: S607 - that of the PATH
        check=True,
        capture_output=True,
        text=True,
    )
    return [f"{name} is not in git" for name in sorted(set(files) - set(listed.stdout.split("\0")))]


def main(fresh: Path) -> int:
    """Print all problems of the committed build. Returns the exit code."""
    committed = read_files(FOLDER)
    problems = differences(committed, read_files(fresh)) + untracked(FOLDER, committed)
    problems += over_budget(committed) + over_later_budgets(committed) + foreign_addresses(committed)
    for problem in problems:
        print(f"api/static/ui: {problem}", file=sys.stderr)
    if problems:
        print("`make ui` builds it again; commit the result.", file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
