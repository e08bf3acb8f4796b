"""The alternating run with real engines, and the bars that it is held to (docs/benchmarks.md, "Locality")."""

from __future__ import annotations

import argparse
import hashlib
import os
import tempfile
from dataclasses import asdict
from pathlib import Path

from benchmarks import cli
from benchmarks.engines.weights import DEMO
from benchmarks.generator_process import BenchmarkError, LoadGenerator
from benchmarks.locality.figures import Figures, Sample, Samples, first_token_figures
from benchmarks.locality.load_generator import WARM_UP, LocalityLoadResult, LocalityLoadSpec
from benchmarks.locality.localities import DEFAULT, FAIR, OFF, PROCESSES, several, stoker
from benchmarks.locality.report import Bar, Comparison, bars_table, missed_bars, workload_tables
from benchmarks.locality.servers import (
    CONTEXT,
    GATEWAYS,
    LLAMA_SERVER,
    PEER_POLICIES,
    REPLICAS,
    SLOTS,
    LocalityVariant,
    peer,
    start_variants,
    variant_names,
)
from benchmarks.locality.tokens import Phase, TokensByPhase, changes
from benchmarks.locality.workloads import WORKLOADS, LocalityWorkload, tenant_name
from benchmarks.on_demand.report import jain
from benchmarks.peers.environments import SMG, install, version_of
from config.load import load_settings
from engines.environments import EnvironmentMissing, interpreter

QUICK_WORKLOADS = ("chats", "busy chats")
NONCE_DIGITS = 8

RATIO, DIFFERENCE = Comparison.RATIO, Comparison.DIFFERENCE
TODAY, BELOW, NEAR = stoker(OFF), stoker(DEFAULT), stoker(FAIR)
SMG_CACHE_AWARE = peer(SMG, "cache_aware")
BARS = (
    Bar("chats", BELOW, "of_ideal", minimum=0.98),
    Bar("chats", BELOW, "first_p95_s", maximum=0.2, reference=TODAY, comparison=RATIO),
    Bar("busy chats", NEAR, "reuse", minimum=0.84),
    Bar("busy chats", NEAR, "requests_per_s", minimum=1.45, reference=TODAY, comparison=RATIO),
    Bar(
        *("busy chats", NEAR, "requests_per_s"),
        minimum=1.4,
        reference=several(SMG_CACHE_AWARE, GATEWAYS),
        comparison=RATIO,
    ),
    Bar("busy chats", NEAR, "requests_per_s", minimum=0.9, reference=SMG_CACHE_AWARE, comparison=RATIO),
    Bar("hog", NEAR, "fairness", minimum=-0.01, reference=TODAY, comparison=DIFFERENCE),
    Bar("hog", NEAR, "small_p95_s", maximum=1.0, reference=TODAY, comparison=RATIO),
    *(
        Bar(
            *("chats", several(BELOW, count), "reuse"),
            minimum=-0.01,
            maximum=0.01,
            reference=BELOW,
            comparison=DIFFERENCE,
        )
        for count in PROCESSES
    ),
    Bar("responses", BELOW, "reuse", minimum=0.95, reference=BELOW, of_workload="chats", comparison=RATIO),
    Bar("flush", BELOW, "regained", minimum=0.95),
)


