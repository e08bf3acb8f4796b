"""docs/operations.md matches the messages, codes, services and defaults of the code."""

from __future__ import annotations

import inspect
import re

import pytest
import yaml

from api.http.errors import CODES
from config.settings import (
    ROOT,
    ApiSettings,
    LeaseSettings,
    LimitSettings,
    QueueSettings,
    ResponseSettings,
    WorkerSettings,
)
from fleet.serving_state import ServingState
from governance.audit.chain_store import MAX_RECORDS
from stoker.process_log import MAX_LOG_BYTES, OLD_LOGS
from telemetry.record_limit import RECORDS_OF_A_KIND, WINDOW_S
from tests.docs.page import PACKAGES, blocks, code, read, rows, section
from tests.support.redis_keys import KEYS
from workers.agent import EX_TEMPFAIL, RECOVERY_INTERVAL_S
from workers.replica_manager import MAX_OLD_ENGINE_LOGS
from workers.stall_detector import CANCEL_TIMEOUT_S

NO_SENTENCE = re.compile(
    r"[a-z_]+(\.[a-z_]+)?|[A-Z_]+|/.*|--.*|\S+\.log|stoker .*|cpu\d|nvidia-smi|\"device\": \"cuda\"|printf %s"
)
"""Inline code in the table of problems that is no message."""


@pytest.fixture(scope="module")
def page():
    return read("operations.md")


@pytest.fixture(scope="module")
def compose():
    return (ROOT / "docker-compose.yml").read_text()


def on_one_line(text):
    return re.sub(r"\s+", " ", text)


def test_every_quoted_message_exists_in_the_source(page):
    paths = (
        path for package in PACKAGES for kind in ("*.py", "*.lua") for path in (ROOT / package).rglob(kind)
    )
    source = "\n".join(path.read_text() for path in paths)
    problems = [row for row in rows(section(page, "Troubleshooting")) if len(row) == 3]
    quoted = [
        quote
        for row in problems
        for cell in row[:2]
        for quote in code(cell)
        if not NO_SENTENCE.fullmatch(quote.strip())
    ]
    assert len(quoted) >= 20
    assert [quote for quote in quoted if quote not in source and quote not in source.replace("`", "")] == []


def test_every_named_error_code_exists(page):
    problems = section(page, "Troubleshooting")
    first = {
        quote for row in rows(problems) for quote in code(row[0]) if re.fullmatch(r"[a-z]+(_[a-z]+)+", quote)
    }
    assert first <= CODES.keys()
    reasons = code(section(page, "Monitoring"))
    given = re.findall(r'"(\w+)"', inspect.getsource(ServingState.problem))
    assert {"all_models_failed", "no_progress"} <= set(given)
    assert {"storage_unavailable", "storage_full", *given} <= set(reasons)


def test_every_variable_of_compose_is_documented(page, compose):
    explained = {quote: row[1] for row in rows(page) if len(row) == 3 for quote in code(row[0])}
    for name in set(re.findall(r"\$\{(\w+)", compose)):
        required = f"${{{name}:?" in compose
        assert explained[name] == ("yes" if required else ""), name
    written = next(block for block in blocks(page, "sh") if ".env" in block)
    assert set(re.findall(r"\$\{(\w+):\?", compose)) <= set(re.findall(r"^(\w+)=", written, re.MULTILINE))


def test_the_example_of_a_second_gpu_equals_the_first_worker(page, compose):
    (example,) = blocks(page, "yaml")
    services = yaml.safe_load(compose.replace("  flower:\n", f"{example}\n  flower:\n"))["services"]
    first, second = services["worker-gpu0"], services["worker-gpu1"]
    assert second["command"] == ["worker", "--name", "gpu1"]
    devices = second["deploy"]["resources"]["reservations"]["devices"]
    assert devices == [{"driver": "nvidia", "device_ids": ["1"], "capabilities": ["gpu"]}]
    assert {**second, "command": 0, "deploy": 0} == {**first, "command": 0, "deploy": 0}


def test_every_named_service_exists(page, compose):
    services = yaml.safe_load(compose)["services"].keys() | {"worker-gpu1"}
    text = "\n".join(blocks(page, "sh"))
    named = re.findall(
        r"(?:exec|cp|run --rm --no-deps) (\w+)|(?:stop|start|--detach|--force-recreate) ([a-z][\w-]+)", text
    )
    assert {one or other for one, other in named} <= services


def test_every_named_redis_key_exists(page):
    stored = rows(section(page, "Stored data"))[1:]
    named = [name for _, where, _ in stored if where.startswith("Redis") for name in code(where)]
    assert len(named) >= 10
    for name in named:
        if not name.startswith("{stoker}.celery:"):
            assert any(known.name == name or known.name.startswith(name) for known in KEYS), name


def test_the_numbers_are_the_shipped_defaults(page):
    text, lease, limits = on_one_line(page), LeaseSettings(), LimitSettings()
    promised = (lease.lease_ms + lease.reap_ms) / 1000 + 1
    assert f"| {promised:g} s (`lease.lease_ms` {lease.lease_ms / 1000:g} s, a tenth" in text
    assert lease.reap_ms == lease.lease_ms / 10
    assert "a tenth of it, 1 s)" in text
    assert f"{QueueSettings().timeout_ms // 60_000} min in the queue (`queue.timeout_ms`)" in text
    assert f"{limits.request_timeout_s / 60:.0f} min running (`limits.request_timeout_s`)" in text
    assert f"{WorkerSettings().drain_timeout_s:.0f} s (`worker.drain_timeout_s`)" in text
    assert f"({ApiSettings().graceful_timeout_s} seconds, in Compose 30)" in text
    assert f"killed after {CANCEL_TIMEOUT_S:.0f} s" in text
    assert f"within about {RECOVERY_INTERVAL_S:.0f} seconds" in text
    assert f"exits with {EX_TEMPFAIL}" in text
    assert f"the latest {MAX_RECORDS:,} records" in text
    assert f"Above {MAX_LOG_BYTES >> 20} MiB" in text
    assert f"the latest {OLD_LOGS} parts" in text
    assert f"{RECORDS_OF_A_KIND} of a kind in {WINDOW_S:.0f} seconds" in text
    assert f"the latest {MAX_OLD_ENGINE_LOGS} engines" in text
    assert ResponseSettings().retention_s == 3600
    assert "an hour of retention" in text
