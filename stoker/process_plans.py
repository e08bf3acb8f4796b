"""How the parts that are ours are run: the API, the workers, Flower."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

from config.settings import ROOT, Settings
from stoker.gpus import Seat
from stoker.managed_process import Plan

FLOWER_USER = "stoker"
SPARE_S = 10.0  # beyond what a part gives its requests to finish


def api_plan(settings: Settings, environment: Mapping[str, str], logs: Path) -> Plan:
    """The API; it is stopped first, so that nothing new comes in while the rest finishes."""
    return Plan(
        name="api",
        argv=[sys.executable, "-m", "stoker", "api"],
        environment=environment,
        cwd=ROOT,
        log=logs / "api.log",
        stop_s=settings.api.graceful_timeout_s + SPARE_S,
        rank=1,
    )


def worker_plan(settings: Settings, seat: Seat, environment: Mapping[str, str], logs: Path) -> Plan:
    """The worker of one GPU, or of the CPU."""
    return Plan(
        name=f"worker {seat.name}",
        argv=[sys.executable, "-m", "stoker", "worker", "--name", seat.name],
        environment={**environment, **seat.environment},
        cwd=ROOT,
        log=logs / f"worker-{seat.name}.log",
        stop_s=settings.worker.drain_timeout_s + SPARE_S,
        rank=2,
    )


def flower_argv(host: str, port: int) -> list[str]:
    """The command that runs Flower."""
    command = [sys.executable, "-m", "celery", "-A", "tasks.app", "flower"]
    return [*command, f"--address={host}", f"--port={port}"]


def flower_plan(host: str, port: int, password: str, environment: Mapping[str, str], logs: Path) -> Plan:
    """The task monitor. Its password travels in the environment: arguments are for all to see."""
    return Plan(
        name="flower",
        argv=flower_argv(host, port),
        environment={**environment, "FLOWER_BASIC_AUTH": f"{FLOWER_USER}:{password}"},
        cwd=ROOT,
        log=logs / "flower.log",
        rank=2,
    )
