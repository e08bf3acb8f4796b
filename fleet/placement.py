"""Decides which worker takes each replica of a model. Others do it."""

from __future__ import annotations

from collections.abc import Sequence

from config.settings import ModelDefinition
from fleet.errors import NoWorker
from fleet.worker import WorkerRow


def place(model: ModelDefinition, replicas: int, workers: Sequence[WorkerRow]) -> list[str]:
    """The worker of each replica: those with the fewest replicas first, in turn.

    Raises `NoWorker` when no worker fits the model's device (auto, cuda, cpu).
    """
    fitting = [
        worker for worker in workers if model.device in ("auto", worker.device) and not worker.draining
    ]
    if not fitting:
        wanted = "" if model.device == "auto" else f" with a {model.device} device"
        raise NoWorker(f"no worker{wanted} is running; start one with `stoker worker`", retry_after_s=5)
    load = {worker.name: worker.replicas for worker in fitting}
    chosen = []
    for _ in range(replicas):
        name = min(load, key=lambda worker: (load[worker], worker))
        load[name] += 1
        chosen.append(name)
    return chosen
