"""One tenant sends prompts that cannot fit; a second one uses the same model of llama-server meanwhile."""

from __future__ import annotations

import json
import threading
import time
import urllib.error
import urllib.request
from hashlib import sha256
from pathlib import Path

import psutil
import pytest

from config.load import load_settings
from tests.support.platform import Platform, running_platform
from tests.support.waiting import scaled

pytestmark = [pytest.mark.journey, pytest.mark.hostile]

GREEDY, MODEST = "sk-greedy", "sk-modest"
SENDERS, PROMPT_BYTES, SAMPLES = 4, 7_000_000, 20
GROWTH_MIB = 64


def ask(platform: Platform, key: str, content: str) -> tuple[int, dict[str, object]]:
    body = {"model": "stoker-demo", "max_tokens": 4, "messages": [{"role": "user", "content": content}]}
    headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
    data = json.dumps(body).encode()
    request = urllib.request.Request(f"{platform.url}/v1/chat/completions", data, headers)
    try:
        with urllib.request.urlopen(request, timeout=scaled(30)) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as error:
        return error.code, json.load(error)


def p95(platform: Platform) -> float:
    """The p95 of short requests of the second tenant, in seconds."""
    times = []
    for _ in range(SAMPLES):
        began = time.monotonic()
        status, answer = ask(platform, MODEST, "Hi")
        assert status == 200, answer
        times.append(time.monotonic() - began)
    return sorted(times)[int(0.95 * (SAMPLES - 1))]


def engine_mib() -> float:
    """The resident memory of the engines that this test has started."""
    children = psutil.Process().children(recursive=True)
    engines = [one for one in children if "llama_server" in one.cmdline()]
    assert engines
    return sum(one.memory_info().rss for one in engines) / 2**20


def test_prompts_that_cannot_fit_cost_the_engine_nothing_and_leave_others_undisturbed(tmp_path: Path) -> None:
    tenants = {
        name: {"api_keys_sha256": [sha256(key.encode()).hexdigest()]}
        for name, key in (("greedy", GREEDY), ("modest", MODEST))
    }
    environment = {"CUDA_VISIBLE_DEVICES": "", "STOKER_RUNTIMES_DIR": str(load_settings().runtimes_dir)}
    with running_platform(
        tmp_path, {"tenants": tenants}, "--port", "0", "--no-flower", environment=environment
    ) as platform:
        platform.wait_state("stoker-demo", "loaded", 60)
        p95(platform)  # warms up
        quiet, before = p95(platform), engine_mib()
        ended, refusals = threading.Event(), list[tuple[int, str]]()

        def send() -> None:
            while not ended.is_set():
                status, answer = ask(platform, GREEDY, "word " * (PROMPT_BYTES // 5))
                refusals.append((status, str(answer["error"]["code"])))  # type: ignore[index]

        threads = [threading.Thread(target=send) for _ in range(SENDERS)]
        for thread in threads:
            thread.start()
        try:
            disturbed = p95(platform)
        finally:
            ended.set()
            for thread in threads:
                thread.join()
        grown = engine_mib() - before
    assert set(refusals) == {(400, "context_length_exceeded")}
    assert len(refusals) >= SENDERS
    assert grown < GROWTH_MIB
    # the senders and the reading of their bodies share the processors with the second tenant
    assert disturbed < quiet + scaled(1.0), f"p95 {1000 * disturbed:.0f} ms, {1000 * quiet:.0f} ms when quiet"
