"""docs/runtime-admin-api.md: every field of the specification has a row, and every rule has a test."""

from __future__ import annotations

import re

import pytest

from backends.catalogue import BACKENDS
from fleet.states import ModelState
from tests.docs.page import code, read, rows
from tests.docs.rules import marked_rules, rule_rows
from tests.seeds import RUNTIME_ADMIN_API

RULES = rule_rows(read("runtime-admin-api.md"))

DIFFERENCES = [
    row for row in rows(read("runtime-admin-api.md")) if len(row) == 2 and row[0] != "specification"
]


def test_each_rule_has_a_test_and_each_mark_names_a_rule():
    keys = [key for row in RULES for key in code(row[2])]
    assert len(keys) == len(set(keys)) == len(RULES)
    others = ("runner/", "llama-server/")
    assert {key for key in marked_rules() if not key.startswith(others)} == set(keys)


def documented_names():
    """All inline code in the first two columns."""
    return {
        word for row in RULES for cell in row[:2] for name in code(cell) for word in re.findall(r"\w+", name)
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
    assert fields - documented_names() == set()


def test_every_state_backend_and_code_has_a_row():
    codes = {"unknown_model", "model_not_loaded", "model_loading", "model_unloading", "model_failed"}
    assert (
        codes | {"thinking_unsupported", "invalid_load_request"} | set(ModelState) | set(BACKENDS)
        <= documented_names()
    )


@pytest.mark.parametrize(
    ("field", "explained"),
    [
        (
            "multi_turn",
            {"exllamav3", "ct2", "openai_remote", "stub", "llama_server", "translategemma_template"},
        ),
        ("llama_server_n_ctx", {"target_inflight", "--ctx-size"}),
        ("llama_server_spec_type", {"null", "draft-mtp", "draft-simple", "llama_server_spec_draft_n_max"}),
        ("llama_server_host", {"llama_server_port", "llama_server_api_key", "vllm_serve_host"}),
        ("load_constraints", {"load_field_descriptions"}),
    ],
)
def test_a_field_that_differs_from_the_specification_has_a_row_that_explains_it(
    field: str, explained: set[str]
) -> None:
    found = [row for row in DIFFERENCES if field in code(row[0])]
    assert len(found) == 1
    assert explained <= {*code(found[0][0]), *code(found[0][1])}
