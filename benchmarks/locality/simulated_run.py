"""The simulated variants, and the bars that they are held to (docs/benchmarks.md, "Locality")."""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from benchmarks import cli
from benchmarks.growth.server import MeasuredServer, measured_server
from benchmarks.locality.dispatchers import Dispatcher, PushDispatcher, prefix_tree, round_robin
from benchmarks.locality.figures import Figures, Sample, Samples, first_token_figures
from benchmarks.locality.ledger_dispatcher import LedgerDispatcher
from benchmarks.locality.localities import DEFAULT, FAIR, LOCALITIES, OFF, PROCESSES, several, stoker
from benchmarks.locality.plots import write_plots
from benchmarks.locality.report import Bar, Comparison, bars_table, missed_bars, workload_tables
from benchmarks.locality.scenarios import REPLICAS, SCENARIOS, SLOTS, Event, Scenario
from benchmarks.locality.simulated_engine import PrefixCache
from benchmarks.locality.simulation import Outcome, Simulation, caches
from benchmarks.locality.tokens import Phase, changes
from benchmarks.locality.workloads import tenant_name
from benchmarks.on_demand.report import jain
from config.settings import Locality

ROUND_ROBIN, ONE_TREE, FOUR_TREES = "round robin", "prefix tree, 1 gateway", "prefix tree, 4 gateways"
QUICK_SCENARIOS = ("A", "B")
PROCESS_SCENARIOS = ("A", "B")
"""Those with several API processes."""

Make = Callable[[MeasuredServer, Sequence[PrefixCache], Scenario, int], Dispatcher]
"""Makes a dispatcher for a scenario with these caches and this seed."""


def _ledger(locality: Locality, processes: int = 1) -> Make:
    return lambda server, found, scenario, _seed: LedgerDispatcher(
        server, locality, found, scenario.first_replicas, processes
    )


def _tree(gateways: int) -> Make:
    return lambda _server, _caches, scenario, seed: PushDispatcher(
        prefix_tree(gateways, seed), scenario.first_replicas
    )


VARIANTS: dict[str, Make] = {
    ROUND_ROBIN: lambda _server, _caches, scenario, _seed: PushDispatcher(
        round_robin(), scenario.first_replicas
    ),
    ONE_TREE: _tree(1),
    FOUR_TREES: _tree(4),
    **{stoker(locality): _ledger(locality) for locality in LOCALITIES},
    **{several(stoker(DEFAULT), count): _ledger(DEFAULT, count) for count in PROCESSES},
}

RATIO, DIFFERENCE = Comparison.RATIO, Comparison.DIFFERENCE
TODAY, BELOW, NEAR = stoker(OFF), stoker(DEFAULT), stoker(FAIR)
BARS = (
    Bar("A", BELOW, "of_ideal", minimum=0.98),
    Bar("A", BELOW, "first_p95_s", maximum=0.2, reference=TODAY, comparison=RATIO),
    Bar("B", NEAR, "reuse", minimum=0.84),
    Bar("B", NEAR, "requests_per_s", minimum=1.45, reference=TODAY, comparison=RATIO),
    Bar("B", NEAR, "requests_per_s", minimum=1.4, reference=FOUR_TREES, comparison=RATIO),
    Bar("B", NEAR, "requests_per_s", minimum=0.9, reference=ONE_TREE, comparison=RATIO),
    Bar("B", NEAR, "fairness", minimum=-0.01, reference=TODAY, comparison=DIFFERENCE),
    Bar("E", NEAR, "fairness", minimum=-0.01, reference=TODAY, comparison=DIFFERENCE),
    Bar("E", NEAR, "small_p95_s", maximum=1.0, reference=TODAY, comparison=RATIO),
    *(
        Bar(
            *(scenario, several(BELOW, count), "reuse"),
            minimum=-0.01,
            maximum=0.01,
            reference=BELOW,
            comparison=DIFFERENCE,
        )
        for scenario in PROCESS_SCENARIOS
        for count in PROCESSES
    ),
    *(Bar(scenario, BELOW, "regained", minimum=0.95) for scenario in ("F", "I", "K")),
    Bar("J", BELOW, "reuse", minimum=0.95, reference=BELOW, of_workload="B", comparison=RATIO),
    Bar("K", BELOW, "others", minimum=-0.01),
)


def simulate(options: argparse.Namespace, log: cli.Log) -> cli.Report:
    """Simulate the chosen scenarios with each variant, with the seeds 1, 2, ..."""
    chosen = QUICK_SCENARIOS if options.quick and not options.only else options.only
    scenarios = [scenario for scenario in SCENARIOS if not chosen or scenario.name in chosen]
    found: list[Sample] = []
    with tempfile.TemporaryDirectory() as folder, measured_server(Path(folder), log) as server:
        for seed in range(1, options.rounds + 1):
            for scenario in scenarios:
                for name in variants_of(scenario):
                    outcome = run(server, scenario, VARIANTS[name], seed, options.seconds)
                    found.append(Sample(seed, scenario.name, name, figures(scenario, outcome)))
                    log(f"seed {seed}  {scenario.title}  {name}: {found[-1].figures.reuse:.1%} reused")
                server.client.flushall()
    samples = Samples(found)
    titles = {scenario.name: scenario.title for scenario in scenarios}
    tables = workload_tables(samples, titles)
    if options.plots is not None:
        write_plots(options.plots, samples, titles)
    method = (
        f"simulated: {options.seconds:.0f} s of virtual time, {REPLICAS} replicas with {SLOTS} slots, "
        f"{options.rounds} seeds; means over the seeds, and ranges"
    )
    report = f"{tables}\n\n{bars_table(samples, BARS)}"
    return cli.Report(found, {}, method, report, missed_bars(samples, BARS))


def variants_of(scenario: Scenario) -> list[str]:
    """The variants that a scenario is simulated with."""
    more = {several(stoker(DEFAULT), count) for count in PROCESSES}
    return [name for name in VARIANTS if scenario.name in PROCESS_SCENARIOS or name not in more]


def run(server: MeasuredServer, scenario: Scenario, make: Make, seed: int, seconds: float) -> Outcome:
    """Simulate a scenario with a variant."""
    replicas = caches(scenario)
    return Simulation(scenario, make(server, replicas, scenario, seed), replicas, seed).run(seconds)


def figures(scenario: Scenario, outcome: Outcome) -> Figures:
    """The figures of a simulation."""
    p50_s, p95_s, small_p95_s = first_token_figures(outcome.first_s, scenario.small_tenants)
    tenants = [tenant_name(number) for number in range(len(scenario.tenants))]
    found = outcome.tokens.of(Phase.SETTLED)
    return Figures(
        reuse=found.reuse,
        of_ideal=found.of_ideal,
        first_p50_s=p50_s,
        first_p95_s=p95_s,
        small_p95_s=small_p95_s,
        requests_per_s=outcome.ended / outcome.seconds,
        fairness=jain([outcome.work[tenant] for tenant in tenants]),
        needed_fairness=jain([outcome.needed[tenant] for tenant in tenants]),
        **(_event_figures(scenario, outcome) if scenario.event else {}),
    )


def _event_figures(scenario: Scenario, outcome: Outcome) -> dict[str, float]:
    """What the event changed."""
    found = changes(outcome.tokens, scenario.concerned_tenants)
    if scenario.event is Event.ADDITION:
        first, later = outcome.added[Phase.SETTLING], outcome.added[Phase.SETTLED]
        found["added_cold"] = sum(first) / len(first) if first else 0.0
        found["added_share"] = len(later) / max(1, outcome.begun)
    return found
