"""What the simulated tenants ask for: requests with their times, drawn before the simulation begins."""

from __future__ import annotations

import random
from dataclasses import dataclass
from itertools import count, cycle

MODELS = tuple(f"model-{letter}" for letter in "abcdefgh")
GPUS = ("gpu0", "gpu1", "gpu2")
GPU_MIB, MODEL_MIB = 100, 60
"""One model fits on a GPU."""

SLOTS = 4
LOAD_S = {name: 6.0 + 2.0 * place for place, name in enumerate(MODELS)}
UNLOAD_S = 1.0
MEAN_RUN_S = 2.0


@dataclass(frozen=True, order=True, slots=True)
class Request:
    """A request that arrives at `at_s` and runs for `run_s`."""

    at_s: float
    tenant: str
    model: str
    run_s: float


@dataclass(frozen=True, slots=True)
class Workload:
    """Named requests. `honest` are the tenants of which the figures are reported."""

    name: str
    requests: tuple[Request, ...]
    honest: tuple[str, ...]


def steady(chance: random.Random, tenant: str, model: str, rate: float, seconds: float) -> list[Request]:
    """Requests at random times, `rate` a second on average."""
    requests, at_s = [], chance.expovariate(rate)
    while at_s < seconds:
        requests.append(Request(at_s, tenant, model, chance.expovariate(1 / MEAN_RUN_S)))
        at_s += chance.expovariate(rate)
    return requests


def bursts(seconds: float, seed: int = 1) -> Workload:
    """Eight tenants, each with a model of its own, ask in bursts: more models at a time than GPUs."""
    chance = random.Random(seed)  # noqa: S311 - a workload that can be repeated
    tenants = {f"tenant-{model[-1]}": model for model in MODELS}
    requests: list[Request] = []
    for tenant, model in tenants.items():
        at_s = chance.uniform(0, 60)
        while at_s < seconds:
            length_s = chance.uniform(20, 60)
            burst = steady(chance, tenant, model, 0.8, min(length_s, seconds - at_s))
            requests += [Request(at_s + it.at_s, it.tenant, it.model, it.run_s) for it in burst]
            at_s += length_s + chance.uniform(20, 80)
    return Workload("bursts", tuple(sorted(requests)), tuple(tenants))


def mixed(seconds: float, seed: int = 2) -> Workload:
    """Eight tenants ask steadily, a few of them more than the others, each for two models."""
    chance = random.Random(seed)  # noqa: S311 - a workload that can be repeated
    requests: list[Request] = []
    tenants = [f"tenant-{number}" for number in range(8)]
    for number, tenant in enumerate(tenants):
        for model in (MODELS[number], MODELS[(number + 3) % len(MODELS)]):
            requests += steady(chance, tenant, model, 0.12 if number > 2 else 0.25, seconds)
    return Workload("mixed", tuple(sorted(requests)), tuple(tenants))


def adversary(seconds: float, seed: int = 3) -> Workload:
    """Three tenants use a model each, which all fit. A fourth one asks for the other five models in turn."""
    chance = random.Random(seed)  # noqa: S311 - a workload that can be repeated
    honest = {f"tenant-{model[-1]}": model for model in MODELS[:3]}
    requests = [
        request for tenant, model in honest.items() for request in steady(chance, tenant, model, 0.8, seconds)
    ]
    others = cycle(MODELS[3:])
    for number in count():
        at_s = 5.0 + number * 4.0
        if at_s >= seconds:
            break
        requests.append(Request(at_s, "mallory", next(others), 0.1))
    return Workload("adversary", tuple(sorted(requests)), tuple(honest))


WORKLOADS = (bursts, mixed, adversary)
