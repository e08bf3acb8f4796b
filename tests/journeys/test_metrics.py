"""The metrics of a running platform: exact over its processes, and read by a real Prometheus."""

from __future__ import annotations

import json
import subprocess
import time
import urllib.parse
import urllib.request
from base64 import b64encode
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families as parse

from api.operations.metrics.collector import CACHE_S
from tests.conftest import free_port
from tests.deploy.monitoring import ALERTS, PROMETHEUS, alert_rules, dashboard_expressions, program
from tests.journeys.conftest import ON_THE_CPU
from tests.support.platform import Platform, running_platform
from tests.support.waiting import scaled, wait_until

pytestmark = [pytest.mark.journey, pytest.mark.slow]

REQUESTS = 200
PARAMS = {"max_tokens": 4, "messages": [{"role": "user", "content": "/stub tokens=2"}]}
NEEDS_A_GPU = {
    "vllm_gpu_memory_used",
    "stoker_gpu_memory_bytes",
    "stoker_model_memory_bytes",
    "stoker_kv_cache_usage_ratio",
}
"""Without a GPU, and with an engine that has no KV cache, these have no samples."""


@pytest.fixture(scope="module")
def platform(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Platform]:
    """Two API processes that serve the metrics on a further port."""
    local = {
        "api": {"processes": 2},
        "metrics": {"port": free_port()},
        "models": {
            "stub": {"backend": "stub", "enabled": True, "target_inflight": 8},
            "scribe": {"backend": "stub", "enabled": True, "stub_media": "transcript"},
            "painter": {"backend": "stub", "enabled": True, "stub_media": "image"},
        },
        "webhooks": {
            "allowed_hosts": ["hooks.example"],
            "targets": {
                "ops": {
                    "url": "https://hooks.example",
                    "secret_variable": "HOOK_SECRET",
                    "events": ["alert.firing"],
                }
            },
        },
    }
    secret = f"whsec_{b64encode(bytes(32)).decode()}"
    folder = tmp_path_factory.mktemp("metrics")
    with running_platform(
        folder, local, "--port", "0", "--no-flower", environment={**ON_THE_CPU, "HOOK_SECRET": secret}
    ) as platform:
        platform.wait_state("stub", "loaded", 60)
        platform.metrics_url = f"http://127.0.0.1:{local['metrics']['port']}/metrics"
        yield platform


def scraped(url: str) -> str:
    with urllib.request.urlopen(url, timeout=scaled(10)) as answer:
        return str(answer.read().decode())


def read_anew(url: str) -> str:
    """The metrics, of which no part was read before this call: a process uses a read for `CACHE_S`."""
    time.sleep(2 * CACHE_S)  # also a read that was under way has been replaced
    return scraped(url)


def value(text: str, name: str, **labels: str) -> float:
    samples = [sample for family in parse(text) for sample in family.samples if sample.name == name]
    return sum(sample.value for sample in samples if labels.items() <= sample.labels.items())


def send_requests(platform: Platform) -> None:
    """Requests that succeed, fail and are refused, over many connections to both processes."""

    def one(number: int) -> None:
        text = "/stub error=invalid_prompt" if number % 10 == 9 else "/stub tokens=4"
        platform.respond("stub" if number % 4 else "nobody", text, store=False)

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(one, range(REQUESTS)))


def exceed_a_limit(platform: Platform) -> None:
    """Requests of a tenant that may send one, and which has a budget."""
    limits = {"rate_limit": "1req/hour", "budget_tokens": 1_000_000, "budget_soft": 0.8}
    platform.admin("POST", "/v1/admin/tenants", {"name": "limited", **limits})
    _, created = platform.admin("POST", "/v1/admin/keys", {"tenant": "limited", "scopes": ["inference"]})
    body = {"model": "stub", "input": "/stub tokens=1"}
    # 401 until each process knows the key
    platform.wait_for(
        lambda: platform.call("POST", "/v1/responses", body, created["key"])[0] == 429, 10, "refusal"
    )


