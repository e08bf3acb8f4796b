"""The plans of the platform's own processes: the API, the workers, Flower."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

from config.settings import ROOT, Settings
from stoker.gpus import WorkerDevice
from stoker.managed_process import ProcessPlan

FLOWER_USER = "stoker"
STOP_MARGIN_S = 10.0  # beyond the time that a process gives its requests to finish


def api_plan(settings: Settings, environment: Mapping[str, str], logs: Path) -> ProcessPlan:
    """The API; it is stopped first, so that no new requests come in while the workers finish."""
    return ProcessPlan(
        name="api",
        argv=[sys.executable, "-m", "stoker", "api"],
        environment=environment,
        cwd=ROOT,
        log=logs / "api.log",
        stop_s=settings.api.graceful_timeout_s + STOP_MARGIN_S,
        rank=1,
    )


def worker_plan(
    settings: Settings, device: WorkerDevice, environment: Mapping[str, str], logs: Path
) -> ProcessPlan:
    """The worker of one GPU, or of the CPU."""
    return ProcessPlan(
        name=f"worker {device.name}",
        argv=[sys.executable, "-m", "stoker", "worker", "--name", device.name],
        environment={**environment, **device.environment},
        cwd=ROOT,
        log=logs / f"worker-{device.name}.log",
        stop_s=settings.worker.drain_timeout_s + STOP_MARGIN_S,
        rank=2,
    )


def flower_argv(host: str, port: int) -> list[str]:
    """The command of Flower."""
    command = [sys.executable, "-m", "celery", "-A", "tasks.app", "flower"]
    return [*command, f"--address={host}", f"--port={port}"]


def flower_plan(
    host: str, port: int, password: str, environment: Mapping[str, str], logs: Path
) -> ProcessPlan:
    """The task monitor. Its password is passed in the environment, as all users can see arguments."""
    return ProcessPlan(
        name="flower",
        argv=flower_argv(host, port),
        environment={**environment, "FLOWER_BASIC_AUTH": f"{FLOWER_USER}:{password}"},
        cwd=ROOT,
        log=logs / "flower.log",
        rank=2,
    )
