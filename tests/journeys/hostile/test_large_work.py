"""One tenant asks for much work with few requests; a second one sends short requests meanwhile."""

from __future__ import annotations

import gzip
import importlib
import itertools
import json
import threading
import time
import urllib.error
import urllib.request
import zlib
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256

import openai
import pytest

from api.http.content_encoding import decoders
from api.inference.conversations.store import MAX_TURNS
from tests.support.batch_lines import chat_line, jsonl
from tests.support.platform import Platform, running_platform
from tests.support.waiting import scaled, wait_until

pytestmark = [pytest.mark.journey, pytest.mark.hostile]

GREEDY, MODEST = "sk-greedy", "sk-modest"
SENDERS, SAMPLES = 4, 25
GROWTH_S = 0.3
"""The work shares the processors with the second tenant, whose p95 may grow by this."""

MODELS = {
    "stoker-demo": {"enabled": False},
    "quick": {"backend": "stub", "enabled": True, "target_inflight": 16},
    "vectors": {"backend": "stub", "enabled": True, "target_inflight": 16, "stub_dimensions": 4096},
    "wide": {"backend": "stub", "enabled": True, "target_inflight": MAX_TURNS},
}
VECTORS = 190
"""Of 4096 numbers: a log of nearly `limits.max_log_bytes`, and an answer of 17 MB."""

FILES, LINES = 100, 10_000


@pytest.fixture(scope="module")
def platform(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Platform]:
    tenants = {
        name: {"api_keys_sha256": [sha256(key.encode()).hexdigest()]}
        for name, key in (("greedy", GREEDY), ("modest", MODEST))
    }
    local = {"tenants": tenants, "models": MODELS}
    folder = tmp_path_factory.mktemp("large_work") / "up"
    with running_platform(folder, local, "--port", "0", "--no-flower") as platform:
        for name in ("quick", "vectors", "wide"):
            platform.wait_state(name, "loaded", 60)
        p95(platform)  # warms up
        yield platform


def call(platform: Platform, key: str, path: str, data: bytes | None = None, encoding: str = "") -> int:
    """Send a request and read the whole answer; returns its status."""
    headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
    if encoding:
        headers["Content-Encoding"] = encoding
    request = urllib.request.Request(f"{platform.url}{path}", data, headers)
    try:
        with urllib.request.urlopen(request, timeout=scaled(60)) as answer:
            while answer.read(1 << 20):
                pass
            return int(answer.status)
    except urllib.error.HTTPError as error:
        error.read()
        return error.code


def p95(platform: Platform) -> float:
    """The p95 of short requests of the second tenant, in seconds."""
    times = []
    body = json.dumps({"model": "quick", "input": "/stub tokens=2"}).encode()
    for _ in range(SAMPLES):
        began = time.monotonic()
        assert call(platform, MODEST, "/v1/responses", body) == 200
        times.append(time.monotonic() - began)
    return sorted(times)[int(0.95 * (SAMPLES - 1))]


def check_undisturbed(platform: Platform, send: Callable[[], int], expected: set[int]) -> None:
    """Fail if the second tenant's p95 grows while the senders of the first one repeat `send`."""
    quiet = p95(platform)
    ended, statuses = threading.Event(), list[int]()

    def repeat() -> None:
        while not ended.is_set():
            statuses.append(send())

    threads = [threading.Thread(target=repeat) for _ in range(SENDERS)]
    for thread in threads:
        thread.start()
    try:
        disturbed = p95(platform)
        wait_until(lambda: len(statuses) >= SENDERS, 30)
    finally:
        ended.set()
        for thread in threads:
            thread.join()
    assert set(statuses) == expected
    assert disturbed < quiet + scaled(GROWTH_S), (
        f"p95 {1000 * disturbed:.0f} ms, {1000 * quiet:.0f} ms when quiet"
    )


@pytest.mark.parametrize(
    ("path", "fields"),
    [
        ("/v1/embeddings", {"encoding_format": "float"}),
        ("/v1/embeddings", {"encoding_format": "base64"}),
        ("/api/embed", {}),
    ],
    ids=["float", "base64", "ollama"],
)
def test_answers_with_many_vectors_leave_others_undisturbed(
    platform: Platform, path: str, fields: dict[str, str]
) -> None:
    body = json.dumps({"model": "vectors", "input": ["a"] * VECTORS, **fields}).encode()
    check_undisturbed(platform, lambda: call(platform, GREEDY, path, body), {200})


def compressed(encoding: str, data: bytes) -> bytes:
    if encoding in ("gzip", "x-gzip"):
        return gzip.compress(data)
    if encoding == "deflate":
        return zlib.compress(data)
    if encoding == "br":
        return bytes(importlib.import_module("brotli").compress(data, quality=1))
    return bytes(importlib.import_module("backports.zstd").compress(data))


