"""The arguments of a Lua script by name. The head of the script has their order: `-- args: id tenant known..`

In the script, `args.id` stands for `ARGV[2]`, and `first.known` for 4: the place of the first value of an
open-ended rest, which is always the last argument. Both are replaced when the script is read, so a name costs
a call nothing. `ARGV[1]` is the offset of the clock (`store/lua/include/base.lua`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Any

Argument = str | bytes | int | float
NamedArguments = Mapping[str, Argument | Sequence[Argument]]
"""The values of a script's arguments; that of an open-ended rest is a sequence."""

LINE = re.compile(r"^-- args: (.*)$", re.MULTILINE)
USE = re.compile(r"\b(args|first)\.(\w+)")
FIRST = 2
"""The place of the first argument in ARGV."""


@dataclass(frozen=True)
class ScriptArguments:
    """The names of a script's arguments in their order; `rest` is the open-ended last one, or ""."""

    script: str
    names: tuple[str, ...]
    rest: str = ""
    _values: Any = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Make what reads the values, once. Raises `ValueError` when a name occurs twice."""
        if len(set(self.names)) < len(self.names):
            raise ValueError(f"{self.script}: an argument is named twice")
        values = itemgetter(*self.names) if len(self.names) > 1 else self._few_values
        object.__setattr__(self, "_values", values)

    def in_order(self, arguments: NamedArguments) -> tuple[Argument, ...]:
        """Return the values in their order. Raises `TypeError` for a missing or an unknown argument."""
        try:
            values: tuple[Any, ...] = self._values(arguments)
        except KeyError:
            raise self._mismatch(arguments) from None
        if len(arguments) != len(values):
            raise self._mismatch(arguments)
        return (*values[:-1], *values[-1]) if self.rest else values

    def insert(self, text: str) -> str:
        """Return a script's text with the places of its arguments. Raises `ValueError` for another name."""
        return USE.sub(self._place, text)

    def _place(self, use: re.Match[str]) -> str:
        kind, name = use[1], use[2]
        if name not in self.names or (kind == "first") != (name == self.rest):
            raise ValueError(f"{self.script}: {use[0]} is not one of its arguments ({' '.join(self.names)})")
        place = self.names.index(name) + FIRST
        return f"ARGV[{place}]" if kind == "args" else str(place)

    def _few_values(self, arguments: NamedArguments) -> tuple[Any, ...]:
        return tuple([arguments[name] for name in self.names])

    def _mismatch(self, arguments: Iterable[str]) -> TypeError:
        given = set(arguments)
        missing = [name for name in self.names if name not in given]
        problems = [
            f"{kind}: {', '.join(names)}"
            for kind, names in (("missing", missing), ("unknown", sorted(given - set(self.names))))
            if names
        ]
        return TypeError(f"arguments of the script {self.script}: {'; '.join(problems)}")


def parse_arguments(script: str, text: str) -> ScriptArguments:
    """Return the arguments that the head of a script names. Raises `ValueError`."""
    words = " ".join(LINE.findall(text)).split()
    *others, last = words or [""]
    if any(word.endswith("..") for word in others):
        raise ValueError(f"{script}: only the last argument may be open-ended")
    rest = last.removesuffix("..") if last.endswith("..") else ""
    return ScriptArguments(script, tuple([word.removesuffix("..") for word in words]), rest)
