"""docs/model-runner-api.md: every line of the specification has a row, and what is built has tests."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from tests.docs.page import code, read, rows
from tests.docs.rules import NOT_BUILT, keys_of, marked_rules, rule_rows
from tests.seeds import MODEL_RUNNER_API

PAGE = read("model-runner-api.md")
LIFECYCLE = (
    *("load_request", "load_accepted", "load_completed", "unload_request", "unload_response"),
    *("flush_request", "flush_response", "verified_op_token"),
)
ELSEWHERE = ("the sections below", "the sections above")


def test_each_rule_has_a_test_and_each_mark_names_a_rule() -> None:
    keys = keys_of(PAGE)
    assert len(keys) == len(set(keys))
    assert {key for key in marked_rules() if key.startswith("runner/")} == set(keys)


def test_a_rule_without_a_test_key_is_not_built_yet() -> None:
    without = {row[-1] for row in rule_rows(PAGE) if not code(row[-1])}
    assert without <= {NOT_BUILT, *ELSEWHERE}


def words() -> set[str]:
    """All words of the inline code in the first two columns of the rules."""
    cells = [cell for row in rule_rows(PAGE) for cell in row[:2]]
    return {word for cell in cells for name in code(cell) for word in re.findall(r"[\w-]+", name)}


def fields_of(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for name, inner in value.items():
            yield name
            yield from fields_of(inner)
    elif isinstance(value, list):
        for item in value:
            yield from fields_of(item)


def test_every_field_of_the_examples_has_a_row() -> None:
    named = words()
    for example in ("capabilities", "health"):
        assert set(fields_of(MODEL_RUNNER_API[example])) <= named
    for example in LIFECYCLE:
        assert set(fields_of(MODEL_RUNNER_API[example])) <= named
    assert set(MODEL_RUNNER_API["flush_scopes"]) <= named
    for example in ("queue_full", "rate_limit_exceeded"):
        error = MODEL_RUNNER_API[example]["error"]
        assert {error["code"], *error} - {"code"} <= named


def test_every_header_and_its_values_have_a_row() -> None:
    names = {*MODEL_RUNNER_API["request_headers"], *MODEL_RUNNER_API["response_headers"]}
    values = {*MODEL_RUNNER_API["cache_modes"], *MODEL_RUNNER_API["priorities"]}
    assert names | values <= words()


def test_every_metric_and_label_has_a_row() -> None:
    metrics = set(re.findall(r"^# TYPE (\w+)", MODEL_RUNNER_API["metrics"], re.MULTILINE))
    labels = set(re.findall(r'(\w+)="', MODEL_RUNNER_API["metrics"]))
    assert len(metrics) == 5
    assert metrics | labels <= words()


def test_every_environment_variable_has_a_row() -> None:
    named = {name for row in rule_rows(PAGE) for name in code(row[0])}
    assert {*MODEL_RUNNER_API["required_variables"], *MODEL_RUNNER_API["optional_variables"]} <= named


def test_the_fixed_window_is_among_the_differences() -> None:
    differences = [row for row in rows(PAGE) if len(row) == 2]
    (found,) = [row for row in differences if "rate_limit:{tenantId}:{minute}" in row[0]]
    assert "200" in found[1]
