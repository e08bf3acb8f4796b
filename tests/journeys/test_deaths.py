"""Killed and frozen processes: their requests are ended by others, within the promised time."""

from __future__ import annotations

import json
import os
import signal
import threading
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anthropic
import openai
import pytest

from tests.backends.conftest import has_ended
from tests.support.batch_lines import CHAT, chat_line, counted_requests, jsonl, parsed
from tests.support.event_follower import following
from tests.support.freezing import freeze
from tests.support.platform import Platform, processes_of, running_platform
from tests.support.waiting import scaled, wait_until

pytestmark = [pytest.mark.journey, pytest.mark.hostile]

LEASE = {"lease_ms": 3000}
LEASE_PROMISE_S = 3 + 0.3 + 1


@pytest.fixture(scope="module")
def victim(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Platform]:
    """A platform whose processes these journeys kill and freeze, and that recovers."""
    slow = {
        "backend": "stub",
        "enabled": True,
        "target_inflight": 4,
        "stub_tokens_per_s": 20,
        "stub_tokens": 400,
    }
    local = {"models": {"slow": slow, "stoker-demo": {"enabled": False}}, "lease": LEASE}
    with running_platform(tmp_path_factory.mktemp("victim"), local, "--port", "0", "--no-flower") as platform:
        platform.wait_state("slow", "loaded", 60)
        yield platform


class Stream(threading.Thread):
    """A thread that reads one streamed response.

    `events` are the received events, `has_output` is set by the first delta, `ended_at` is the time
    (`time.monotonic()`) of the end.
    """

    def __init__(self, platform: Platform, text: str = "go on") -> None:
        super().__init__(daemon=True)
        self.events: list[dict[str, Any]] = []
        self.has_output = threading.Event()
        self.ended_at = 0.0
        body = json.dumps({"model": "slow", "input": text, "stream": True}).encode()
        headers = {"Authorization": f"Bearer {platform.keys['api_key']}", "Content-Type": "application/json"}
        self._request = urllib.request.Request(platform.url + "/v1/responses", body, headers)
        self.start()

    def run(self) -> None:
        with urllib.request.urlopen(self._request, timeout=scaled(60)) as answer:
            for line in answer:
                if line.startswith(b"data: {"):
                    self.events.append(json.loads(line[6:]))
                    if self.events[-1]["type"].endswith(".delta"):
                        self.has_output.set()
        self.ended_at = time.monotonic()

    def end(self, seconds: float) -> dict[str, Any]:
        self.join(scaled(seconds))
        assert not self.is_alive(), f"the stream did not end within {scaled(seconds):g} s"
        return self.events[-1]


def test_a_killed_engine_fails_its_responses_within_two_seconds_and_loads_again(victim: Platform) -> None:
    stream = Stream(victim)
    assert stream.has_output.wait(scaled(10))
    killed = time.monotonic()
    os.kill(victim.engine_pid("slow"), signal.SIGKILL)
    last = stream.end(5)
    assert stream.ended_at - killed < 2
    assert last["type"] == "response.failed"
    assert "engine_crashed" in last["response"]["error"]["message"]
    row = victim.wait_state("slow", "failed")
    assert "SIGKILL" in row["last_error"]
    assert row["restart_at"]
    status, body = victim.call("POST", "/v1/responses", {"model": "slow", "input": "x"})
    assert (status, body["error"]["code"]) == (409, "model_failed")
    assert victim.wait_state("slow", "loaded")["crashes"] == 1, "no operator loads it"
    status, body = victim.call("POST", "/v1/responses", {"model": "slow", "input": "/stub tokens=2"})
    assert status == 200


