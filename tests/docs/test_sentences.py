"""Messages have no retired phrases, and docstrings are sentences of their own."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from config.settings import ROOT
from tests.docs.page import PACKAGES

RETIRED_PHRASES = re.compile(
    r"\bas (?:many|much) as (?:it|they|there)? ?may\b|\bis none of\b|\bis none$"
    r"|\bstands twice\b|\bnot known here\b|\bmissing in the audit chain\b|\bcannot be had\b|\blook into its\b"
    r"|\bwhat \w+(?: \w+)? says\b|\bnobody\b|\bit is no (?:text|number|object)\b"
)
REFERENCE = re.compile(r"(?:See|As|Like|The same as) `[\w.]+`\.?")
Text = tuple[int, str]


def docstrings_of(tree: ast.Module) -> Iterator[tuple[ast.Constant, str]]:
    """The docstrings of a module's definitions, and the texts below its constants."""
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        for statement in body if isinstance(body, list) else ():
            if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
                yield statement.value, str(statement.value.value)


def literals_of(tree: ast.Module) -> Iterator[Text]:
    """The string literals of a module with the lines of their begins, without docstrings.

    An f-string is one text, whose expressions are left out.
    """
    skipped = {id(constant) for constant, _ in docstrings_of(tree)}
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            skipped.update(id(part) for part in node.values)
            parts = [str(part.value) for part in node.values if isinstance(part, ast.Constant)]
            yield node.lineno, "{}".join(parts)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in skipped:
            yield node.lineno, node.value


def modules(packages: tuple[str, ...]) -> Iterator[Path]:
    """The modules of packages, relative to the project's root."""
    for package in packages:
        yield from (path.relative_to(ROOT) for path in sorted((ROOT / package).rglob("*.py")))


def parsed(path: Path) -> ast.Module:
    return ast.parse((ROOT / path).read_text(encoding="utf-8"))


@pytest.mark.parametrize("package", PACKAGES)
def test_messages_have_no_retired_phrases(package: str) -> None:
    assert [
        f"{path}:{line}: {text}"
        for path in modules((package,))
        for line, text in literals_of(parsed(path))
        if RETIRED_PHRASES.search(text)
    ] == []


@pytest.mark.parametrize("package", PACKAGES)
def test_docstrings_are_sentences_of_their_own(package: str) -> None:
    assert [
        f"{path}:{constant.lineno}: {text}"
        for path in modules((package,))
        for constant, text in docstrings_of(parsed(path))
        if REFERENCE.fullmatch(text.strip())
    ] == []


def test_a_retired_phrase_is_found_within_an_f_string() -> None:
    tree = ast.parse('def f(n):\n    """See `g`."""\n    return f"{n} readers, as many " "as it may"')
    assert [RETIRED_PHRASES.search(text) is not None for _, text in literals_of(tree)] == [True]
    assert [REFERENCE.fullmatch(text) is not None for _, text in docstrings_of(tree)] == [True]
