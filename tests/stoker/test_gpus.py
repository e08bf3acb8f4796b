"""One worker for each GPU that may be used."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from config.settings import ROOT
from stoker import gpus
from tests.support import nvml

UUIDS = ["GPU-aaaa", "GPU-bbbb", "GPU-abcc"]


@pytest.fixture(autouse=True)
def three_gpus(monkeypatch):
    monkeypatch.setattr(gpus, "_uuids", lambda: UUIDS)


@pytest.mark.parametrize(
    ("visible", "expected"),
    [
        (None, ["gpu0", "gpu1", "gpu2"]),
        ("1", ["gpu1"]),
        ("2,0", ["gpu2", "gpu0"]),
        ("0,7,1", ["gpu0"]),
        ("0,-1,1", ["gpu0"]),
        ("GPU-bb", ["gpu1"]),
        ("GPU-a", ["cpu0"]),  # two begin so
        ("", ["cpu0"]),
        ("-1", ["cpu0"]),
    ],
)
def test_cuda_visible_devices_is_read_as_cuda_does(visible, expected):
    environ = {} if visible is None else {"CUDA_VISIBLE_DEVICES": visible}

    assert [seat.name for seat in gpus.seats(environ)] == expected


def test_each_worker_sees_its_own_gpu_only():
    seats = gpus.seats({})

    assert [seat.environment["CUDA_VISIBLE_DEVICES"] for seat in seats] == ["0", "1", "2"]
    assert {seat.environment["CUDA_DEVICE_ORDER"] for seat in seats} == {"PCI_BUS_ID"}


def test_a_worker_on_the_cpu_sees_no_gpu(monkeypatch):
    monkeypatch.setattr(gpus, "_uuids", list)

    assert gpus.seats({}) == [gpus.Seat("cpu0", {"CUDA_VISIBLE_DEVICES": ""})]


def test_a_machine_without_a_driver_has_no_gpus(monkeypatch):
    monkeypatch.undo()
    pynvml = pytest.importorskip("pynvml")

    def fail():
        raise pynvml.NVMLError(pynvml.NVML_ERROR_LIBRARY_NOT_FOUND)

    monkeypatch.setattr(pynvml, "nvmlInit", fail)
    assert gpus._uuids() == []


@pytest.mark.parametrize(
    ("visible", "expected"), [(None, ["gpu0", "gpu1"]), ("GPU-a1", ["gpu1"]), ("", ["cpu0"])]
)
def test_the_driver_is_asked_which_there_are(tmp_path, visible, expected):
    environ = {**os.environ, **nvml.environment(tmp_path, gpus=2), "PYTHONPATH": str(ROOT)}
    environ.pop("CUDA_VISIBLE_DEVICES", None)
    if visible is not None:
        environ["CUDA_VISIBLE_DEVICES"] = visible
    code = "from stoker.gpus import seats; print(*(seat.name for seat in seats()))"
    said = subprocess.check_output([sys.executable, "-c", code], env=environ, cwd=tmp_path, timeout=30)

    assert said.decode().split() == expected
