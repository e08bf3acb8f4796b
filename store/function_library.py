"""A Lua script as a function library of Redis (Redis documentation, "Redis functions").

EVALSHA runs the whole text of a script at each call: it makes the 90 functions of `step.lua` anew each time,
although most calls need few of them. The functions of a library are made once, when it is loaded.

The same files serve both. Of an included file, each statement at the beginning of a line is one of these:

- a `local function`, or a constant: a `local` whose name is in capitals. The library has them once.
- state of a call: every other `local`, with its first value. The library declares it once, and each call
  assigns that value where the script includes the file. So no call sees the state of another.
- a declaration without a value, of a function that another file defines.

Functions that the script does not use are left out, as from its text: Lua allows 200 local variables.

What the script's own file says is the function itself.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from store import script_text
from store.script_text import INCLUDE

CALL_STATE = frozenset({"P", "NOW"})
"""State of a call whose names are in capitals."""

FLAGS = re.compile(r"#!lua flags=([\w,-]+)\n")
STATEMENT = re.compile(r"^(?=\S)(?!end\b|[})]|--(?! include: ))", re.MULTILINE)
"""Where a statement begins, or an include."""

COMMENTS_AFTER = re.compile(r"(?:\n(?:--[^\n]*)?)+\Z")
ASSIGNMENT = re.compile(r"local ([\w, ]+?) *= *(.*)", re.DOTALL)
DECLARATION = re.compile(r"local \w+(?: *--.*)?")
DEFINITION = re.compile(r"local function |\w+ = function\(")


@dataclass(frozen=True)
class FunctionLibrary:
    """The text of a library with one function; both have the same name, which follows from the text."""

    name: str
    text: str


@cache
def function_library(path: Path) -> FunctionLibrary:
    """Return the library of a script. Raises `ValueError` for an include with any other statement."""
    text, flags = script_text.own_text(path), ""
    if shebang := FLAGS.match(text):
        flags = ", ".join(f"'{flag}'" for flag in shebang[1].split(","))
        text = text[shebang.end() :]
    library = _Library()
    body = library.script(text)
    callback = f"function(keys, args)\nKEYS, ARGV = keys, args\n{body}\nend"
    fields = f"function_name = NAME, flags = {{ {flags} }}, callback = {callback}"
    register = f"redis.register_function{{ {fields} }}\n"
    whole = "\n".join(["local KEYS, ARGV", *library.definitions, register])
    used = script_text.without_unused_functions(whole)
    name = f"{prefix_of(path.stem)}{hashlib.sha256(used.encode()).hexdigest()[:16]}"
    return FunctionLibrary(name, f"#!lua name={name}\nlocal NAME = '{name}'\n{used}")


def prefix_of(script: str) -> str:
    """Return what the names of all versions of a script's library begin with."""
    return f"stoker_{script}_"


class _Library:
    """Divides the includes of a script into what is defined once and what each call does."""

    def __init__(self) -> None:
        self.definitions: list[str] = []
        self._included: set[str] = set()

    def script(self, text: str) -> str:
        """Return the text of the script itself, with the assignments of its includes in their places."""
        return INCLUDE.sub(lambda include: "\n".join(self._include(include[1])), text)

    def _include(self, name: str) -> list[str]:
        """Add a file's definitions, and return its assignments."""
        if name in self._included:
            return []
        self._included.add(name)
        text = script_text.included(name)
        begins = [match.start() for match in STATEMENT.finditer(text)]
        assignments: list[str] = []
        for begin, end in zip(begins, [*begins[1:], len(text)], strict=True):
            assignments += self._statement(COMMENTS_AFTER.sub("", text[begin:end]))
        return assignments

    def _statement(self, statement: str) -> list[str]:
        if include := INCLUDE.match(statement):
            return self._include(include[1])
        if assignment := ASSIGNMENT.match(statement):
            names = assignment[1].split(", ")
            if not all(name.isupper() for name in names) or CALL_STATE.intersection(names):
                self.definitions.append(f"local {assignment[1]}")
                return [statement.removeprefix("local ")]
        elif not DEFINITION.match(statement) and not DECLARATION.fullmatch(statement):
            raise ValueError(f"neither a definition nor an assignment: {statement[:80]}")
        self.definitions.append(statement)
        return []
