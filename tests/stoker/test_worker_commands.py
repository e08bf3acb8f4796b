"""`stoker workers` and `stoker drain`: the table of workers, and drains."""

from __future__ import annotations

import json

import pytest

REPLICA = {"model": "m", "slots": 4, "slots_used": 1}
WORKER = {
    "name": "gpu0",
    "device": "cuda",
    "state": "live",
    "drain": None,
    "memory": {"free_mib": 300, "total_mib": 1000},
    "replicas": [REPLICA, REPLICA],
}
DRAIN = {"cause": "operator", "actor": "ops", "at": 1.0}
AWAY = {**WORKER, "name": "gpu1", "state": "away", "memory": None, "replicas": [], "drain": DRAIN}


def test_the_workers_are_a_table_of_all_pages(api, run):
    api.answers = {
        "/v1/admin/workers": [(200, {"data": [WORKER], "has_more": True})],
        "/v1/admin/workers?after=gpu0": [(200, {"data": [AWAY], "has_more": False})],
    }
    code, output = run("workers")
    assert code == 0
    assert [line.split() for line in output.splitlines()] == [
        ["worker", "device", "state", "free/total", "MiB", "running", "models"],
        ["gpu0", "cuda", "live", "300/1000", "2/8", "m"],
        ["gpu1", "cuda", "drained,", "away", "by", "ops"],
    ]


def test_the_workers_are_printed_as_json(api, run):
    api.answers = {"/v1/admin/workers": [(200, {"data": [WORKER], "has_more": False})]}
    code, output = run("workers", "--json")
    assert (code, json.loads(output)) == (0, [WORKER])


@pytest.mark.parametrize(
    ("options", "drain", "sentence"),
    [
        ((), DRAIN, "worker gpu0 gets no new requests or replicas; 2 requests are running on it"),
        (("--end",), None, "worker gpu0 is not drained"),
        (("--end",), {"cause": "shutdown"}, "no operator drains worker gpu0, which shuts down"),
    ],
)
def test_a_drain_begins_and_ends(api, run, options, drain, sentence):
    call = f"{'DELETE ' if options else ''}/v1/admin/workers/gpu0/drain"
    api.answers = {call: [(200, {**WORKER, "drain": drain})]}
    assert run("drain", "gpu0", *options) == (0, f"{sentence}\n")
