"""The test files that a run has to import: not those without a name of the marks that it selects tests by.

Importing all files takes each process of a run 12 seconds of its CPU; `-m hostile` needs a twentieth of them.
A test may have its marks from a class or a constant of another file, as long as its own file has their names.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterable, Iterator

from _pytest.mark.expression import Expression

SELECTING = frozenset({"slow", "engines", "contract", "gpu", "hostile", "browser", "clients", "s3"})
"""The marks by which runs select tests."""

ALL_SLOW = re.compile(r"^pytestmark = .*\bpytest\.mark\.slow\b", re.MULTILINE)
"""In a file whose tests are all slow."""

WORDS = re.compile(r"\w+")
OPERATORS = frozenset({"and", "or", "not"})


def may_be_selected(text: str, expression: str, slow: str) -> bool:
    """Whether a file with this text may have a test that `-m expression --slow slow` selects.

    True for each expression with another mark than those of `SELECTING`.
    """
    if (slow == "without" and ALL_SLOW.search(text)) or (slow == "only" and "slow" not in text):
        return False
    used = set(WORDS.findall(expression)) - OPERATORS
    if not expression or not used <= SELECTING:
        return True
    selects = Expression.compile(expression).evaluate
    return any(selects(_only(marks)) for marks in _subsets(name for name in used if name in text))


def missing_names(text: str, marks: Iterable[str]) -> set[str]:
    """The marks of a file's tests by which runs select them, and whose names this text of the file lacks."""
    return {mark for mark in SELECTING.intersection(marks) if mark not in text}


def _subsets(names: Iterable[str]) -> Iterator[frozenset[str]]:
    ordered = sorted(names)
    for size in range(len(ordered) + 1):
        yield from map(frozenset, itertools.combinations(ordered, size))


def _only(marks: frozenset[str]) -> Callable[..., bool]:
    return lambda name, /, **_: name in marks
