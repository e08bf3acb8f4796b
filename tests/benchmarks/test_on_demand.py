"""The simulation of loads on demand: a short run, with the bars of the report as ratios."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from benchmarks.growth.server import measured_server
from benchmarks.on_demand.plots import bars, timeline
from benchmarks.on_demand.policies import POLICIES
from benchmarks.on_demand.report import figures, jain, missed_bars, percentile
from benchmarks.on_demand.simulation import Simulation
from benchmarks.on_demand.workload import WORKLOADS, adversary

pytestmark = pytest.mark.slow

SECONDS = 200.0


@pytest.mark.parametrize(
    "make",
    [pytest.param(make, marks=() if make is adversary else pytest.mark.hostile) for make in WORKLOADS],
    ids=lambda make: make.__name__,
)
def test_the_platform_loses_less_to_switching_and_starves_no_tenant(make, tmp_path: Path) -> None:
    workload = make(SECONDS)
    found, outcomes = {}, {}
    with measured_server(tmp_path, print) as server:
        for name in ("Stoker", "LRU with a queue"):
            simulation = Simulation(server, name.split()[0], workload, POLICIES[name])
            outcomes[name] = simulation.run(SECONDS)
            found[name] = figures(workload, outcomes[name])
    assert missed_bars(workload.name, found) == []
    assert all(outcomes["Stoker"].waits[tenant] for tenant in workload.honest)
    assert outcomes["Stoker"].failed == outcomes["Stoker"].refused == 0
    assert timeline("title", outcomes, SECONDS).count("<rect") > 20


def test_the_figures_of_the_report() -> None:
    assert jain([1.0, 1.0, 1.0]) == pytest.approx(1.0)
    assert jain([1.0, 0.0, 0.0]) == pytest.approx(1 / 3)
    assert percentile(list(range(100)), 0.95) == 95
    assert percentile([], 0.95) == 0.0
    assert "a &amp; b" in bars("a & b", {"one": {"first": 1.0}}, " s")


def test_a_series_that_a_group_lacks_has_no_bar_there() -> None:
    picture = bars("a", {"one": {"first": 1.0}, "two": {"first": 1.0, "second": 2.0}}, " s")
    assert picture.count("<rect") == 1 + 3
    assert len(set(re.findall(r'fill="(#\w{6})"', picture))) == 2, "one color for each series"
