"""The memory of a worker's device: of the real machine, and of GPUs with a simulated driver."""

from __future__ import annotations

import json
import os
import platform
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import psutil
import pytest

from config.settings import ROOT
from fleet.memory import DeviceMemory, Gpu
from tests.support import nvml
from tests.support.waiting import scaled
from workers import device_memory as module
from workers.device_memory import DeviceMemoryReader, machine_memory

pytestmark = pytest.mark.rule("memory/gpus")

LINUX = pytest.mark.skipif(sys.platform != "linux", reason="the stub measures its memory in /proc")
MIB = 1024 * 1024
UUIDS = [f"GPU-{0xA0000000 + 0x01000000 * index:08x}-5a1d-4c0e-9b7f-000000000000" for index in range(3)]
SLACK_MIB = 4  # an engine's memory changes a little between two readings
UNSET = "unset"  # CUDA_VISIBLE_DEVICES is not set

READ = "show(reader.read().to_json())"
ENGINE = """
from pathlib import Path
from config.settings import ModelDefinition
from backends.base import Launch
from backends.registry import adapter
from tests.support.generations import engine_loop
model = ModelDefinition("model", "stub", options={"stub_memory_mib": 96})
def load():
    engine, environments = Path("engine"), Path("runtimes")
    launch = Launch(model, "model-0", 1, engine, environments, lambda *_: None, lambda _: None, engine_loop())
    return adapter("stub").start(launch)
"""
FREE_AND_HELD = f"""
{ENGINE}
import subprocess
other = subprocess.Popen(["sleep", "60"], process_group=0)
def measure():
    show(json.dumps([reader.read().free_mib, reader.held_by(engine.pid), reader.held_by(other.pid)]))
free = reader.read().free_mib
engine = load()
measure()
engine.stop(2.0)
measure()
other.kill()
show(json.dumps(free))
"""

Run = Callable[..., list[Any]]


@pytest.fixture(scope="session")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return nvml.compiled(tmp_path_factory.mktemp("nvml"))


@pytest.fixture
def run_process(tmp_path: Path) -> Run:
    """Runs code with a `reader` in a process with this CUDA_VISIBLE_DEVICES; returns what it showed."""

    def run(code: str, visible: str, **environment: str) -> list[Any]:
        before = (
            "import json, os, pynvml\nfrom workers.device_memory import DeviceMemoryReader\n"
            "reader = DeviceMemoryReader()\n"
            "def show(text): print(text if isinstance(text, str) else text.decode())\n"
        )
        given = {**os.environ, "PYTHONPATH": str(ROOT), "CUDA_VISIBLE_DEVICES": visible, **environment}
        if visible == UNSET:
            del given["CUDA_VISIBLE_DEVICES"]
        ran = subprocess.run(
            [sys.executable, "-c", before + code],
            cwd=tmp_path,
            env=given,
            capture_output=True,
            text=True,
            timeout=scaled(30),
            check=False,
        )
        assert ran.returncode == 0, ran.stderr
        return [json.loads(line) for line in ran.stdout.splitlines()]

    return run


@pytest.fixture
def gpus(run_process: Run, driver: Path) -> Run:
    """The same with two simulated GPUs of 1000 MiB each, of which other processes use 100."""
    given = nvml.environment(driver, gpus=2, total_mib=1000, base_mib=100)

    def run(code: str, visible: str, **environment: str) -> list[Any]:
        return run_process(code, visible, **{**given, **environment})

    return run


def read(run: Run, visible: str, **environment: str) -> DeviceMemory:
    (memory,) = run(READ, visible, **environment)
    return DeviceMemory.from_json(json.dumps(memory))


# ---- the machine's memory


@pytest.fixture
def on_the_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")


@pytest.mark.usefixtures("on_the_cpu")
def test_the_memory_of_a_cpu_worker_is_the_machines() -> None:
    memory = DeviceMemoryReader().read()
    assert memory.id == f"host:{platform.node()}"
    assert memory.gpus == ()
    most_mib = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // MIB
    assert 0 < memory.free_mib <= memory.total_mib <= most_mib


