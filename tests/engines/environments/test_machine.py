"""The obstacles of a runtime on this machine, with simulated drivers and compilers."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from config.settings import ROOT
from tests.support import nvml
from tests.support.waiting import scaled

pytestmark = pytest.mark.slow

OBSTACLES = """
import json, sys
from engines.environments.machine import obstacles
from engines.environments.python import ENVIRONMENTS
environment = ENVIRONMENTS[sys.argv[1]]
print(json.dumps(obstacles(environment, environment.variant(sys.argv[2]))))
"""


@pytest.fixture(scope="module")
def driver(tmp_path_factory):
    return nvml.compiled(tmp_path_factory.mktemp("nvml"))


@pytest.fixture
def ask(tmp_path):
    """Asks for the obstacles of a variant in a process with its own variables and CUDA toolkit."""

    def ask_process(name: str, variant: str, **environment: str) -> list[str]:
        given = {**os.environ, "PYTHONPATH": str(ROOT), "CUDA_HOME": str(tmp_path / "none"), **environment}
        ran = subprocess.run(
            [sys.executable, "-c", OBSTACLES, name, variant],
            env=given,
            capture_output=True,
            text=True,
            timeout=scaled(60),
            check=False,
        )
        assert ran.returncode == 0, ran.stderr
        return json.loads(ran.stdout)

    return ask_process


def toolkit(folder: Path, release: str) -> dict[str, str]:
    """A CUDA toolkit whose compiler prints this release."""
    nvcc = folder / "cuda" / "bin" / "nvcc"
    nvcc.parent.mkdir(parents=True)
    nvcc.write_text(f"#!/bin/sh\necho Cuda compilation tools, release {release}, V{release}.1\n")
    nvcc.chmod(0o755)
    return {"CUDA_HOME": str(folder / "cuda")}


def test_a_machine_that_has_all_requirements_has_no_obstacles(ask, driver, tmp_path):
    gpu = {**nvml.environment(driver), **toolkit(tmp_path, "13.0")}

    assert ask("ct2", "cpu") == ask("vllm", "cpu") == []
    assert ask("vllm", "cuda", **gpu) == ask("exllamav3", "cuda", **gpu) == []


def test_a_missing_driver_is_reported_with_a_remedy(ask):
    if shutil.which("nvidia-smi"):
        pytest.skip("there is a driver here")
    (why,) = ask("vllm", "cuda")

    assert why.startswith("it needs an NVIDIA GPU, and none can be read (NVML Shared Library Not Found; ")


def test_a_driver_without_a_gpu_is_reported_with_a_remedy(ask, driver):
    assert ask("vllm", "cuda", **nvml.environment(driver, gpus=0)) == [
        "it needs an NVIDIA GPU, and the driver has none: give this container the GPU"
    ]


def test_a_driver_that_is_too_old_is_reported_with_both_versions(ask, driver):
    assert ask("vllm", "cuda", **nvml.environment(driver), FAKE_NVML_CUDA="12080") == [
        "it needs a driver for CUDA 13.0, and the one here supports CUDA 12.8: update the NVIDIA driver"
    ]


def test_a_cuda_compiler_that_is_too_old_is_reported_with_its_path(ask, driver, tmp_path):
    (why,) = ask("exllamav3", "cuda", **nvml.environment(driver), **toolkit(tmp_path, "12.4"))

    assert why == (
        f"it needs nvcc 13.0 or newer, and {tmp_path / 'cuda'} has 12.4: "
        "install a newer CUDA toolkit, or name it in CUDA_HOME"
    )


def test_a_missing_cpp_compiler_is_reported(ask):
    (why,) = ask("llama_cpp", "cpu", CXX="/no/such/compiler -O2")

    assert why.startswith("it is compiled on this machine, which has no C++ compiler: install g++ or clang")


# ---- the architectures that CUDA code is compiled for

CMAKE_ARGS = """
import sys
from pathlib import Path
from engines.environments.python import ENVIRONMENTS
from engines.environments.request import InstallRequest
environment = ENVIRONMENTS["llama_cpp"]
request = InstallRequest(environment, environment.variant(sys.argv[1]), Path("/runtimes"))
print(request.cmake_args)
print(request.wheels)
"""


def cmake_args(variant: str, *drivers: dict[str, str], **environment: str) -> tuple[str, str]:
    """The CMake arguments and the folder of wheels of llama_cpp."""
    given = {**os.environ, "PYTHONPATH": str(ROOT), "CMAKE_ARGS": "", "CUDAARCHS": ""}
    for driver in drivers:
        given |= driver
    argv = [sys.executable, "-c", CMAKE_ARGS, variant]
    shown = subprocess.check_output(argv, env={**given, **environment}, text=True, timeout=scaled(60))
    arguments, wheels = shown.splitlines()
    return arguments, wheels


@pytest.mark.parametrize(
    ("gpus", "environment", "expected"),
    [
        (1, {}, "-DCMAKE_CUDA_ARCHITECTURES=90"),
        (2, {"FAKE_NVML_CAPABILITY": "86"}, "-DCMAKE_CUDA_ARCHITECTURES=86;96"),
        (1, {"CMAKE_ARGS": "-DMINE=1"}, "-DCMAKE_CUDA_ARCHITECTURES=90 -DMINE=1"),
        (1, {"CMAKE_ARGS": "-DCMAKE_CUDA_ARCHITECTURES=80"}, "-DCMAKE_CUDA_ARCHITECTURES=80"),
        (1, {"CUDAARCHS": "80"}, ""),
        (0, {}, ""),
    ],
)
def test_cuda_code_is_compiled_for_the_gpus_of_this_machine(driver, gpus, environment, expected):
    given = nvml.environment(driver, gpus=gpus)
    own, _ = cmake_args("cuda", CUDAARCHS=environment.get("CUDAARCHS", "80"))
    assert "ARCHITECTURES" not in own
    assert cmake_args("cuda", given, **environment)[0] == f"{own} {expected}".strip()


def test_wheels_for_other_gpus_are_in_another_folder(driver):
    gpu = nvml.environment(driver)
    _, here = cmake_args("cuda", gpu)
    _, elsewhere = cmake_args("cuda", gpu, FAKE_NVML_CAPABILITY="80")
    assert len({here, elsewhere, "/runtimes/wheels/cuda"}) == 3


def test_a_build_for_the_cpu_names_no_gpu_architecture(driver):
    arguments, wheels = cmake_args("cpu", nvml.environment(driver))
    assert "ARCHITECTURES" not in arguments
    assert wheels == "/runtimes/wheels/cpu"
