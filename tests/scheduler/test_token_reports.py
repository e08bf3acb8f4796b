"""The tokens that workers report with their heartbeats, in `counters`."""

from __future__ import annotations

import pytest

from scheduler.counters import CounterStore
from scheduler.job import TokenCount, TokenReport
from store.errors import Fenced
from tests.support.simulated_platform import SimulatedPlatform


def counted(platform: SimulatedPlatform) -> dict[tuple[str, ...], tuple[int, int]]:
    """The input and output tokens by model and tenant."""
    counters = CounterStore(platform.client, platform.settings).read()
    read, written = (
        {tuple(labels): count for labels, count in counters.of_kind(f"processed_{kind}_tokens")}
        for kind in ("input", "output")
    )
    assert read.keys() == written.keys()
    return {labels: (read[labels], written[labels]) for labels in read}


def report(platform: SimulatedPlatform, number: int, *counts: TokenCount) -> None:
    platform.ledger.heartbeat("w1", platform.incarnations["w1"], TokenReport(number, counts))


def test_reports_add_up_and_the_repeat_of_one_counts_nothing(platform: SimulatedPlatform) -> None:
    platform.register()
    first = TokenCount("alpha", "acme", 5, 7), TokenCount("beta", "other", 0, 3), TokenCount("beta", "", 1, 1)
    report(platform, 1, *first)
    report(platform, 1, *first)
    assert counted(platform) == {("alpha", "acme"): (5, 7), ("beta", "other"): (1, 4)}
    report(platform, 2)
    report(platform, 3, TokenCount("alpha", "acme", 1, 0))
    assert counted(platform)["alpha", "acme"] == (6, 7)


def test_a_former_incarnation_counts_nothing_and_the_next_one_begins_anew(
    platform: SimulatedPlatform,
) -> None:
    count = TokenCount("alpha", "acme", 1, 1)
    former = platform.register()
    report(platform, 1, count)
    platform.register()
    with pytest.raises(Fenced):
        platform.ledger.heartbeat("w1", former, TokenReport(2, (count,)))
    assert counted(platform)["alpha", "acme"] == (1, 1)
    report(platform, 1, count)
    assert counted(platform)["alpha", "acme"] == (2, 2)
