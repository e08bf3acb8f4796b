"""The processes that `stoker up` starts: the API, Flower, and a worker for each GPU, or one for the CPU."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from config.settings import ROOT, Settings
from engines.nvml import Device, Driver, DriverError, devices, visible_devices
from stoker.managed_process import ProcessPlan

FLOWER_USER = "stoker"
STOP_MARGIN_S = 10.0  # beyond the time that a process gives its requests to finish


@dataclass(frozen=True)
class WorkerDevice:
    """The device of one worker: its name, which is also the worker's, and the variables that select it."""

    name: str
    environment: Mapping[str, str]


def worker_devices(environ: Mapping[str, str] | None = None) -> list[WorkerDevice]:
    """Return all usable GPUs and parts of GPUs, or the CPU if there is none.

    A worker's device is named by its UUID: an index means another GPU once cards are added or removed.
    Respects CUDA_VISIBLE_DEVICES, a list of indices or UUIDs. As in CUDA, the list ends at the first entry
    that does not exist, and an empty one means no GPU.
    """
    environ = os.environ if environ is None else environ
    found = _devices()
    visible = environ.get("CUDA_VISIBLE_DEVICES")
    chosen = found if visible is None else visible_devices(visible, found)
    if not chosen:
        return [WorkerDevice("cpu0", {"CUDA_VISIBLE_DEVICES": ""})]
    # libraries that count GPUs by index have to count in the driver's order
    order = {"CUDA_DEVICE_ORDER": "PCI_BUS_ID"}
    return [WorkerDevice(device.name, {"CUDA_VISIBLE_DEVICES": device.uuid, **order}) for device in chosen]


def unknown_gpu(environ: Mapping[str, str] | None = None) -> str | None:
    """Return a sentence on the first entry of CUDA_VISIBLE_DEVICES that is no GPU here; None without one."""
    environ = os.environ if environ is None else environ
    found, before = _devices(), "only the GPUs before it are used"
    for place, entry in enumerate(environ.get("CUDA_VISIBLE_DEVICES", "").split(",")):
        name = entry.strip()
        if name == "-1":
            break
        if name and not visible_devices(name, found):
            use = before if place else "the CPU is used"
            return (
                f"CUDA_VISIBLE_DEVICES names {name}, which is not a GPU of this machine: {use}; "
                "`nvidia-smi -L` lists them"
            )
    return None


def _devices() -> list[Device]:
    """Return all GPUs and parts of GPUs in PCI bus order; none without a driver."""
    driver = Driver()
    try:
        return driver.query(devices)
    except DriverError:
        return []
    finally:
        driver.close()


def api_plan(settings: Settings, environment: Mapping[str, str], logs: Path) -> ProcessPlan:
    """The API; it is stopped first, so that no new requests come in while the workers finish."""
    return ProcessPlan(
        name="api",
        argv=[sys.executable, "-m", "stoker", "api"],
        environment=environment,
        cwd=ROOT,
        log=logs / "api.log",
        logs_json=settings.log_format == "json",
        stop_s=settings.api.drain_delay_s + settings.api.graceful_timeout_s + STOP_MARGIN_S,
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
        logs_json=settings.log_format == "json",
        stop_s=settings.worker.drain_timeout_s + STOP_MARGIN_S,
        rank=2,
    )


def flower_argv(host: str, port: int) -> list[str]:
    """The command of Flower."""
    return [sys.executable, "-m", "stoker.flower", f"--address={host}", f"--port={port}"]


def flower_plan(
    settings: Settings, port: int, password: str, environment: Mapping[str, str], logs: Path
) -> ProcessPlan:
    """The task monitor, on this port.

    Its password is passed in the environment, as all users can see arguments.
    """
    return ProcessPlan(
        name="flower",
        argv=flower_argv(settings.flower.host, port),
        environment={**environment, "FLOWER_BASIC_AUTH": f"{FLOWER_USER}:{password}"},
        cwd=ROOT,
        log=logs / "flower.log",
        logs_json=settings.log_format == "json",
        rank=2,
        is_optional=True,
    )