def measure(options: argparse.Namespace, log: cli.Log) -> cli.Report:
    """Measure the chosen workloads with each variant in turn. Raises `BenchmarkError`."""
    os.environ["OMP_NUM_THREADS"] = "1"
    environments = load_settings().runtimes_dir
    try:
        interpreter(environments, options.backend)
    except EnvironmentMissing as error:
        raise BenchmarkError(str(error)) from error
    chosen = QUICK_WORKLOADS if options.quick and not options.only else options.only
    workloads = [workload for workload in WORKLOADS if not chosen or workload.name in chosen]
    names = [
        name for name in variant_names(options.backend) if not options.variant or name in options.variant
    ]
    if not names:
        raise BenchmarkError(f"other gateways need --backend {LLAMA_SERVER}")
    peers = [name for name in dict(PEER_POLICIES) if any(it.startswith(name) for it in names)]
    for name in peers:
        install(name, log)
    found: list[Sample] = []
    with (
        tempfile.TemporaryDirectory(prefix="stoker-bench-") as folder,
        start_variants(Path(folder), options.backend, DEMO, environments, names, log) as variants,
        LoadGenerator("benchmarks.locality.load_generator", LocalityLoadResult) as generator,
    ):
        for number in range(1, options.rounds + 1):
            for workload in workloads:
                for variant in in_turn(variants, number):
                    if not (variant.admin_key or workload.is_for_peers):
                        continue
                    result = _measure(generator, workload, variant, number, options.seconds)
                    found.append(Sample(number, workload.name, variant.name, figures(workload, result)))
                    log(progress(found[-1], result))
    samples = Samples(found)
    tables = workload_tables(samples, {workload.name: workload.title for workload in workloads})
    facts = {"peers": ", ".join(map(version_of, peers))} if peers else {}
    method = (
        f"{options.rounds} rounds of {options.seconds:g} s, of which the first {WARM_UP:.0%} do not count; "
        f"{REPLICAS} replicas of {options.backend} with {SLOTS} slots of {CONTEXT} tokens and one thread "
        "each, the demo model; means over the rounds, and ranges"
    )
    report = f"{tables}\n\n{bars_table(samples, BARS)}"
    return cli.Report(found, facts, method, report, missed_bars(samples, BARS))


def in_turn(variants: list[LocalityVariant], round: int) -> list[LocalityVariant]:
    """The variants in the order of a round: each round begins with another one."""
    first = (round - 1) % len(variants)
    return [*variants[first:], *variants[:first]]


class _NoMeter:
    """Counts nothing."""

    def read(self) -> dict[str, float]:
        """No counts."""
        return {}


def _measure(
    generator: LoadGenerator[LocalityLoadResult],
    workload: LocalityWorkload,
    variant: LocalityVariant,
    round: int,
    seconds: float,
) -> LocalityLoadResult:
    spec = LocalityLoadSpec(
        ports=list(variant.ports),
        keys=dict(variant.keys),
        model=variant.model,
        workload=workload.name,
        seed=round,
        nonce=nonce(round, workload.name, variant.name),
        seconds=seconds,
        admin_key=variant.admin_key,
    )
    return generator.measure(asdict(spec), _NoMeter())[0]


def nonce(round: int, workload: str, variant: str) -> str:
    """What begins the prompts of a measurement: of the same length in all, and different in each."""
    digest = hashlib.sha256(f"{round} {workload} {variant}".encode()).hexdigest()
    return " ".join(digest[:NONCE_DIGITS])


def figures(workload: LocalityWorkload, result: LocalityLoadResult) -> Figures:
    """The figures of a measurement."""
    p50_s, p95_s, small_p95_s = first_token_figures(result.first_s, workload.small_tenants)
    tenants = map(tenant_name, range(len(workload.tenants)))
    tokens = TokensByPhase(result.tokens)
    found = tokens.of(Phase.SETTLED)
    return Figures(
        reuse=found.reuse,
        of_ideal=found.of_ideal if found.ideal else None,
        first_p50_s=p50_s,
        first_p95_s=p95_s,
        small_p95_s=small_p95_s,
        requests_per_s=result.requests / result.seconds,
        fairness=jain([result.work.get(tenant, 0) for tenant in tenants]),
        **(changes(tokens, (tenant_name(0),)) if workload.flushes else {}),
    )


def progress(sample: Sample, result: LocalityLoadResult) -> str:
    """A line for the log."""
    failed = f", {result.failed} failed" if result.failed else ""
    rate = f"{sample.figures.requests_per_s:.1f} requests/s"
    prompt = TokensByPhase(result.tokens).of(Phase.SETTLED).prompt
    reuse = f"{sample.figures.reuse:.1%} of {prompt} tokens reused"
    return f"round {sample.round}  {sample.workload:<16}  {sample.variant:<28}  {reuse}, {rate}{failed}"