def test_a_killed_worker_fails_responses_with_output_and_is_replaced(victim: Platform) -> None:
    stream = Stream(victim)
    assert stream.has_output.wait(scaled(10))
    engine = victim.engine_pid("slow")
    killed = time.monotonic()
    victim.kill_part("stoker worker")
    last = stream.end(15)
    assert stream.ended_at - killed < LEASE_PROMISE_S
    assert last["type"] == "response.failed"
    assert "worker_lost" in last["response"]["error"]["message"]
    assert has_ended(engine, scaled(2)), "the engine lives"
    victim.wait_state("slow", "loaded")
    status, body = victim.call("POST", "/v1/responses", {"model": "slow", "input": "/stub tokens=2"})
    assert status == 200, body


def test_a_worker_that_has_to_stop_finishes_its_responses_and_is_replaced(victim: Platform) -> None:
    stream = Stream(victim, "/stub tokens=60")
    assert stream.has_output.wait(scaled(10))
    worker = victim.worker_pid("cpu0")
    os.kill(worker, signal.SIGTERM)
    waiting = Stream(victim, "/stub tokens=2")  # a worker that stops takes no new ones
    assert stream.end(15)["type"] == "response.completed"
    assert has_ended(worker, scaled(10)), "the worker lives"
    assert waiting.end(30)["type"] == "response.completed"
    victim.wait_state("slow", "loaded")


def test_a_killed_redis_loses_no_accepted_response(victim: Platform) -> None:
    streams = [Stream(victim, "/stub tokens=60 tokens_per_s=50") for _ in range(8)]
    for stream in streams[:4]:
        stream.has_output.wait(scaled(10))
    os.kill(victim.redis_pid, signal.SIGKILL)
    for stream in streams:
        last = stream.end(40)
        assert last["type"] == "response.completed", last
        text = last["response"]["output"][0]["content"][0]["text"]
        assert text.split() == [f"tok{number}" for number in range(60)]
        deltas = [event["delta"] for event in stream.events if event["type"] == "response.output_text.delta"]
        assert "".join(deltas) == text
    assert victim.model("slow")["inflight_requests"] == 0


def test_a_killed_api_is_started_again_and_the_response_can_be_resumed(victim: Platform) -> None:
    status, body = victim.call(
        "POST",
        "/v1/responses",
        {"model": "slow", "input": "/stub tokens=60 tokens_per_s=40", "background": True},
    )
    assert status == 200
    victim.kill_part("stoker api")

    def retrieved() -> dict[str, Any] | None:
        try:
            status, answer = victim.call("GET", f"/v1/responses/{body['id']}")
        except OSError:
            return None
        return answer if status == 200 and answer["status"] == "completed" else None

    answer = victim.wait_for(retrieved, 30, "response")
    assert answer["output"][0]["content"][0]["text"].endswith("tok59")


LINES = 24


