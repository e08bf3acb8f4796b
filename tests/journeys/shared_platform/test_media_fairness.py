"""Two tenants of the weights 3 and 1 wait for one model of audio or images: each gets its share."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import openai
import pytest

from streams.events import End, Usage, decode
from tests.support.platform import Platform
from tests.support.runner_checks import capabilities

pytestmark = pytest.mark.journey

WEIGHTS = {"small": 1, "large": 3}
WAITING = {"small": 22, "large": 30}
"""More than are served of each."""

SERVED = 40
HOLD = "/stub tokens_per_s=2 tokens=1000 x"
"""Directives for which a stub works until its client leaves."""


def transcribe(sdk: openai.OpenAI, tenant: str, stream: bool = False) -> Any:
    """A recording of 2 s for the small tenant and of 4 s for the large one."""
    said = {"small": "one two", "large": "one two three four"}.get(tenant, HOLD)
    return sdk.audio.transcriptions.create(
        model="lone_scribe", file=("a.wav", said.encode()), stream=stream or openai.omit
    )


def paint(sdk: openai.OpenAI, tenant: str, stream: bool = False) -> Any:
    """An image of 10 million computed pixels for the small tenant and of 20 million for the large one."""
    prompt, steps = {"small": ("a square", 10), "large": ("a square", 20)}.get(tenant, (HOLD, 1000))
    return sdk.images.generate(
        model="lone_painter",
        prompt=prompt,
        size="1000x1000",  # type: ignore[arg-type]
        stream=stream or openai.omit,
        extra_body={"steps": steps},
    )


@pytest.fixture(scope="module")
def tenants(shared: Platform) -> Iterator[dict[str, openai.OpenAI]]:
    """A client of each tenant, and as `""` one of the default tenant.

    They repeat refused requests: a tenant may send only a few uploads at once.
    """
    with contextlib.ExitStack() as stack:
        clients = {"": stack.enter_context(shared.sdk())}
        for name, weight in WEIGHTS.items():
            assert shared.admin("POST", "/v1/admin/tenants", {"name": name, "weight": weight})[0] == 201
            stack.callback(shared.admin, "DELETE", f"/v1/admin/tenants/{name}")
            key = shared.admin("POST", "/v1/admin/keys", {"tenant": name})[1]["key"]
            shared.wait_for(lambda key=key: shared.call("GET", "/v1/models", key=key)[0] == 200, 10, "key")
            clients[name] = stack.enter_context(shared.sdk().with_options(api_key=key, max_retries=100))
        yield clients


@pytest.mark.rule("runner/media-queue", "runner/media-queue-depth")
@pytest.mark.parametrize(
    ("model", "ask", "unit"),
    [("lone_scribe", transcribe, "audio_ms"), ("lone_painter", paint, "pixel_steps")],
)
def test_tenants_get_audio_and_pixels_by_their_weights(
    shared: Platform, tenants: dict[str, openai.OpenAI], model: str, ask: Callable[..., Any], unit: str
) -> None:
    shared.load(model)
    try:
        with ThreadPoolExecutor(sum(WAITING.values())) as threads:
            with ask(tenants[""], "", stream=True):  # it holds the only slot until all others wait
                shared.wait_for(lambda: shared.model(model)["inflight_requests"] == 1, 20, "a running job")
                answers = [
                    threads.submit(ask, tenants[name], name) for name in WEIGHTS for _ in range(WAITING[name])
                ]
                waiting = sum(WAITING.values())
                shared.wait_for(lambda: shared.model(model)["queue_depth"] == waiting, 60, "waiting jobs")
                shared.wait_for(lambda: queue_depth(shared, model) == waiting, 10, "their number")
            for answer in answers:
                answer.result()
        processed: Counter[str] = Counter()
        for tenant, usage in served(shared, model)[1 : SERVED + 1]:  # after the one that held the slot
            processed[tenant] += getattr(usage, unit)
        assert processed["large"] / processed["small"] == pytest.approx(3, rel=0.1)
    finally:
        shared.run_operation("unload", model)


def queue_depth(platform: Platform, model: str) -> int:
    """The length of a model's queue as a router sees it; 0 before it sees the model."""
    found = capabilities(platform)["models"]["loaded"]
    return next((int(one["queue"]["depth"]) for one in found if one["id"] == model), 0)


def served(platform: Platform, model: str) -> list[tuple[str, Usage]]:
    """The tenants of the jobs of a model and what was processed, in the order of their dispatches."""
    redis = platform.redis()
    jobs = []
    for key in redis.scan_iter("{stoker}:job:*"):
        job: Any = redis.hgetall(key)
        if job[b"model"].decode() == model:
            ((_, last),) = redis.xrevrange(key.replace(b":job:", b":log:"), count=1)
            end = decode(last[b"e"])
            assert isinstance(end, End)
            jobs.append((int(job[b"fence"]), job[b"tenant"].decode(), end.usage or Usage()))
    return [(tenant, usage) for _, tenant, usage in sorted(jobs, key=lambda job: job[0])]
