"""Reads that cost much when each is made anew: the API's document, which needs no key, and lists of files."""

from __future__ import annotations

import json

import pytest

from tests.journeys.hostile.conftest import Target
from tests.support.hostile_clients import Behaviour, Crowd
from tests.support.raw_http import request

pytestmark = [pytest.mark.journey, pytest.mark.hostile]

READERS, ROUNDS, FILES = 4, 25, 100
CROWD = 100


def upload(target: Target) -> None:
    form = (
        b'--b\r\nContent-Disposition: form-data; name="purpose"\r\n\r\nuser_data\r\n'
        b'--b\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\nx\r\n--b--\r\n'
    )
    fields = {"Authorization": f"Bearer {target.key}", "Content_Type": "multipart/form-data; boundary=b"}
    assert target.exchange(request("POST", "/v1/files", form, **fields)).status == 200


def test_repeated_reads_of_the_document_leave_others_undisturbed(target: Target, attackers: Crowd) -> None:
    read = request("GET", "/openapi.json", Accept_Encoding="gzip", Connection="close")
    assert target.exchange(read).status == 200
    with target.bystanders.undisturbed():
        for _ in range(ROUNDS):
            attackers.join(READERS, Behaviour(read))
            attackers.run(0.05)
        assert attackers.run(5, until=lambda: attackers.ended == READERS * ROUNDS)
    assert {bytes(client.received[:12]) for client in attackers.clients} == {b"HTTP/1.1 200"}


def test_repeated_lists_of_many_files_leave_others_undisturbed(target: Target, attackers: Crowd) -> None:
    for _ in range(FILES):
        upload(target)
    read = target.get("/v1/files", Connection="close")
    assert len(json.loads(target.exchange(read).body)["data"]) == FILES
    with target.bystanders.undisturbed():
        for _ in range(ROUNDS):
            attackers.join(READERS, Behaviour(read))
            attackers.run(0.05)
        assert attackers.run(5, until=lambda: attackers.ended == READERS * ROUNDS)
    assert {bytes(client.received[:12]) for client in attackers.clients} == {b"HTTP/1.1 200"}


@pytest.mark.parametrize("path", ["/v1/models", "/props"])
def test_reads_of_models_by_100_clients_at_once_leave_others_undisturbed(
    target: Target, attackers: Crowd, path: str
) -> None:
    read = target.get(path, Connection="close")
    assert target.exchange(read).status == 200
    with target.bystanders.undisturbed():
        for _ in range(ROUNDS):
            attackers.join(CROWD, Behaviour(read))
            attackers.run(0.2)
        assert attackers.run(20, until=lambda: attackers.ended == CROWD * ROUNDS)
    assert {bytes(client.received[:12]) for client in attackers.clients} <= {b"HTTP/1.1 200", b"HTTP/1.1 503"}
