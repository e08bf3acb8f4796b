"""`stoker cache flush`: what it asks the API for, and what it shows."""

from __future__ import annotations

import pytest

from tests.stoker.conftest import UNKNOWN_TENANT

ACME = {"/v1/admin/tenants/acme": [(200, {"name": "acme"})]}
SCOPE = {"kind": "tenant", "model": None, "tenant": "acme", "tag": None}
RUNNING = {
    "id": "flush_1",
    "kind": "flush",
    "model": None,
    "scope": SCOPE,
    "status": "pending",
    "stage": "waiting for the API processes",
    "progress": 0.0,
    "eta_s": None,
    "result": None,
}
COMPLETED = {
    **RUNNING,
    "status": "completed",
    "result": {"entries_removed": 3, "memory_mib": 2, "reason": None},
}


@pytest.mark.parametrize(
    ("words", "body"),
    [
        ([], {"scope": "all", "model": None, "tenant": None, "tag": None}),
        (["--model", "org/m"], {"scope": "model", "model": "org/m", "tenant": None, "tag": None}),
        (["--tenant", "acme"], {"scope": "tenant", "model": None, "tenant": "acme", "tag": None}),
        (
            ["--tenant", "acme", "--tag", "x"],
            {"scope": "tag", "model": None, "tenant": "acme", "tag": "x"},
        ),
    ],
)
def test_the_options_choose_the_scope(api, run, words, body):
    api.answers = {"/v1/admin/cache/flush": [(200, COMPLETED)], **ACME}
    assert run("cache", "flush", *words) == (0, "3 entries removed, 2 MiB\n")
    assert api.bodies == [body]


def test_the_progress_is_followed_to_its_end(api, run):
    uncounted = {"entries_removed": None, "memory_mib": None, "reason": "vLLM does not count it"}
    api.answers = {
        "/v1/admin/cache/flush": [(202, RUNNING)],
        "/v1/admin/operations/flush_1": [
            (200, {**RUNNING, "status": "running", "progress": 0.5}),
            (200, {**COMPLETED, "result": uncounted}),
        ],
        **ACME,
    }
    code, output = run("cache", "flush", "--tenant", "acme")
    assert code == 0
    lines = output.splitlines()
    assert lines[0] == "tenant acme: flushing (waiting for the API processes)"
    assert lines[1].startswith("tenant acme: flushing 50 %")
    assert lines[2].startswith("tenant acme: flushed (")
    assert lines[3] == "not all entries were counted (vLLM does not count it)"


def test_without_waiting_it_names_the_operation(api, run):
    api.answers = {"/v1/admin/cache/flush": [(202, RUNNING)]}
    code, output = run("cache", "flush", "--no-wait")
    assert (code, output) == (0, "the flush continues: GET /v1/admin/operations/flush_1\n")


def test_a_flush_of_an_unknown_tenant_names_the_nearest_one_and_begins_nothing(api, run):
    api.answers = {"/v1/admin/cache/flush": [(202, RUNNING)], **UNKNOWN_TENANT}
    code, output = run("cache", "flush", "--tenant", "acne")
    assert (code, output) == (5, "there is no tenant acne (not_found); did you mean acme?\n")
    assert api.bodies == []


@pytest.mark.parametrize("words", [["--tag", "x"], ["--model", "m", "--tenant", "acme"]])
def test_options_that_contradict_each_other_are_refused(api, run, words):
    code, _ = run("cache", "flush", *words)
    assert code == 2
    assert api.keys == []
