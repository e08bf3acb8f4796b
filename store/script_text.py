"""The text of a Lua script: one file per command, in which `-- include: folder/name` lines insert others.

A script names its arguments (`store/script_arguments.py`); included functions get them as parameters.
A folder owns what it includes: an include names a file of its own folder or of one below it (tested).
"""

from __future__ import annotations

import re
from collections import Counter
from functools import cache
from pathlib import Path

from store.script_arguments import ScriptArguments, parse_arguments

ROOT = Path(__file__).parent.parent
INCLUDE = re.compile(r"^-- include: (\w+(?:/\w+)*)$", re.MULTILINE)

COMMENT = re.compile(r"--.*")
WORD = re.compile(r"\w+")
DEFINITION = re.compile(r"^local function (\w+)\((?:.*\bend|.*(?:\n(?!end$).*)*\nend)$", re.MULTILINE)

FUNCTION = "-- Called as a function of Redis"


def read(path: Path) -> str:
    """Return the text of a file; tests that plant bugs replace it."""
    return path.read_text()


@cache
def is_function(path: Path) -> bool:
    """Whether a script is called as a function of Redis: its head says so, since the calls are many."""
    return FUNCTION in read(path)


def included(name: str) -> str:
    """Return the text of a file of shared functions: `store/base` is `store/lua/include/base.lua`."""
    folder, _, file = name.rpartition("/")
    return read(ROOT / folder / "lua" / "include" / f"{file}.lua")


@cache
def arguments_of(path: Path) -> ScriptArguments:
    """Return the arguments that the head of a script names. Raises `ValueError`."""
    return parse_arguments(path.stem, read(path))


def own_text(path: Path) -> str:
    """Return a script's text without its includes. Raises `ValueError` for an unknown argument."""
    return arguments_of(path).insert(read(path))


@cache
def source(path: Path) -> str:
    """Return a script's text with its includes inserted, each once, where it is named first.

    Functions that the script does not use are left out: Lua allows 200 local variables.
    """
    seen: set[str] = set()

    def include(match: re.Match[str]) -> str:
        name = match[1]
        if name in seen:
            return ""
        seen.add(name)
        return INCLUDE.sub(include, included(name))

    return without_unused_functions(INCLUDE.sub(include, own_text(path)))


def without_unused_functions(text: str) -> str:
    """Return a script's text without the functions that it does not use, one by one."""
    uses = Counter(WORD.findall(COMMENT.sub("", text)))
    definitions = {match[1]: match for match in DEFINITION.finditer(text)}
    unused = [name for name in definitions if uses[name] == 1]
    removed = []
    while unused:
        match = definitions.pop(unused.pop())
        removed.append(match.span())
        for word, count in Counter(WORD.findall(COMMENT.sub("", match[0]))).items():
            uses[word] -= count
            if uses[word] == 1 and word in definitions:
                unused.append(word)
    for start, end in sorted(removed, reverse=True):
        text = text[:start] + text[end:]
    return text
