"""Killed processes while turns of a tree run: each turn is whole or has an error, and none is there twice."""

from __future__ import annotations

import json
import secrets
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from http.client import HTTPException
from typing import Any

import pytest

from tests.support.platform import Platform, running_platform
from tests.support.waiting import scaled

pytestmark = [pytest.mark.journey, pytest.mark.hostile]

TURNS, TOKENS = 12, 50
WHOLE = " ".join(f"tok{number}" for number in range(TOKENS))
SLOW = {"backend": "stub", "enabled": True, "target_inflight": 8, "stub_tokens_per_s": 20}
"""Fewer slots than turns: some wait when the process dies."""

CONVERSATION_BYTES, ITEM_BYTES = 512, 128
"""What counts beside the texts (api/inference/conversations/lua/include/conversations.lua)."""


@pytest.fixture(scope="module")
def victim(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Platform]:
    local = {"models": {"slow": SLOW, "stoker-demo": {"enabled": False}}, "lease": {"lease_ms": 3000}}
    with running_platform(tmp_path_factory.mktemp("victim"), local, "--port", "0", "--no-flower") as platform:
        platform.wait_state("slow", "loaded", 60)
        yield platform


def ask(victim: Platform, body: dict[str, Any]) -> str:
    """Send a turn, and the same again until its response has ended; returns its id, or the error's code."""
    key, deadline = secrets.token_hex(16), time.monotonic() + scaled(60)
    while time.monotonic() < deadline:
        with suppress(OSError, HTTPException, json.JSONDecodeError):
            named = {"Idempotency-Key": key}
            status, answer, _ = victim.request("POST", "/v1/responses", body, **named)
            if status == 200:
                return str(answer["id"])
            if answer["error"]["code"] == "worker_lost":
                return "worker_lost"
        time.sleep(0.2)
    raise AssertionError("the turn has no end")


def get(victim: Platform, path: str) -> Any:
    status, answer = victim.call("GET", path)
    assert status == 200, answer
    return answer


def begun(victim: Platform, path: str) -> int:
    """How many turns have begun after the question; on a slow machine the first ones may have ended."""
    _, *answers = get(victim, f"{path}/items?order=asc&limit=100")["data"] or [None]
    return len(answers) + len(get(victim, path)["turns"])


def check_bytes(victim: Platform, id: str) -> None:
    """Fail unless the counted bytes are those of what is stored."""
    stored = victim.redis().hgetall(f"{{stoker}}:conversation:{id}")
    values = [value for name, value in stored.items() if name.startswith(b"i:")]
    texts = sum(ITEM_BYTES + len(value.split(b" ", 3)[3]) for value in values)
    assert int(stored[b"bytes"]) == CONVERSATION_BYTES + len(stored[b"metadata"]) + texts
    assert get(victim, "/v1/conversations")["quota"]["bytes"] == int(stored[b"bytes"])
    assert int(stored[b"items"]) == len(values)


@pytest.mark.parametrize("part", ["stoker api", "stoker worker", "stoker"])
def test_turns_of_a_tree_are_whole_or_failed_and_leak_nothing_when_a_process_is_killed(
    victim: Platform, part: str
) -> None:
    _, created = victim.call("POST", "/v1/conversations", {})
    path = f"/v1/conversations/{created['id']}"
    question = {"id": f"msg_{secrets.token_hex(16)}", "role": "user", "content": f"/stub tokens={TOKENS}"}
    place = {"id": created["id"], "parent": None}
    body = {"model": "slow", "input": [question], "conversation": place}
    with ThreadPoolExecutor(TURNS) as pool:
        turns: list[Future[str]] = [pool.submit(ask, victim, body) for _ in range(TURNS)]
        victim.wait_for(lambda: begun(victim, path) == TURNS, 10, "turns")
        time.sleep(1)  # the first ones have some output
        for name in ("stoker api", "stoker worker"):
            if part in name:
                victim.kill_part(name)
        told = [turn.result() for turn in turns]
    victim.wait_for(lambda: get(victim, path)["turns"] == [], 10, "end of all turns")
    first, *answers = get(victim, f"{path}/items?order=asc&limit=100")["data"]
    assert first["id"] == question["id"]
    assert {answer["parent_id"] for answer in answers} == {first["id"]}
    assert len({answer["response_id"] for answer in answers}) == len(answers) >= TURNS
    failed = [answer for answer in answers if answer["response_status"] == "failed"]
    whole = {answer["response_id"] for answer in answers if answer not in failed}
    # a client whose API was killed asks again: it gets the running response, or a new one after a failed one
    assert sorted(id for id in told if id != "worker_lost") == sorted(whole), "clients were told the same"
    assert told.count("worker_lost") <= len(failed) <= TURNS
    assert part == "stoker" or len(answers) == TURNS
    for answer in answers:
        text = "".join(part["text"] for part in answer["content"])
        if answer["response_status"] == "completed":
            assert text == WHOLE
        else:
            assert (answer["response_status"], answer["error"]["code"]) == ("failed", "worker_lost")
            assert part != "stoker api", "a response needs no API process"
            assert WHOLE.startswith(text)
    check_bytes(victim, created["id"])
    victim.wait_state("slow", "loaded")
    assert victim.model("slow")["inflight_requests"] == 0
    place["parent"] = first["id"]
    assert victim.call("POST", "/v1/responses", {**body, "input": []})[1]["status"] == "completed"
    assert victim.call("DELETE", path)[0] == 200
    assert get(victim, "/v1/conversations")["quota"]["bytes"] == 0
    victim.wait_for(lambda: victim.redis().zcard("{stoker}:conversation_turns") == 0, 15, "no open turn")
