"""The figures of a simulation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from benchmarks.on_demand.simulation import Outcome
from benchmarks.on_demand.workload import GPUS, Workload


@dataclass(frozen=True, slots=True)
class Figures:
    """What a choice costs. `switching` is the share of the GPUs' time that loads and unloads took.

    `served` is the share of the work that was asked for; waits are seconds, of the honest tenants: the 95th
    percentile of each, as the mean and the worst of them. `fairness` is Jain's index of the served shares.
    """

    switching: float
    switches: int
    served: float
    mean_wait_s: float
    p95_wait_s: float
    worst_p95_wait_s: float
    fairness: float


def figures(workload: Workload, outcome: Outcome) -> Figures:
    """The figures of a run."""
    shares = [outcome.served_s[tenant] / outcome.demanded_s[tenant] for tenant in workload.honest]
    p95 = [percentile(outcome.waits[tenant], 0.95) for tenant in workload.honest]
    waits = [wait for tenant in workload.honest for wait in outcome.waits[tenant]]
    demanded = sum(outcome.demanded_s[tenant] for tenant in workload.honest)
    return Figures(
        switching=outcome.switching_s / (len(GPUS) * outcome.seconds),
        switches=outcome.switches,
        served=sum(outcome.served_s[tenant] for tenant in workload.honest) / demanded,
        mean_wait_s=sum(waits) / max(1, len(waits)),
        p95_wait_s=sum(p95) / len(p95),
        worst_p95_wait_s=max(p95),
        fairness=jain(shares),
    )


def percentile(values: Sequence[float], share: float) -> float:
    """A percentile by rank; 0 of no values."""
    return sorted(values)[min(len(values) - 1, int(share * len(values)))] if values else 0.0


def jain(shares: Sequence[float]) -> float:
    """Jain's index: 1 when all shares are equal, 1/n when one tenant has everything."""
    squares = sum(share * share for share in shares)
    return sum(shares) ** 2 / (len(shares) * squares) if squares else 1.0


MOST_SWITCHING, LEAST_SERVED, MOST_WAIT, LEAST_FAIRNESS = 0.8, 1.5, 0.7, 0.9
"""The bars: ratios of switching, work served and waits to those of the other choices; and Jain's index."""


def missed_bars(workload: str, found: Mapping[str, Figures]) -> list[str]:
    """The bars that the platform's choice misses against the others, in words."""
    own = found["Stoker"]
    missed = [] if own.fairness >= LEAST_FAIRNESS else [f"{workload}: Jain's index {own.fairness:.3f}"]
    for name, other in found.items():
        if name == "Stoker":
            continue
        if own.switching > MOST_SWITCHING * other.switching:
            missed.append(f"{workload}: switching {own.switching:.0%} against {other.switching:.0%} ({name})")
        if own.served < min(0.95, LEAST_SERVED * other.served):
            missed.append(f"{workload}: work served {own.served:.0%} against {other.served:.0%} ({name})")
        if own.worst_p95_wait_s > MOST_WAIT * other.worst_p95_wait_s:
            waits = f"{own.worst_p95_wait_s:.0f} s against {other.worst_p95_wait_s:.0f} s"
            missed.append(f"{workload}: worst p95 of the wait {waits} ({name})")
    return missed
