"""Prompts that cannot fit into the context of a model are refused before they take a slot."""

from __future__ import annotations

import pytest
import redis

from config.settings import Settings
from fleet.engine_report import EngineReport
from store.errors import PromptTooLong
from tests.support.simulated_platform import SimulatedPlatform


def loaded(client: redis.Redis, settings: Settings, report: EngineReport) -> SimulatedPlatform:
    """A platform whose model has one slot and an engine with this report."""
    platform = SimulatedPlatform(client, settings)
    platform.register()
    (item,) = platform.fleet.load("alpha").assignments
    platform.starting(item.replica, item.worker)
    incarnation = platform.incarnations[item.worker]
    assert platform.fleet.replica_up(item.replica, item.worker, incarnation, 1, 4242, engine=report)
    return platform


def test_a_prompt_that_cannot_fit_is_refused_and_changes_nothing(
    client: redis.Redis, settings: Settings
) -> None:
    platform = loaded(client, settings, EngineReport(context=100, longest_token=4))
    before = set(client.keys(f"{platform.prefix}*"))  # keys of other tests expire
    with pytest.raises(PromptTooLong, match=r"^the prompt has at least 100 tokens; 99 fit$") as caught:
        platform.admit(prompt_bytes=400)
    assert caught.value.code == "context_length_exceeded"
    assert (set(client.keys(f"{platform.prefix}*")), platform.claims()) == (before, [])
    platform.admit(prompt_bytes=399)
    assert len(platform.claims()) == 1


@pytest.mark.parametrize("report", [EngineReport(context=100), EngineReport(longest_token=4), EngineReport()])
def test_a_prompt_is_admitted_when_the_engine_reports_no_bound(
    client: redis.Redis, settings: Settings, report: EngineReport
) -> None:
    platform = loaded(client, settings, report)
    platform.admit(prompt_bytes=10**9)
    assert len(platform.claims()) == 1
