"""docs/runtime-admin-api.md: no field of the note is missing in it, and what it says holds a rule exists."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

from backends.catalogue import BACKENDS
from config.settings import ROOT
from fleet.states import ModelState
from tests.docs.page import code, read, rows
from tests.seeds import RUNTIME_ADMIN_API

RULES = [row for row in rows(read("runtime-admin-api.md")) if len(row) == 3 and row[2] != "held by"]


@cache
def names_in(path: Path) -> frozenset[str]:
    """The names of a file's tests, and `*` when it has any, inherited ones too."""
    tree = ast.parse(path.read_text())
    names = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
    found = {name for name in names if name.startswith("test_")}
    inherits = any(isinstance(node, ast.ClassDef) and node.name.startswith("Test") for node in tree.body)
    return frozenset(found | ({"*"} if found or inherits else set()))


@pytest.mark.parametrize("row", RULES, ids=lambda row: f"{row[0]}: {row[1]}"[:80])
def test_each_rule_is_held_by_tests_that_exist(row):
    held_by = code(row[2])
    assert held_by
    for id in held_by:
        path, _, name = id.partition("::")
        assert name in names_in(ROOT / path), id


def words():
    """All that stands in code type in the first two columns."""
    return {
        word for row in RULES for cell in row[:2] for said in code(cell) for word in re.findall(r"\w+", said)
    }


def test_every_field_of_the_examples_has_a_row():
    (row,) = RUNTIME_ADMIN_API["models"]["models"]
    fields = {"models", *row, *row["capabilities"], *row["definition"]}
    for example in (RUNTIME_ADMIN_API["load_answer"], RUNTIME_ADMIN_API["unload_answer"]):
        fields |= {*example, *example["definition"]}
    memory = RUNTIME_ADMIN_API["gpu_memory"]
    fields |= {*memory, *memory["gpus"][0], *memory["models"][0]}
    fields |= {name for constraints in RUNTIME_ADMIN_API["load_constraints"].values() for name in constraints}
    fields |= {name for example in RUNTIME_ADMIN_API["load_bodies"] for name in example["body"]}
    assert fields - words() == set()


def test_every_state_backend_and_code_has_a_row():
    codes = {"unknown_model", "model_not_loaded", "model_loading", "model_unloading", "model_failed"}
    assert (
        codes | {"thinking_unsupported", "invalid_load_request"} | set(ModelState) | set(BACKENDS) <= words()
    )
