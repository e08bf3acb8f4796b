"""Keys that are created in one API process and used in another, and their revocation."""

from __future__ import annotations

import http.client
import json
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.support.other_api import other_api
from tests.support.platform import Platform
from tests.support.waiting import scaled, wait_until

pytestmark = pytest.mark.journey

ROUNDS = 3
KNOWN_EVERYWHERE_S = 1.0


class OpenConnection:
    """One connection that stays open."""

    def __init__(self, host: str, port: int) -> None:
        self._connection = http.client.HTTPConnection(host, port, timeout=scaled(30))
        self._connection.connect()
        self._port = self.local_port

    @property
    def local_port(self) -> int:
        return int(self._connection.sock.getsockname()[1])

    def send(self, method: str, path: str, key: str, body: object = None) -> http.client.HTTPResponse:
        headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
        data = None if body is None else json.dumps(body)
        self._connection.request(method, path, data, headers)
        return self._connection.getresponse()

    def status(self, key: str) -> int:
        """The status of a request; the connection stays the same."""
        with self.send("GET", "/v1/models", key) as answer:
            answer.read()
        assert self.local_port == self._port
        return answer.status

    def close(self) -> None:
        self._connection.close()


@pytest.fixture(scope="module")
def second(shared: Platform) -> Iterator[Callable[[], OpenConnection]]:
    """Open a connection to a second API process of the platform."""
    with other_api(shared) as ((host, port), _):
        yield lambda: OpenConnection(host, port)


def create(platform: Platform, **fields: Any) -> tuple[str, str]:
    """Create a key in the first process: it and its id."""
    status, row = platform.admin("POST", "/v1/admin/keys", {"tenant": "default", **fields})
    assert status == 201, row
    return row["key"], row["id"]


def revoke(platform: Platform, id: str) -> None:
    status, _ = platform.admin("DELETE", f"/v1/admin/keys/{id}")
    assert status == 200


def test_a_key_counts_in_another_process_within_a_second_and_so_does_its_revocation(
    shared: Platform, second: Callable[[], OpenConnection]
) -> None:
    connection = second()
    accepted_s, refused_s = [], []
    for _ in range(ROUNDS):
        key, id = create(shared)
        assert shared.call("GET", "/v1/models", key=key)[0] == 200  # at once where it was created
        accepted_s.append(wait_until(lambda key=key: connection.status(key) == 200))
        revoke(shared, id)
        assert shared.call("GET", "/v1/models", key=key)[0] == 401
        refused_s.append(wait_until(lambda key=key: connection.status(key) == 401))
    connection.close()
    for measured in (accepted_s, refused_s):
        assert sorted(measured)[ROUNDS // 2] <= scaled(KNOWN_EVERYWHERE_S), measured


def test_a_revocation_leaves_a_running_stream_and_ends_one_of_an_administrator(
    shared: Platform, second: Callable[[], OpenConnection]
) -> None:
    key, id = create(shared)
    admin_key, admin_id = create(shared, scopes=["admin"])
    streaming, following, asking = second(), second(), second()
    wait_until(lambda: asking.status(key) == 200)

    body = {"model": "stub", "input": "/stub tokens=30 tokens_per_s=15", "stream": True}
    stream = streaming.send("POST", "/v1/responses", key, body)
    assert stream.status == 200
    stream.readline()
    wait_until(lambda: asking.status(admin_key) == 403)  # known, and lacks the scope `inference`
    events = following.send("GET", "/v1/admin/events", admin_key)
    assert events.status == 200
    events.readline()

    revoke(shared, id)
    revoke(shared, admin_id)
    wait_until(lambda: asking.status(key) == 401)
    assert b"response.completed" in stream.read()
    events.read()  # returns at the end of the stream, and would time out without one
    for connection in (streaming, following, asking):
        connection.close()


def test_the_limit_of_a_tenant_changes_in_another_process_without_a_restart(
    shared: Platform, second: Callable[[], OpenConnection]
) -> None:
    status, _ = shared.admin("POST", "/v1/admin/tenants", {"name": "acme", "rate_limit": "2/hour"})
    assert status == 201
    key, _ = create(shared, tenant="acme")
    connection = second()
    wait_until(lambda: connection.status(key) == 200)

    def ask() -> int:
        body = {"model": "stub", "input": "/stub tokens=1"}
        with connection.send("POST", "/v1/responses", key, body) as answer:
            answer.read()
        return answer.status

    assert [ask() for _ in range(3)] == [200, 200, 429]
    status, _ = shared.admin("PATCH", "/v1/admin/tenants/acme", {"rate_limit": "1000/hour"})
    assert status == 200
    wait_until(lambda: ask() == 200)
    status, removed = shared.admin("DELETE", "/v1/admin/tenants/acme")
    assert (status, removed["revoked_keys"]) == (200, 1)
    wait_until(lambda: ask() == 401)
    connection.close()


def test_the_last_use_of_a_key_is_written_by_the_process_that_saw_it(
    shared: Platform, second: Callable[[], OpenConnection]
) -> None:
    key, id = create(shared)
    connection = second()
    wait_until(lambda: connection.status(key) == 200)
    connection.close()

    def is_written() -> bool:
        _, row = shared.admin("GET", f"/v1/admin/keys/{id}")
        return row["last_used_at"] is not None

    wait_until(is_written)
    revoke(shared, id)


def test_a_new_key_works_at_once_in_a_process_that_did_not_know_it(
    shared: Platform, second: Callable[[], OpenConnection]
) -> None:
    """By a short body on the event loop, a view in a thread, a large body and an upload."""
    large = {"model": "no-such-model", "input": "x" * 300_000}
    for method, path, body, status in (
        ("GET", "/v1/models", None, 200),
        ("POST", "/v1/responses", {"model": "no-such-model", "input": "x"}, 404),
        ("POST", "/v1/responses", large, 404),
        ("GET", "/v1/files", None, 200),
        ("POST", "/v1/files", {"no": "form"}, 415),
    ):
        connection = second()
        connection.status(shared.keys["api_key"])  # it is open
        key, id = create(shared)
        with connection.send(method, path, key, body) as answer:
            text = answer.read()
        assert answer.status == status, (method, path, text)
        connection.close()
        revoke(shared, id)


def test_unknown_keys_are_refused_after_one_read_for_all(
    shared: Platform, second: Callable[[], OpenConnection]
) -> None:
    client = shared.redis()
    before = client.info("commandstats")["cmdstat_get"]["calls"]
    began = time.monotonic()
    connections = [second() for _ in range(50)]
    for connection in connections:
        connection._connection.request("GET", "/v1/models", headers={"Authorization": "Bearer sk-unknown"})
    for connection in connections:
        with connection._connection.getresponse() as answer:
            assert answer.status == 401
            assert json.load(answer)["error"]["code"] == "invalid_api_key"
        connection.close()
    reads = client.info("commandstats")["cmdstat_get"]["calls"] - before
    # per process and second: 10 because of unknown keys, and those of the usual followers
    assert reads < 20 + 40 * (time.monotonic() - began)
    connection = second()
    with connection.send("POST", "/v1/responses", "sk-unknown", {"input": "x" * 300_000}) as answer:
        assert answer.status == 401
    connection.close()