def test_the_counts_are_exact_over_all_processes(platform: Platform) -> None:
    before = read_anew(platform.metrics_url)
    send_requests(platform)
    admitted, failing = REQUESTS * 3 // 4, sum(number % 4 > 0 for number in range(9, REQUESTS, 10))
    expected = {"success": admitted - failing, "error": failing}

    def counted() -> dict[str, float]:
        now = scraped(platform.metrics_url)
        return {
            status: value(now, "vllm_requests_total", model="stub", tenant="default", status=status)
            - value(before, "vllm_requests_total", model="stub", tenant="default", status=status)
            for status in expected
        }

    platform.wait_for(lambda: counted() == expected, 10, "count of all requests")
    platform.wait_for(
        lambda: (
            value(scraped(platform.metrics_url), "stoker_refusals_total", code="unknown_model")
            - value(before, "stoker_refusals_total", code="unknown_model")
            == REQUESTS // 4
        ),
        10,
        "count of all refusals",
    )
    after = read_anew(platform.metrics_url)
    count = value(after, "vllm_inference_duration_seconds_count", model="stub")
    assert count == value(after, "vllm_requests_total", model="stub")
    assert value(after, "stoker_api_processes") == 2
    status, usage = platform.call("GET", "/v1/admin/usage", key=platform.keys["admin_key"])
    assert (status, usage["totals"]["requests"]) == (200, count)
    assert usage["totals"]["output_tokens"] == value(after, "stoker_tokens_total", kind="output")


def test_the_tokens_of_a_long_request_count_before_its_end(platform: Platform) -> None:
    def rate() -> float:
        status, recent = platform.admin("GET", "/v1/admin/metrics/recent?limit=1&tenant=patient")
        assert status == 200, recent
        return max((one["output_tokens_per_s"] or 0 for one in recent["samples"]), default=0)

    platform.admin("POST", "/v1/admin/tenants", {"name": "patient"})
    key = platform.admin("POST", "/v1/admin/keys", {"tenant": "patient"})[1]["key"]
    body = {"model": "stub", "input": "/stub tokens=100000 tokens_per_s=100", "background": True}
    # 401 until each process knows the key
    answer = platform.wait_for(
        lambda: (sent := platform.call("POST", "/v1/responses", body, key))[0] == 200 and sent[1],
        10,
        "answer",
    )
    platform.wait_for(lambda: rate() > 1, 45, "tokens of the running request")
    metrics = read_anew(platform.metrics_url)
    assert value(metrics, "stoker_processed_tokens_total", tenant="patient", kind="output") > 10
    assert value(metrics, "stoker_tokens_total", tenant="patient") == 0
    path = f"/v1/responses/{answer['id']}"
    platform.wait_for(lambda: platform.call("POST", f"{path}/cancel", key=key)[0] == 200, 10, "cancel")

    def counted() -> tuple[float, float]:
        """The output tokens of the request as they were processed, and as they are billed."""
        now = scraped(platform.metrics_url)
        return (
            value(now, "stoker_processed_tokens_total", tenant="patient", kind="output"),
            value(now, "stoker_tokens_total", tenant="patient", kind="output"),
        )

    platform.wait_for(lambda: counted()[1] > 0 and counted()[0] == counted()[1], 10, "the same count")


def test_batches_are_counted(platform: Platform) -> None:
    before = read_anew(platform.metrics_url)
    requests = [
        {"custom_id": str(number), "params": {**PARAMS, "model": model}}
        for number, model in enumerate(("stub", "stub", "nobody"))
    ]
    _, batch = platform.call("POST", "/v1/messages/batches", {"requests": requests})

    def grown() -> list[float]:
        """What one process counts, which may have read it up to a second ago."""
        after = scraped(platform.metrics_url)

        def change(name: str, **labels: str) -> float:
            return value(after, name, **labels) - value(before, name, **labels)

        return [
            change("stoker_batch_lines_total", kind="messages", outcome="succeeded"),
            change("stoker_batch_lines_total", kind="messages", outcome="errored"),
            change("stoker_batches_ended_total", kind="messages", state="completed"),
            change("stoker_batches_ended_total"),
            value(after, "stoker_batch_lines_open"),
        ]

    platform.wait_for(lambda: grown() == [2, 1, 1, 1, 0], 20, f"count of {batch['id']}")


