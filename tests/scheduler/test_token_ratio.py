"""How many tokens a prompt has for each that is estimated from its bytes: measured by what engines report."""

from __future__ import annotations

from dataclasses import replace
from zlib import crc32

import pytest
import redis

from config.settings import QueueSettings, Settings
from scheduler.prefix_table import BUCKETS
from tests.support.simulated_platform import SimulatedPlatform

ESTIMATE = 3_000
"""The tokens of each prompt, by its bytes."""


@pytest.fixture
def platform(client: redis.Redis, settings: Settings) -> SimulatedPlatform:
    """Two replicas."""
    queue = QueueSettings(max_depth=1000, max_depth_per_tenant=1000)
    platform = SimulatedPlatform(client, replace(settings, queue=queue))
    for number in (1, 2):
        platform.register(f"w{number}")
    platform.load(replicas=2, slots=3)
    return platform


def admit(
    platform: SimulatedPlatform,
    chat: int,
    tenant: str = "one",
    estimate: int = ESTIMATE,
    is_measured: bool = True,
) -> str:
    keys = [(bytes([chat]) * 8, estimate)]
    return platform.admit(tenant, prefix_keys=keys, locality="fair", cost=40_000, is_measured=is_measured)


def ask(platform: SimulatedPlatform, chat: int, tokens: int, **more: int | str | bool) -> None:
    """Let an engine answer a prompt that has so many tokens."""
    answer(platform, admit(platform, chat, **more), tokens)  # type: ignore[arg-type]


def answer(platform: SimulatedPlatform, id: str, tokens: int) -> None:
    """End a running job."""
    usage = f'{{"input_tokens":{tokens},"output_tokens":10,"cached_tokens":0}}'
    platform.release(platform.run(id, platform.field(id, "worker")), usage=usage, tokens=tokens)


def known(platform: SimulatedPlatform, chat: int, tenant: str = "one") -> int:
    """How many tokens of a chat's next prompt a replica has, as far as the scheduler knows."""
    return int(platform.field(admit(platform, chat, tenant), "reuse").split(" ")[0])


def ratio(platform: SimulatedPlatform, tenant: str = "one") -> float | None:
    bucket = str(crc32(tenant.encode()) % BUCKETS)
    stored = platform.client.hget(f"{platform.prefix}prefixes:alpha", bucket)
    return None if stored is None else float(stored)  # type: ignore[arg-type]


def test_a_cached_prefix_has_the_tokens_of_its_language(platform: SimulatedPlatform) -> None:
    ask(platform, 1, 9_000)
    assert ratio(platform) == 3
    assert known(platform, 1) == 9_000


def test_a_ratio_follows_the_prompts_by_one_fifth(platform: SimulatedPlatform) -> None:
    ask(platform, 1, 9_000)
    ask(platform, 2, 6_000)
    assert ratio(platform) == 2.8


def test_a_prompt_near_the_average_writes_nothing(platform: SimulatedPlatform) -> None:
    ask(platform, 1, 9_000)
    ask(platform, 2, 9_600)
    assert ratio(platform) == 3


@pytest.mark.parametrize(("tokens", "bound"), [(1, 0.25), (900_000, 8)])
def test_a_ratio_is_bounded_whatever_an_engine_reports(
    platform: SimulatedPlatform, tokens: int, bound: float
) -> None:
    ask(platform, 1, tokens)
    assert ratio(platform) == bound


def test_a_tenant_does_not_change_the_ratio_of_another_bucket(platform: SimulatedPlatform) -> None:
    ask(platform, 1, 9_000)
    ask(platform, 2, ESTIMATE, tenant="two")
    assert (ratio(platform), ratio(platform, "two")) == (3, 1)
    assert known(platform, 2, "two") == ESTIMATE


def test_a_short_prompt_does_not_change_the_ratio(platform: SimulatedPlatform) -> None:
    """The template's own tokens are a large part of it."""
    ask(platform, 1, 200, estimate=100)
    assert ratio(platform) is None


def test_a_job_that_ends_after_its_models_unload_makes_no_table(platform: SimulatedPlatform) -> None:
    id = admit(platform, 1)
    claim = platform.run(id, platform.field(id, "worker"))
    platform.client.delete(f"{platform.prefix}prefixes:alpha")
    platform.release(claim, usage='{"input_tokens":9000,"output_tokens":1}', tokens=9_000)
    assert not platform.client.exists(f"{platform.prefix}prefixes:alpha")


def test_a_prompt_that_is_not_measured_does_not_change_the_ratio(platform: SimulatedPlatform) -> None:
    """It may have been truncated, or have images."""
    ask(platform, 1, 9_000, is_measured=False)
    assert ratio(platform) is None


def test_jobs_that_run_at_once_all_count(platform: SimulatedPlatform) -> None:
    ask(platform, 9, 3_000)
    claims = [
        platform.run(id, platform.field(id, "worker")) for id in (admit(platform, 1), admit(platform, 2))
    ]
    for claim in claims:
        platform.release(claim, usage='{"input_tokens":6000,"output_tokens":1}', tokens=6_000)
    assert ratio(platform) == 1.36  # 1, then 1.2


def test_a_dropped_prefix_is_noticed_though_the_ratio_is_high(platform: SimulatedPlatform) -> None:
    for tokens in (3_300, 3_000, 3_000, 3_000):  # by the last one the prefix must have been stored
        id = admit(platform, 1)
        answer(platform, id, tokens)
    floor = platform.client.hget(f"{platform.prefix}replica:{platform.field(id, 'replica')}", "cache_floor")
    assert floor is not None


def test_a_version_before_reads_the_charge_of_a_job(platform: SimulatedPlatform) -> None:
    """It is the last word: both versions run while a platform is updated (decision 27)."""
    ask(platform, 1, 9_000)
    words = platform.field(admit(platform, 1), "reuse").split(" ")
    assert (len(words), float(words[-1])) == (6, 40_000 - 0.9 * 9_000)