def test_a_batch_outlives_the_killed_api_and_runs_no_line_twice(victim: Platform) -> None:
    """One batch of OpenAI's and one of Anthropic's SDK, each line of which takes a second."""
    lines = [chat_line(f"line-{at}", "/stub tokens=20", "slow") for at in range(LINES)]
    lines.insert(3, chat_line("refused", "x", "slow", max_tokens=-2))
    ask: Any = {
        "model": "slow",
        "max_tokens": 20,
        "messages": [{"role": "user", "content": "/stub tokens=4"}],
    }
    client = victim.redis()
    # ended requests are counted later, those of the test before as well
    victim.wait_for(lambda: not client.xlen("{stoker}:ended"), 10, "count of earlier requests")
    before = counted_requests(client, "slow")
    with (
        victim.sdk() as sdk,
        anthropic.Anthropic(base_url=victim.url, api_key=sdk.api_key, max_retries=0) as claude,
    ):
        file = sdk.files.create(file=("input.jsonl", jsonl(*lines)), purpose="batch")
        batch = sdk.batches.create(input_file_id=file.id, endpoint=CHAT, completion_window="24h")
        requests: Any = [{"custom_id": f"m{at}", "params": ask} for at in range(4)]
        messages = claude.messages.batches.create(requests=requests)
        assert messages.processing_status == "in_progress"
        sdk.files.delete(file.id)

        def has_begun() -> bool:
            counts = sdk.batches.retrieve(batch.id).request_counts
            return counts is not None and counts.completed >= 4

        victim.wait_for(has_begun, 30, "first lines")
        victim.kill_part("stoker api")

        def ended() -> Any:
            try:
                found = sdk.batches.retrieve(batch.id)
                other = claude.messages.batches.retrieve(messages.id)
            except (openai.APIError, anthropic.APIError):
                return None
            done = found.status == "completed" and other.processing_status == "ended"
            return (found, other) if done else None

        found, other = victim.wait_for(ended, 60, "end of the batches")
        assert found.request_counts.to_dict() == {"total": LINES + 1, "completed": LINES, "failed": 1}
        results = parsed(sdk.files.content(found.output_file_id).content)
        assert sorted(line["custom_id"] for line in results) == sorted(f"line-{at}" for at in range(LINES))
        assert all(line["response"]["body"]["usage"]["completion_tokens"] == 20 for line in results)
        (failed,) = parsed(sdk.files.content(found.error_file_id).content)
        assert (failed["custom_id"], failed["response"]["status_code"]) == ("refused", 400)
        assert other.request_counts.succeeded == 4
        of_messages = list(claude.messages.batches.results(messages.id))
        assert sorted(line.custom_id for line in of_messages) == ["m0", "m1", "m2", "m3"]
        assert {line.result.type for line in of_messages} == {"succeeded"}
        assert claude.messages.batches.delete(messages.id).type == "message_batch_deleted"
    victim.wait_for(lambda: not client.xlen("{stoker}:ended"), 10, "count of all lines")
    assert counted_requests(client, "slow") == before + LINES + 4


def test_a_frozen_worker_loses_its_lease_and_is_replaced(victim: Platform) -> None:
    stream = Stream(victim)
    assert stream.has_output.wait(scaled(10))
    (worker,) = victim.pids("stoker worker")
    frozen = time.monotonic()
    freeze(worker)
    last = stream.end(20)
    assert stream.ended_at - frozen < LEASE_PROMISE_S + 1
    assert "worker_lost" in last["response"]["error"]["message"]
    os.kill(worker, signal.SIGCONT)
    # it is fenced and exits, and a fresh worker takes over
    victim.wait_for(lambda: victim.pids("stoker worker") not in ([worker], []), 20, "fresh worker")
    victim.wait_state("slow", "loaded")


def test_ctrl_c_ends_the_event_streams_and_leaves_no_process_behind(tmp_path: Path) -> None:
    local = {"models": {"stub": {"backend": "stub", "enabled": True}}}
    with running_platform(tmp_path / "up", local, "--port", "0") as platform:
        platform.wait_state("stub", "loaded", 60)
        folder = str(platform.folder)
        assert len(processes_of(folder)) > 5
        with following(platform) as follower:
            began = time.monotonic()
            assert platform.stop() == 0
            assert time.monotonic() - began < 10
            assert follower.ended.wait(2)
        assert processes_of(folder) == {}


def test_a_platform_started_in_the_background_of_a_script_stops_at_sigint_too(tmp_path: Path) -> None:
    local = {"models": {"stoker-demo": {"enabled": False}}}
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)  # as `command &` in a script leaves it
    try:
        with running_platform(tmp_path / "up", local, "--port", "0", "--no-flower") as platform:
            assert platform.stop() == 0
            assert processes_of(str(platform.folder)) == {}
    finally:
        signal.signal(signal.SIGINT, before)


def test_a_killed_supervisor_leaves_no_process_behind(tmp_path: Path) -> None:
    local = {"models": {"stub": {"backend": "stub", "enabled": True}, "stoker-demo": {"enabled": False}}}
    with running_platform(tmp_path / "up", local, "--port", "0", "--no-flower") as platform:
        platform.wait_state("stub", "loaded", 60)
        platform.process.kill()
        platform.process.wait()
        wait_until(lambda: processes_of(str(platform.folder)) == {}, 15)
