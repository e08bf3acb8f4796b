"""`stoker queue`: the table of who waits, and the cancels."""

from __future__ import annotations

import json

import pytest

from tests.stoker.conftest import UNKNOWN_TENANT

TENANT = {"tenant": "acme", "queueDepth": 3, "running": 1, "oldestWaitMs": 4200, "oldestId": "resp_1"}
MODEL = {"model": "m", "queueDepth": 3, "maxDepth": 64, "oldestWaitMs": 4200, "slots": 2, "running": 2}


def test_the_queues_are_a_table(api, run):
    api.answers = {"/v1/admin/queue": [(200, {"models": [{**MODEL, "tenants": [TENANT]}]})]}
    code, output = run("queue")
    assert code == 0
    assert [line.split() for line in output.splitlines()] == [
        ["model", "tenant", "waiting", "running", "oldest", "its", "id"],
        ["m", "3/64", "2/2", "4.2", "s"],
        ["acme", "3", "1", "4.2", "s", "resp_1"],
    ]
    assert set(api.keys) == {"Bearer sk-admin"}


def test_the_queues_are_printed_as_json(api, run):
    models = [{**MODEL, "tenants": [TENANT]}]
    api.answers = {"/v1/admin/queue": [(200, {"models": models})]}
    code, output = run("queue", "--json")
    assert (code, json.loads(output)) == (0, models)


@pytest.mark.parametrize(
    ("status", "sentence"),
    [
        ("cancelled", "resp_1 of tenant acme is cancelled"),
        ("running", "resp_1 of tenant acme runs; its engine is asked to stop it"),
    ],
)
def test_one_request_is_cancelled(api, run, status, sentence):
    answer = {"id": "resp_1", "tenant": "acme", "status": status}
    api.answers = {"DELETE /v1/admin/queue/resp_1": [(200, answer)]}
    assert run("queue", "cancel", "resp_1") == (0, f"{sentence}\n")


def test_the_requests_of_a_tenant_are_cancelled(api, run):
    answer = {"tenant": "acme", "cancelled": 100, "left": 20, "stopping": 2}
    api.answers = {"DELETE /v1/admin/queue?tenant=acme&model=org%2Fm&running=true": [(200, answer)]}
    code, output = run("queue", "cancel", "--tenant", "acme", "--model", "org/m", "--running")
    assert code == 0
    assert output == (
        "100 waiting requests of tenant acme are cancelled, 20 more within seconds;"
        " 2 running ones are asked to stop\n"
    )


NOTHING = {"tenant": "acne", "cancelled": 0, "left": 0, "stopping": 0}


def test_a_cancel_for_an_unknown_tenant_names_the_nearest_one(api, run):
    api.answers = {"DELETE /v1/admin/queue?tenant=acne": [(200, NOTHING)], **UNKNOWN_TENANT}
    code, output = run("queue", "cancel", "--tenant", "acne")
    assert (code, output) == (5, "there is no tenant acne (not_found); did you mean acme?\n")


def test_a_cancel_for_a_tenant_without_requests_is_no_error(api, run):
    api.answers = {
        "DELETE /v1/admin/queue?tenant=acme": [(200, {**NOTHING, "tenant": "acme"})],
        "/v1/admin/tenants/acme": [(200, {"name": "acme"})],
    }
    code, output = run("queue", "cancel", "--tenant", "acme")
    assert (code, output) == (0, "0 waiting requests of tenant acme are cancelled\n")


@pytest.mark.parametrize("words", [[], ["resp_1", "--tenant", "acme"], ["resp_1", "--running"]])
def test_a_cancel_needs_one_request_or_one_tenant(api, run, words):
    code, _ = run("queue", "cancel", *words)
    assert code == 2
    assert api.keys == []
