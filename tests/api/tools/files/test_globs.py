"""Glob patterns of the search tools."""

from __future__ import annotations

import pytest

from api.tools.files.reading import glob_pattern


@pytest.mark.parametrize(
    ("glob", "path", "matches"),
    [
        ("*.py", "a.py", True),
        ("*.py", "a/b/c.py", True),
        ("*.py", "a.pyc", False),
        ("src/*.py", "src/a.py", True),
        ("src/*.py", "x/src/a.py", True),
        ("src/*.py", "src/b/a.py", False),
        ("/src/*.py", "x/src/a.py", False),
        ("/src/**/*.py", "src/a.py", True),
        ("src/**", "src/b/a.py", True),
        ("**", "a/b", True),
        ("?.[ch]", "a.c", True),
        ("?.[!ch]", "a.c", False),
        ("[a-c].txt", "b.txt", True),
        ("a+b(1).txt", "a+b(1).txt", True),
        ("[", "[", True),
        ("*", "a\nb", True),
    ],
)
def test_a_glob_matches_names_or_paths(glob: str, path: str, matches: bool) -> None:
    assert bool(glob_pattern(glob).fullmatch(path)) is matches
