"""`python -m tests.ui.built_files FOLDER`: compares a fresh build of the UI with the committed one.

It also checks that each page stays small, and that the files refer to nothing of another origin.
"""

from __future__ import annotations

import gzip
import posixpath
import re
import subprocess
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

from api.operations.ui_files import FOLDER
from config.settings import ROOT

CHAT_BUDGET_BYTES = 180 * 1024
ADMIN_BUDGET_BYTES = 160 * 1024
"""The most that the scripts and styles which a page loads at once may have, compressed."""

CHAT_PAGES = ("index.html", "settings.html")

KNOWN_ADDRESSES = (
    "http://www.w3.org/",
    "https://svelte.dev/e/",
    "https://github.com/highlightjs/highlight.js/",
    "https://github.com/markedjs/marked",
)
"""Addresses in scripts that are never fetched: names of XML namespaces, and those in messages of packages."""

_NAMED = re.compile(r'(?:\bhref=|\bimport\()"([^"]+\.(?:js|css))"')
_IMPORTED = re.compile(r'\b(?:import|from)"(\.[^"]+)"')
"""The files that a page names, and those that a script imports statically (as Rollup writes it)."""

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
    waiting = [(page, address) for address in _NAMED.findall(files[page].decode())]
    found: set[str] = set()
    while waiting:
        importer, address = waiting.pop()
        name = posixpath.normpath(posixpath.join(posixpath.dirname(importer), address))
        if name not in found:
            found.add(name)
            if name.endswith(".js"):
                waiting += [(name, other) for other in _IMPORTED.findall(files[name].decode())]
    return found


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


def foreign_addresses(files: Mapping[str, bytes]) -> list[str]:
    """A line for each address of another origin in a page, a script or a style."""
    return [
        f"{name} refers to {address}"
        for name, data in sorted(files.items())
        if name.endswith((".css", ".html", ".js"))
        for address in ADDRESS.findall(data.decode())
        if not address.startswith(KNOWN_ADDRESSES)
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
    problems += over_budget(committed) + foreign_addresses(committed)
    for problem in problems:
        print(f"api/static/ui: {problem}", file=sys.stderr)
    if problems:
        print("`make ui` builds it again; commit the result.", file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
