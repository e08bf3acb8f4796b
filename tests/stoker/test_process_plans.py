"""One worker per usable GPU."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from config.settings import ROOT
from engines.nvml import Device
from stoker import process_plans
from tests.support import nvml
from tests.support.waiting import scaled

UUIDS = ["GPU-aaaa", "GPU-bbbb", "GPU-abcc"]
DEVICES = [Device(uuid, index) for index, uuid in enumerate(UUIDS)]


@pytest.fixture(autouse=True)
def three_gpus(monkeypatch):
    monkeypatch.setattr(process_plans, "_devices", lambda: DEVICES)


@pytest.mark.rule("runner/env/CUDA_VISIBLE_DEVICES")
@pytest.mark.parametrize(
    ("visible", "expected"),
    [
        (None, ["gpu0", "gpu1", "gpu2"]),
        ("1", ["gpu1"]),
        ("2,0", ["gpu2", "gpu0"]),
        ("0,7,1", ["gpu0"]),
        ("0,-1,1", ["gpu0"]),
        ("GPU-bb", ["gpu1"]),
        ("GPU-a", ["cpu0"]),  # an ambiguous prefix
        ("", ["cpu0"]),
        ("-1", ["cpu0"]),
    ],
)
def test_cuda_visible_devices_is_parsed_like_in_cuda(visible, expected):
    environ = {} if visible is None else {"CUDA_VISIBLE_DEVICES": visible}

    assert [device.name for device in process_plans.worker_devices(environ)] == expected


@pytest.mark.rule("runner/env/CUDA_VISIBLE_DEVICES")
@pytest.mark.parametrize(
    ("visible", "name", "use"),
    [
        ("7", "7", "the CPU is used"),
        ("abc", "abc", "the CPU is used"),
        ("GPU-a", "GPU-a", "the CPU is used"),
        ("0, 7,1", "7", "only the GPUs before it are used"),
    ],
)
def test_a_gpu_that_does_not_exist_is_named_with_what_is_used_instead(visible, name, use):
    assert process_plans.unknown_gpu({"CUDA_VISIBLE_DEVICES": visible}) == (
        f"CUDA_VISIBLE_DEVICES names {name}, which is not a GPU of this machine: {use}; `nvidia-smi -L` "
        "lists them"
    )


@pytest.mark.parametrize("visible", [None, "", "-1", "0", "2,0", "GPU-bb", "0,-1,7", "0,"])
def test_gpus_that_exist_and_the_cpu_need_no_warning(visible):
    assert process_plans.unknown_gpu({} if visible is None else {"CUDA_VISIBLE_DEVICES": visible}) is None


def test_each_worker_sees_only_its_own_gpu():
    worker_devices = process_plans.worker_devices({})

    assert [device.environment["CUDA_VISIBLE_DEVICES"] for device in worker_devices] == UUIDS
    assert {device.environment["CUDA_DEVICE_ORDER"] for device in worker_devices} == {"PCI_BUS_ID"}


def test_a_worker_on_the_cpu_sees_no_gpu(monkeypatch):
    monkeypatch.setattr(process_plans, "_devices", list)

    assert process_plans.worker_devices({}) == [
        process_plans.WorkerDevice("cpu0", {"CUDA_VISIBLE_DEVICES": ""})
    ]


def test_a_machine_without_a_driver_has_no_gpus(monkeypatch):
    monkeypatch.undo()
    pynvml = pytest.importorskip("pynvml")

    def fail():
        raise pynvml.NVMLError(pynvml.NVML_ERROR_LIBRARY_NOT_FOUND)

    monkeypatch.setattr(pynvml, "nvmlInit", fail)
    assert process_plans._devices() == []


def devices_of_workers(tmp_path, visible, **driver):
    """The name and CUDA_VISIBLE_DEVICES of each worker that would start on two simulated GPUs."""
    environ = {**os.environ, **nvml.environment(tmp_path, gpus=2), "PYTHONPATH": str(ROOT), **driver}
    environ.pop("CUDA_VISIBLE_DEVICES", None)
    if visible is not None:
        environ["CUDA_VISIBLE_DEVICES"] = visible
    code = (
        "from stoker.process_plans import worker_devices\n"
        "for each in worker_devices(): print(each.name, each.environment['CUDA_VISIBLE_DEVICES'])"
    )
    reports = subprocess.check_output(
        [sys.executable, "-c", code], env=environ, cwd=tmp_path, timeout=scaled(30)
    )

    return [tuple(line.split(" ")) for line in reports.decode().splitlines()]


FIRST, SECOND = (f"GPU-a{index}000000-5a1d-4c0e-9b7f-000000000000" for index in range(2))
PARTS = [f"MIG-a000000{part}-5a1d-4c0e-9b7f-000000000000" for part in (0, 2)]


@pytest.mark.parametrize(
    ("visible", "expected"),
    [
        (None, [("gpu0", FIRST), ("gpu1", SECOND)]),
        ("1", [("gpu1", SECOND)]),
        ("GPU-a1", [("gpu1", SECOND)]),
        ("", [("cpu0", "")]),
    ],
)
def test_a_worker_is_pinned_to_its_gpu_by_uuid(tmp_path, visible, expected):
    assert devices_of_workers(tmp_path, visible) == expected


@pytest.mark.parametrize(
    ("visible", "expected"),
    [
        (None, [("gpu0-mig0", PARTS[0]), ("gpu0-mig2", PARTS[1]), ("gpu1", SECOND)]),
        (PARTS[1], [("gpu0-mig2", PARTS[1])]),
        ("1,0", [("gpu1", SECOND), ("gpu0-mig0", PARTS[0])]),
        (f"{FIRST},1", [("cpu0", "")]),  # a divided GPU cannot be used as a whole
    ],
)
def test_each_part_of_a_gpu_in_mig_mode_has_a_worker(tmp_path, visible, expected):
    assert devices_of_workers(tmp_path, visible, FAKE_NVML_PARTS="2") == expected