@LINUX
def test_an_engine_on_the_cpu_holds_the_memory_that_it_loaded(run_process: Run) -> None:
    loaded, stopped, _free = run_process(FREE_AND_HELD, "")
    assert 96 <= loaded[1] < 96 + 32
    assert stopped[1] is None


@LINUX
@pytest.mark.usefixtures("on_the_cpu")
def test_the_memory_of_an_engines_children_counts_even_when_they_left_its_group() -> None:
    child = "import os, time; held = b'x' * (48 << 20); print(os.getpid(), flush=True); time.sleep(60)"
    parent = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {child!r}], process_group=0)"
    process = subprocess.Popen([sys.executable, "-c", parent], stdout=subprocess.PIPE, process_group=0)
    assert process.stdout
    child_pid = int(process.stdout.readline())
    try:
        assert 48 <= (DeviceMemoryReader().held_by(process.pid) or 0) < 48 + 48
    finally:
        os.kill(child_pid, signal.SIGKILL)
        process.communicate()


@pytest.fixture
def simulated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder for control groups, on a machine with 1000 MiB of which 800 are available."""
    memory = SimpleNamespace(total=1000 * MIB, available=800 * MIB)
    monkeypatch.setattr(psutil, "virtual_memory", lambda: memory)
    monkeypatch.setattr(module, "CGROUP_OF_SELF", tmp_path / "self")
    monkeypatch.setattr(module, "CGROUPS", tmp_path / "cgroup")
    return tmp_path


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def limit(folder: Path, most: str, current_mib: int, inactive_mib: int) -> None:
    """Write the files of a control group."""
    write(folder / "memory.max", f"{most}\n")
    write(folder / "memory.current", f"{current_mib * MIB}\n")
    write(folder / "memory.stat", f"anon 1\ninactive_file {inactive_mib * MIB}\nactive_file 2\n")


@pytest.mark.parametrize(
    ("most", "current_mib", "inactive_mib", "expected"),
    [
        (str(500 * MIB), 300, 100, (500, 300)),  # inactive pages of files are reclaimable
        (str(2000 * MIB), 300, 100, (1000, 800)),  # more than the machine has
        (str(500 * MIB), 600, 0, (500, 0)),
        ("max", 300, 100, (1000, 800)),
    ],
)
def test_a_container_has_no_more_than_its_limit(
    simulated: Path, most: str, current_mib: int, inactive_mib: int, expected: tuple[int, int]
) -> None:
    write(simulated / "self", "0::/\n")
    limit(simulated / "cgroup", most, current_mib, inactive_mib)
    assert tuple(size // MIB for size in machine_memory()) == expected


def test_the_tightest_of_the_nested_control_groups_counts(simulated: Path) -> None:
    write(simulated / "self", "1:name=systemd:/other\n0::/slice/stoker.service\n")
    limit(simulated / "cgroup" / "slice" / "stoker.service", str(700 * MIB), 10, 0)
    limit(simulated / "cgroup" / "slice", str(900 * MIB), 850, 0)
    assert tuple(size // MIB for size in machine_memory()) == (700, 50)


def test_without_a_control_group_the_memory_is_the_machines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "CGROUP_OF_SELF", tmp_path / "none")
    total, free = machine_memory()
    assert total == os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    assert 0 < free <= total


@pytest.mark.usefixtures("on_the_cpu")
def test_a_process_that_does_not_show_its_shared_pages_counts_with_all_its_resident_memory(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(process: psutil.Process) -> None:
        raise psutil.AccessDenied(process.pid)

    monkeypatch.setattr(psutil.Process, "memory_full_info", refuse)
    code = "import time; print(flush=True); time.sleep(60)"
    argv = [sys.executable, "-c", code]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, process_group=0) as process:
        assert process.stdout
        process.stdout.readline()
        try:
            before = psutil.Process(process.pid).memory_info().rss
            held = DeviceMemoryReader().held_by(process.pid)
            after = psutil.Process(process.pid).memory_info().rss  # it may grow until it sleeps
            assert before > 0
            assert -(-before // MIB) <= (held or 0) <= -(-after // MIB)
        finally:
            process.kill()


# ---- why there is no GPU


def test_without_a_driver_the_error_gives_the_remedy(run_process: Run) -> None:
    if shutil.which("nvidia-smi"):
        pytest.skip("there is a driver here")
    why = "NVML Shared Library Not Found; install the NVIDIA driver, or give this container the GPU"
    on_the_cpu = read(run_process, "")
    assert on_the_cpu.error == f"no GPU can be read: {why}"
    assert on_the_cpu.total_mib > 0
    on_a_gpu = read(run_process, "0")
    assert on_a_gpu == DeviceMemory(f"gpu:{platform.node()}:0", 0, 0, error=f"no GPU can be read: {why}")
    assert run_process("show(json.dumps(reader.held_by(os.getpgrp())))", "0") == [None]


@pytest.mark.parametrize(
    ("visible", "count", "error"),
    [
        ("", "2", None),
        ("-1", "2", None),
        (
            UNSET,
            "2",
            "no GPU is read: CUDA_VISIBLE_DEVICES is not set, and the driver has 2 GPUs; "
            "name the worker's GPU in it, or leave it empty",
        ),
        ("", "0", "no GPU can be read: the driver has 0 GPUs; give this container the GPU"),
    ],
)
def test_a_worker_without_a_gpu_reports_the_reason_unless_it_was_configured_so(
    gpus: Run, visible: str, count: str, error: str | None
) -> None:
    memory = read(gpus, visible, FAKE_NVML_GPUS=count)
    assert memory.error == error
    assert memory.id == f"host:{platform.node()}"
    assert memory.total_mib != 1000


def test_a_gpu_that_does_not_exist_is_an_error(gpus: Run) -> None:
    memory = read(gpus, "7")
    assert memory.total_mib == memory.free_mib == 0
    assert memory.error == (
        "no GPU can be read: CUDA_VISIBLE_DEVICES is '7', and the driver has 2 GPUs; "
        "name one of them by index or UUID"
    )


# ---- GPUs


def test_a_gpu_is_read_through_its_driver(gpus: Run) -> None:
    memory = read(gpus, "1")
    gpu = Gpu(1, UUIDS[1], "Simulated GPU 1", 100, 1000, 0.0, temperature_c=40, power_w=120)
    assert memory == DeviceMemory(UUIDS[1], 1000, 900, (gpu,)), "this driver knows no limit of the power"


@pytest.mark.rule("runner/env/CUDA_VISIBLE_DEVICES")
@pytest.mark.parametrize("visible", [UUIDS[1], "GPU-a1", " 1 ,7"])
def test_a_gpu_may_be_named_as_cuda_allows(gpus: Run, visible: str) -> None:
    assert read(gpus, visible) == read(gpus, "1")


def test_a_group_of_gpus_has_the_memory_of_all_of_them(gpus: Run) -> None:
    memory = read(gpus, f"{UUIDS[2]},0", FAKE_NVML_GPUS="3")
    assert (memory.total_mib, memory.free_mib, memory.error) == (2000, 1800, None)
    assert [gpu.index for gpu in memory.gpus] == [2, 0]
    assert memory.id == f"{UUIDS[0]}+{UUIDS[2]}"


def test_workers_that_name_the_same_gpus_share_an_id(gpus: Run) -> None:
    assert read(gpus, "0,1").id == read(gpus, "1,0").id


@LINUX
def test_a_gpus_memory_is_taken_by_an_engine_and_free_after_its_end(gpus: Run) -> None:
    loaded, stopped, free = gpus(FREE_AND_HELD, "0")
    assert free == 900
    left, held, held_by_another = loaded
    assert 96 <= held < 96 + 32
    assert abs(900 - left - held) <= SLACK_MIB
    assert held_by_another is None
    assert stopped == [900, None, None]


@LINUX
def test_an_engine_takes_no_memory_of_another_gpu(gpus: Run) -> None:
    code = f"{ENGINE}\nengine = load()\nos.environ['CUDA_VISIBLE_DEVICES'] = '0'\n{READ}\n"
    show_this = "show(DeviceMemoryReader().read().to_json())\nengine.stop(2.0)"
    on_one, on_zero = gpus(code + show_this, "1")
    assert (on_one["gpus"][0]["index"], on_zero["gpus"][0]["index"]) == (1, 0)
    assert on_one["free_mib"] <= 900 - 96
    assert on_zero["free_mib"] == 900


@LINUX
def test_an_engine_takes_memory_of_all_gpus_of_its_group(gpus: Run) -> None:
    loaded, stopped, free = gpus(FREE_AND_HELD, "0,1")
    assert free == 1800
    left, held, _ = loaded
    assert 96 <= held < 96 + 32
    assert abs(1800 - left - held) <= SLACK_MIB
    assert stopped[0] == 1800


@LINUX
def test_a_worker_of_a_part_of_a_gpu_reads_the_memory_of_that_part(gpus: Run) -> None:
    part = "MIG-a0000002-5a1d-4c0e-9b7f-000000000000"
    memory = read(gpus, part, FAKE_NVML_PARTS="2", FAKE_NVML_BASE_MIB="0")
    assert (memory.id, memory.total_mib, memory.free_mib) == (part, 500, 500)
    assert (memory.gpus[0].index, memory.gpus[0].uuid) == (0, part), "the index of the whole GPU"
    loaded, stopped, free = gpus(FREE_AND_HELD, part, FAKE_NVML_PARTS="2", FAKE_NVML_BASE_MIB="0")
    assert (free, stopped[0]) == (500, 500)
    assert 96 <= loaded[1] < 96 + 32


def test_memory_that_the_driver_reserves_is_not_used_by_anyone(gpus: Run) -> None:
    memory = read(gpus, "0", FAKE_NVML_RESERVED_MIB="48")
    assert (memory.gpus[0].used_mib, memory.free_mib, memory.total_mib) == (100, 852, 1000)
    shown = "from tests.gpu.cards import Cards\nshow(json.dumps(list(Cards().used_mib().values())))"
    assert gpus(shown, "0", FAKE_NVML_RESERVED_MIB="48") == [[100, 100]]


@LINUX
def test_an_engines_memory_is_unknown_when_the_driver_has_no_figures_for_processes(gpus: Run) -> None:
    loaded, _, _ = gpus(FREE_AND_HELD, "0", FAKE_NVML_NO_PROCESSES="1")
    left, held, _ = loaded
    assert left <= 900 - 96
    assert held is None


def test_a_lost_driver_is_an_error_until_it_is_back(gpus: Run) -> None:
    code = f"{READ}\nos.environ['FAKE_NVML_ERROR'] = '15'\n{READ}\ndel os.environ['FAKE_NVML_ERROR']\n{READ}"
    first, lost, back = gpus(code, "0")
    assert first == back
    assert (first["error"], lost["id"], lost["total_mib"]) == (None, first["id"], 0)
    assert lost["error"] == "no GPU can be read: GPU is lost; reset the GPU, or restart the machine"


def test_a_driver_that_was_shut_down_is_opened_again(gpus: Run) -> None:
    first, again = gpus(f"{READ}\npynvml.nvmlShutdown()\n{READ}", "0")
    assert first == again


def test_the_driver_is_opened_once(gpus: Run) -> None:
    code = """
opened = []
init = pynvml.nvmlInit
pynvml.nvmlInit = lambda: opened.append(init())
for _ in range(3):
    reader.read()
    reader.held_by(1)
show(json.dumps(len(opened)))
os.environ["FAKE_NVML_ERROR"] = "999"
show(json.dumps(reader.read().error))
show(json.dumps(len(opened)))
"""
    assert gpus(code, "0") == [
        1,
        "no GPU can be read: Unknown Error; see the output of nvidia-smi on this machine",
        1,
    ]


def test_an_old_driver_without_the_second_memory_version_is_read(gpus: Run) -> None:
    code = """
plain = pynvml.nvmlDeviceGetMemoryInfo
def old(handle, version=None):
    if version:
        raise pynvml.NVMLError(pynvml.NVML_ERROR_FUNCTION_NOT_FOUND)
    return plain(handle)
pynvml.nvmlDeviceGetMemoryInfo = old
"""
    (memory,) = gpus(code + READ, "0")
    assert (memory["total_mib"], memory["free_mib"]) == (1000, 900)
