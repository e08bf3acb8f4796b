"""The text of a Lua script: one file per command, in which `-- include: name` lines insert others."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

LUA = Path(__file__).parent / "lua"
INCLUDE = re.compile(r"^-- include: (\w+)$", re.MULTILINE)


def read(path: Path) -> str:
    """Return the text of a file; tests that plant bugs replace it."""
    return path.read_text()


def included(name: str) -> str:
    """Return the text of a file of shared functions."""
    return read(LUA / "include" / f"{name}.lua")


@cache
def source(path: Path) -> str:
    """Return a script's text with its includes inserted, each once, where it is named first."""
    seen: set[str] = set()

    def include(match: re.Match[str]) -> str:
        name = match[1]
        if name in seen:
            return ""
        seen.add(name)
        return INCLUDE.sub(include, included(name))

    return INCLUDE.sub(include, read(path))
