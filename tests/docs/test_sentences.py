"""Messages have no retired phrases, and docstrings are sentences of their own."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass, field
from functools import cache

import pytest

from config.settings import ROOT
from tests.docs.page import PACKAGES

RETIRED_PHRASES = re.compile(
    r"\bas (?:many|much) as (?:it|they|there)? ?may\b|\bis none of\b|\bis none$"
    r"|\bstands twice\b|\bnot known here\b|\bmissing in the audit chain\b|\bcannot be had\b|\blook into its\b"
    r"|\bwhat \w+(?: \w+)? says\b|\bnobody\b|\bit is no (?:text|number|object)\b"
)
REFERENCE = re.compile(r"(?:See|As|Like|The same as) `[\w.]+`\.?")


Text = tuple[int | str, str]
"""A text, after the line of its begin or its place."""


@dataclass
class Texts:
    """The texts of one or several modules, each with the line of its begin or its place."""

    literals: list[Text] = field(default_factory=list)
    """The string literals without docstrings. An f-string is one text, whose expressions are left out."""
    docstrings: list[Text] = field(default_factory=list)
    """The docstrings of definitions, and the texts below constants."""


def texts_of(tree: ast.Module) -> Texts:
    """The texts of a module, each with the line of its begin."""
    texts = Texts()
    skipped = set()
    constants = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant):
            constants.append(node)
            continue
        if isinstance(node, ast.JoinedStr):
            skipped.update(id(part) for part in node.values)
            parts = [str(part.value) for part in node.values if isinstance(part, ast.Constant)]
            texts.literals.append((node.lineno, "{}".join(parts)))
        body = getattr(node, "body", None)
        for statement in body if isinstance(body, list) else ():
            if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
                skipped.add(id(statement.value))
                texts.docstrings.append((statement.value.lineno, str(statement.value.value)))
    texts.literals += [
        (node.lineno, node.value)
        for node in constants
        if isinstance(node.value, str) and id(node) not in skipped
    ]
    return texts


@cache
def texts_in(package: str) -> Texts:
    """The texts of all modules of a package, each with its place."""
    found = Texts()
    for path in sorted((ROOT / package).rglob("*.py")):
        texts = texts_of(ast.parse(path.read_text(encoding="utf-8")))
        place = path.relative_to(ROOT)
        found.literals += [(f"{place}:{line}", text) for line, text in texts.literals]
        found.docstrings += [(f"{place}:{line}", text) for line, text in texts.docstrings]
    return found


@pytest.mark.parametrize("package", PACKAGES)
def test_messages_have_no_retired_phrases(package: str) -> None:
    literals = texts_in(package).literals
    assert [f"{place}: {text}" for place, text in literals if RETIRED_PHRASES.search(text)] == []


@pytest.mark.parametrize("package", PACKAGES)
def test_docstrings_are_sentences_of_their_own(package: str) -> None:
    docstrings = texts_in(package).docstrings
    assert [f"{place}: {text}" for place, text in docstrings if REFERENCE.fullmatch(text.strip())] == []


def test_a_retired_phrase_is_found_within_an_f_string() -> None:
    tree = ast.parse('def f(n):\n    """See `g`."""\n    return f"{n} readers, as many " "as it may"')
    texts = texts_of(tree)
    assert [RETIRED_PHRASES.search(text) is not None for _, text in texts.literals] == [True]
    assert [REFERENCE.fullmatch(text) is not None for _, text in texts.docstrings] == [True]
