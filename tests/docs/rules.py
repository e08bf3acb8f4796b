"""The pages that tie the rules of a specification to tests: each row has the key of a mark `rule`."""

from __future__ import annotations

import ast
import re
from functools import cache

from config.settings import ROOT
from tests.docs.page import Row, code, rows

TEST_KEY = "test key"
NOT_BUILT = "not built yet"
"""In place of a test key."""


MARK = re.compile(r"\bpytest\.mark\.rule\([^()]+\)")


@cache
def marked_rules() -> frozenset[str]:
    """The arguments of all `pytest.mark.rule(...)` marks in tests/, which are literals."""
    texts = (path.read_text(encoding="utf-8") for path in sorted((ROOT / "tests").rglob("test_*.py")))
    marks = (ast.parse(mark[0], mode="eval").body for text in texts for mark in MARK.finditer(text))
    arguments = (argument for mark in marks if isinstance(mark, ast.Call) for argument in mark.args)
    return frozenset(ast.literal_eval(argument) for argument in arguments)


def rule_rows(page: str) -> list[Row]:
    """The rows of a page with a rule and a test key, or `NOT_BUILT`, in their last column."""
    return [row for row in rows(page) if len(row) == 3 and row[-1] != TEST_KEY]


def keys_of(page: str) -> list[str]:
    """The test keys of a page, in its order."""
    return [key for row in rule_rows(page) for key in code(row[-1])]