def test_compressed_bodies_leave_others_undisturbed(platform: Platform) -> None:
    large = json.dumps({"model": "none", "input": "word " * 1_000_000}).encode()
    encodings = sorted(set(decoders()) - {"x-gzip"})
    assert {"gzip", "deflate"} <= set(encodings)
    bodies = [
        (compressed(encoding, content), encoding)
        for encoding in encodings
        for content in (large, b" " * 30_000_000)
    ]
    turns = itertools.cycle(bodies)
    check_undisturbed(platform, lambda: call(platform, GREEDY, "/v1/responses", *next(turns)), {404, 413})


def client(platform: Platform, key: str) -> openai.OpenAI:
    return openai.OpenAI(base_url=f"{platform.url}/v1", api_key=key, timeout=scaled(60), max_retries=0)


def test_lists_of_many_files_leave_others_undisturbed(platform: Platform) -> None:
    greedy = client(platform, GREEDY)
    for _ in range(FILES):
        greedy.files.create(file=("a", b"x"), purpose="user_data")
    check_undisturbed(platform, lambda: call(platform, GREEDY, "/v1/files"), {200})


def begin_batch(tenant: openai.OpenAI, lines: int) -> str:
    content = jsonl(*(chat_line(f"{at}", "/stub tokens=1", "quick") for at in range(lines)))
    file = tenant.files.create(file=("lines.jsonl", content), purpose="batch")
    batch = tenant.batches.create(
        input_file_id=file.id, endpoint="/v1/chat/completions", completion_window="24h"
    )
    return batch.id


def test_a_large_batch_delays_neither_batches_nor_requests_of_others(platform: Platform) -> None:
    greedy, modest = client(platform, GREEDY), client(platform, MODEST)
    quiet = p95(platform)
    large, small = begin_batch(greedy, LINES), begin_batch(modest, 1)
    wait_until(lambda: modest.batches.retrieve(small).status == "completed", 30)
    assert greedy.batches.retrieve(large).status in ("validating", "in_progress")
    running = p95(platform)
    greedy.batches.cancel(large)
    small = begin_batch(modest, 1)
    cancelling = p95(platform)
    wait_until(lambda: modest.batches.retrieve(small).status == "completed", 30)
    wait_until(lambda: greedy.batches.retrieve(large).status == "cancelled", 60)
    assert max(running, cancelling) < quiet + scaled(GROWTH_S)


def test_as_many_turns_of_a_conversation_as_may_run_leave_others_undisturbed(platform: Platform) -> None:
    """Half of them answer one message, the others have messages of their own."""
    quiet, sdk = p95(platform), client(platform, GREEDY)
    id = sdk.conversations.create().id
    shared = f"msg_{'0' * 32}"

    def answer(at: int) -> str:
        own = shared if at % 2 else f"msg_{at + 1:032}"
        text = f"/stub tokens=60 tokens_per_s={6 / scaled(1):g}"
        response = sdk.responses.create(
            model="wide",
            input=[{"id": own, "role": "user", "content": text}],  # type: ignore[list-item]
            extra_body={"conversation": {"id": id, "parent": None}},
        )
        assert len(response.output_text.split()) == 60
        return f"{own} {response.output[-1].id}"

    def turns() -> int:
        return len(sdk.conversations.retrieve(id).turns)  # type: ignore[attr-defined]

    with ThreadPoolExecutor(MAX_TURNS) as pool:
        sent = [pool.submit(answer, at) for at in range(MAX_TURNS)]
        wait_until(lambda: turns() == MAX_TURNS or any(one.done() for one in sent), 20)
        running = p95(platform)
        assert turns() == MAX_TURNS, [one.exception() for one in sent if one.done()]
        answers = {one.result() for one in sent}
    items = list(sdk.conversations.items.list(id, order="asc", limit=100))
    places = {str(item.id): at for at, item in enumerate(items)}
    assert len(places) == len(items) == MAX_TURNS + 1 + MAX_TURNS // 2
    edges = {(item.parent_id, item.id) for item in items}  # type: ignore[union-attr]
    assert {f"{parent} {child}" for parent, child in edges if parent} == answers
    assert all(places[parent] < places[child] for parent, child in edges if parent)
    latest_first = list(sdk.conversations.items.list(id, limit=7))
    assert [item.id for item in latest_first] == [item.id for item in reversed(items)]
    assert running < quiet + scaled(GROWTH_S), (
        f"p95 {1000 * running:.0f} ms, {1000 * quiet:.0f} ms when quiet"
    )
