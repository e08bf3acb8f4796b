"""Reads, with a key and with the session of a browser, while Redis refuses writes as its disk is full."""

from __future__ import annotations

import json
import re
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from http.cookies import SimpleCookie
from typing import Any

import pytest

from tests.support.full_disk import refused_writes
from tests.support.platform import Platform, running_platform
from tests.support.waiting import scaled

pytestmark = [pytest.mark.journey, pytest.mark.hostile]

STREAMS = {"/v1/admin/events", "/models/sse"}
PROBES = {"/health", "/ready", "/v1/health", "/v1/capabilities"}
"""They answer that the platform takes no requests at present."""


@pytest.fixture(scope="module")
def platform(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Platform]:
    local = {"models": {"stub": {"backend": "stub", "enabled": True}, "stoker-demo": {"enabled": False}}}
    folder = tmp_path_factory.mktemp("full")
    with running_platform(folder, local, "--port", "0", "--no-flower") as platform:
        platform.wait_state("stub", "loaded", 60)
        yield platform


def signed_in(platform: Platform) -> dict[str, str]:
    """The headers of a page of a browser that has signed in as administrator."""
    page = {"X-Stoker-UI": "1", "Sec-Fetch-Site": "same-origin"}
    body = {"key": platform.keys["admin_key"], "admin": True}
    request = urllib.request.Request(
        platform.url + "/v1/session", json.dumps(body).encode(), page | {"Content-Type": "application/json"}
    )
    with urllib.request.urlopen(request) as answer:
        cookie = SimpleCookie(answer.headers["Set-Cookie"])["stoker_session"].value
    return page | {"Cookie": f"stoker_session={cookie}"}


def status_of(platform: Platform, path: str, headers: dict[str, str]) -> int:
    request = urllib.request.Request(platform.url + path, headers=headers)
    try:
        with urllib.request.urlopen(request, timeout=scaled(30)) as answer:
            answer.read()
            return int(answer.status)
    except urllib.error.HTTPError as error:
        return int(error.code)


def statuses(platform: Platform, paths: list[str], callers: dict[str, dict[str, str]]) -> dict[Any, int]:
    """The status of each path for each caller."""
    return {
        (name, path): status_of(platform, path, headers)
        for name, headers in callers.items()
        for path in paths
    }


def readings(platform: Platform) -> list[str]:
    """The paths of all routes with GET whose answers end; names are those of the model."""
    _, document = platform.call("GET", "/openapi.json")
    paths = [path for path, methods in document["paths"].items() if "get" in methods]
    return [re.sub("{(model|name)}", "stub", path) for path in paths if path not in PROBES | STREAMS]


def test_each_reading_is_answered_as_before_while_redis_refuses_writes(platform: Platform) -> None:
    key = {"Authorization": f"Bearer {platform.keys['admin_key']}"}
    callers = {"session": signed_in(platform), "key": key}
    assert platform.respond("stub", "hello")[0] == 200
    paths = readings(platform)
    before = statuses(platform, paths, callers)
    with refused_writes(platform.redis(), platform.folder / "data" / "redis"):
        status, refusal = platform.respond("stub", "hello")
        assert (status, refusal["error"]["code"]) == (503, "storage_full")
        meanwhile = statuses(platform, paths, callers)
    assert meanwhile == before
    read = {"/v1/session", "/v1/admin/sessions", "/v1/conversations", "/v1/admin/models"}
    assert {path for path in read if before["session", path] == 200} == read


@pytest.mark.slow
def test_a_request_under_way_ends_with_the_refusal_and_its_job_ends_once_when_redis_takes_writes_again(
    platform: Platform,
) -> None:
    engine, text = platform.engine_pid("stub"), "/stub tokens=3 first_token_s=3"
    answers: list[tuple[int, Any]] = []
    waiting = threading.Thread(target=lambda: answers.append(platform.respond("stub", text)))
    before = platform.admin("GET", "/v1/admin/requests")[1]["data"]
    client = platform.redis()
    waiting.start()
    platform.wait_for(lambda: platform.model("stub")["inflight_requests"], 10, "the request runs")
    with refused_writes(client, platform.folder / "data" / "redis"):
        waiting.join(scaled(60))
        ((status, refusal),) = answers
        assert (status, refusal["error"]["code"]) == (503, "storage_full")
    platform.wait_for(lambda: not platform.model("stub")["inflight_requests"], 30, "the job has ended")

    def added() -> list[Any]:
        rows = platform.admin("GET", "/v1/admin/requests")[1]["data"]
        return [row for row in rows if row["id"] not in {one["id"] for one in before}]

    ended = platform.wait_for(lambda: [row for row in added() if row["httpStatus"] != 503], 20, "its record")
    assert [row["status"] for row in ended] == ["completed"]
    assert platform.engine_pids("stub") == [engine]
