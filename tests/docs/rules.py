"""The pages that tie the rules of a specification to tests: each row has the key of a mark `rule`."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache

from config.settings import ROOT
from tests.docs.page import Row, code, rows

TEST_KEY = "test key"
NOT_BUILT = "not built yet"
"""In place of a test key."""


@cache
def marked_rules() -> frozenset[str]:
    """The arguments of all `pytest.mark.rule(...)` marks in tests/."""
    texts = (path.read_text(encoding="utf-8") for path in sorted((ROOT / "tests").rglob("test_*.py")))
    trees = (ast.parse(text) for text in texts if "mark.rule(" in text)
    return frozenset(rule for tree in trees for rule in _rules_in(tree))


def _rules_in(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "pytest.mark.rule":
            for argument in node.args:
                if isinstance(argument, ast.Constant):
                    yield argument.value


def rule_rows(page: str) -> list[Row]:
    """The rows of a page with a rule and a test key, or `NOT_BUILT`, in their last column."""
    return [row for row in rows(page) if len(row) == 3 and row[-1] != TEST_KEY]


def keys_of(page: str) -> list[str]:
    """The test keys of a page, in its order."""
    return [key for row in rule_rows(page) for key in code(row[-1])]