def test_the_port_of_the_api_asks_for_a_key(platform: Platform) -> None:
    assert platform.call("GET", "/metrics")[0] == 403
    request = urllib.request.Request(
        platform.url + "/metrics", headers={"x-api-key": platform.keys["admin_key"]}
    )
    with urllib.request.urlopen(request) as answer:
        assert "stoker_up 1.0" in answer.read().decode()


def test_promtool_finds_no_problem_in_the_metrics(platform: Platform) -> None:
    send_requests(platform)
    checked = subprocess.run(
        [program("promtool"), "check", "metrics"],
        input=scraped(platform.metrics_url),
        capture_output=True,
        text=True,
        check=False,
    )
    assert (checked.returncode, checked.stdout, checked.stderr) == (0, "", "")


@pytest.fixture
def prometheus(platform: Platform, tmp_path: Path) -> Iterator[str]:
    """The address of a Prometheus with the configuration of deploy/, which scrapes every second."""
    path = program("prometheus")
    configuration = yaml.safe_load(PROMETHEUS.read_text())
    configuration["global"] = {"scrape_interval": "1s", "evaluation_interval": "1s"}
    configuration["rule_files"] = [str(ALERTS)]
    address = platform.metrics_url.removeprefix("http://").removesuffix("/metrics")
    configuration["scrape_configs"][0]["static_configs"] = [{"targets": [address]}]
    (tmp_path / "prometheus.yml").write_text(yaml.safe_dump(configuration))
    port = free_port()
    process = subprocess.Popen(
        [
            path,
            f"--config.file={tmp_path / 'prometheus.yml'}",
            f"--storage.tsdb.path={tmp_path / 'data'}",
            f"--web.listen-address=127.0.0.1:{port}",
        ],
        stdout=subprocess.DEVNULL,
        stderr=(tmp_path / "prometheus.log").open("w"),
    )
    yield f"http://127.0.0.1:{port}"
    process.terminate()
    process.wait(scaled(10))


def query(prometheus: str, expression: str) -> list[Any]:
    url = f"{prometheus}/api/v1/query?{urllib.parse.urlencode({'query': expression})}"
    try:
        return list(json.loads(scraped(url))["data"]["result"])
    except OSError:
        return []  # it starts


def send_audio_and_images(platform: Platform) -> None:
    """A transcription and an image through OpenAI's SDK."""
    for model in ("scribe", "painter"):
        platform.wait_state(model, "loaded", 60)
    with platform.sdk() as sdk:
        sdk.audio.transcriptions.create(model="scribe", file=("spoken.wav", b"one two three"))
        sdk.images.generate(model="painter", prompt="a fox")


def test_prometheus_gets_data_for_every_query_of_the_dashboard(platform: Platform, prometheus: str) -> None:
    platform.wait_for(lambda: query(prometheus, "stoker_up"), 30, "scrape")
    send_requests(platform)
    send_audio_and_images(platform)
    exceed_a_limit(platform)
    expressions = {
        expression
        for _, expression in dashboard_expressions()
        if not any(name in expression for name in NEEDS_A_GPU)
    }
    assert len(expressions) > 30
    empty = expressions

    def none_is_empty() -> bool:
        nonlocal empty
        empty = {expression for expression in empty if not query(prometheus, expression)}
        return not empty

    wait_until(none_is_empty, 20, lambda: empty)
    rules = json.loads(scraped(f"{prometheus}/api/v1/rules"))["data"]["groups"][0]["rules"]
    assert {rule["name"] for rule in rules} == {rule["alert"] for rule in alert_rules()}
    assert [rule["lastError"] for rule in rules if rule.get("lastError")] == []
    firing = [rule["name"] for rule in rules if rule["state"] == "firing"]
    assert firing == []
