"""The memory of a worker's device: the machine's as it is, GPUs' through a simulated driver."""

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
from typing import Any

import pytest

from config.settings import ROOT
from fleet.memory import DeviceMemory, Gpu
from tests.support import nvml
from workers import device_memory as module
from workers.device_memory import DeviceMemoryReader, machine

pytestmark = pytest.mark.rule("memory/gpus")

LINUX = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
MIB = 1024 * 1024
UUIDS = [f"GPU-{0xA0000000 + 0x01000000 * index:08x}-5a1d-4c0e-9b7f-000000000000" for index in range(3)]
SLACK_MIB = 4  # an engine does not hold still between two readings
NOTHING = "nothing"  # the environment's variable is not set

READ = "tell(reader.read().to_json())"
ENGINE = """
from pathlib import Path
from config.settings import ModelDefinition
from backends.base import Launch
from backends.registry import adapter
model = ModelDefinition("model", "stub", options={"stub_memory_mib": 96})
def load():
    engine, environments = Path("engine"), Path("runtimes")
    launch = Launch(model, "model-0", 1, engine, environments, lambda *_: None, lambda _: None)
    return adapter("stub").start(launch)
"""
FREE_AND_HELD = f"""
{ENGINE}
import subprocess
other = subprocess.Popen(["sleep", "60"], process_group=0)
def look():
    tell(json.dumps([reader.read().free_mib, reader.held_by(engine.pid), reader.held_by(other.pid)]))
free = reader.read().free_mib
engine = load()
look()
engine.stop(2.0)
look()
other.kill()
tell(json.dumps(free))
"""

Asked = Callable[..., list[Any]]


@pytest.fixture(scope="session")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return nvml.compiled(tmp_path_factory.mktemp("nvml"))


@pytest.fixture
def ask(tmp_path: Path) -> Asked:
    """Runs some code beside a `reader` in a process with this CUDA_VISIBLE_DEVICES; what it told, as JSON."""

    def asked(code: str, visible: str, **environment: str) -> list[Any]:
        before = (
            "import json, os, pynvml\nfrom workers.device_memory import DeviceMemoryReader\n"
            "reader = DeviceMemoryReader()\n"
            "def tell(text): print(text if isinstance(text, str) else text.decode())\n"
        )
        given = {**os.environ, "PYTHONPATH": str(ROOT), "CUDA_VISIBLE_DEVICES": visible, **environment}
        if visible == NOTHING:
            del given["CUDA_VISIBLE_DEVICES"]
        ran = subprocess.run(
            [sys.executable, "-c", before + code],
            cwd=tmp_path,
            env=given,
            capture_output=True,
            text=True,
            timeout=30,
            check=False,
        )
        assert ran.returncode == 0, ran.stderr
        return [json.loads(line) for line in ran.stdout.splitlines()]

    return asked


@pytest.fixture
def gpus(ask: Asked, driver: Path) -> Asked:
    """The same beside two simulated GPUs of 1000 MiB each, of which others have 100."""
    given = nvml.environment(driver, gpus=2, total_mib=1000, base_mib=100)

    def asked(code: str, visible: str, **environment: str) -> list[Any]:
        return ask(code, visible, **{**given, **environment})

    return asked


def read(asked: Asked, visible: str, **environment: str) -> DeviceMemory:
    (memory,) = asked(READ, visible, **environment)
    return DeviceMemory.from_json(json.dumps(memory))


# ---- the machine's memory


@pytest.fixture
def on_the_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")


@pytest.mark.usefixtures("on_the_cpu")
def test_on_the_cpu_it_is_the_machines_memory() -> None:
    memory = DeviceMemoryReader().read()
    assert memory.id == f"host:{platform.node()}"
    assert memory.gpus == ()
    most_mib = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // MIB
    assert 0 < memory.free_mib <= memory.total_mib <= most_mib


@LINUX
def test_on_the_cpu_an_engine_holds_what_it_has_loaded(ask: Asked) -> None:
    loaded, stopped, _free = ask(FREE_AND_HELD, "")
    assert 96 <= loaded[1] < 96 + 32
    assert stopped[1] is None


@LINUX
@pytest.mark.usefixtures("on_the_cpu")
def test_what_an_engines_children_hold_counts_even_when_they_left_its_group() -> None:
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
def pretended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A /proc and a /sys/fs/cgroup to write to, of a machine with 1000 MiB of which 800 are available."""
    monkeypatch.setattr(module, "PROC", tmp_path / "proc")
    monkeypatch.setattr(module, "CGROUPS", tmp_path / "cgroup")
    write(
        tmp_path / "proc" / "meminfo", f"MemTotal: {1000 * 1024} kB\nMemAvailable: {800 * 1024} kB\nHuge: 0\n"
    )
    return tmp_path


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def limit(folder: Path, most: str, current_mib: int, inactive_mib: int) -> None:
    """What the kernel says of a control group."""
    write(folder / "memory.max", f"{most}\n")
    write(folder / "memory.current", f"{current_mib * MIB}\n")
    write(folder / "memory.stat", f"anon 1\ninactive_file {inactive_mib * MIB}\nactive_file 2\n")


@pytest.mark.parametrize(
    ("most", "current_mib", "inactive_mib", "expected"),
    [
        (str(500 * MIB), 300, 100, (500, 300)),  # pages of files that nobody reads any more make room
        (str(2000 * MIB), 300, 100, (1000, 800)),  # it promises more than there is
        (str(500 * MIB), 600, 0, (500, 0)),
        ("max", 300, 100, (1000, 800)),
    ],
)
def test_a_container_has_no_more_than_its_limit(
    pretended: Path, most: str, current_mib: int, inactive_mib: int, expected: tuple[int, int]
) -> None:
    write(pretended / "proc" / "self" / "cgroup", "0::/\n")
    limit(pretended / "cgroup", most, current_mib, inactive_mib)
    assert tuple(size // MIB for size in machine()) == expected


def test_the_tightest_of_the_groups_around_a_service_counts(pretended: Path) -> None:
    write(pretended / "proc" / "self" / "cgroup", "1:name=systemd:/other\n0::/slice/stoker.service\n")
    limit(pretended / "cgroup" / "slice" / "stoker.service", str(700 * MIB), 10, 0)
    limit(pretended / "cgroup" / "slice", str(900 * MIB), 850, 0)
    assert tuple(size // MIB for size in machine()) == (700, 50)


def test_a_system_without_proc_is_asked_for_its_pages(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "PROC", tmp_path / "none")
    total, free = machine()
    assert total == os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    assert 0 < free <= total


@LINUX
@pytest.mark.usefixtures("on_the_cpu")
def test_a_process_that_does_not_show_its_pages_counts_with_all_of_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "PROC", tmp_path)
    write(tmp_path / "77" / "stat", "77 (a ) b) S 1 77 77 0")
    write(tmp_path / "77" / "statm", "900 300 100 1 0 1 0")
    held = 300 * os.sysconf("SC_PAGE_SIZE")
    assert DeviceMemoryReader().held_by(77) == -(-held // MIB)


# ---- why there is no GPU


def test_a_worker_on_a_machine_without_a_driver_says_what_to_do(ask: Asked) -> None:
    if shutil.which("nvidia-smi"):
        pytest.skip("there is a driver here")
    why = "NVML Shared Library Not Found; install the NVIDIA driver, or give this container the GPU"
    on_the_cpu = read(ask, "")
    assert on_the_cpu.error == f"no GPU can be read: {why}"
    assert on_the_cpu.total_mib > 0
    on_a_gpu = read(ask, "0")
    assert on_a_gpu == DeviceMemory(f"gpu:{platform.node()}:0", 0, 0, error=f"no GPU can be read: {why}")
    assert ask("tell(json.dumps(reader.held_by(os.getpgrp())))", "0") == [None]


@pytest.mark.parametrize(
    ("visible", "count", "error"),
    [
        ("", "2", None),
        ("-1", "2", None),
        (
            NOTHING,
            "2",
            "no GPU is read: CUDA_VISIBLE_DEVICES is not set, and the driver has 2 GPUs; "
            "name the worker's GPU in it, or leave it empty",
        ),
        ("", "0", "no GPU can be read: the driver has 0 GPUs; give this container the GPU"),
    ],
)
def test_a_worker_without_a_gpu_says_so_unless_it_was_meant_to_have_none(
    gpus: Asked, visible: str, count: str, error: str | None
) -> None:
    memory = read(gpus, visible, FAKE_NVML_GPUS=count)
    assert memory.error == error
    assert memory.id == f"host:{platform.node()}"
    assert memory.total_mib != 1000


def test_a_gpu_that_does_not_exist_is_an_error(gpus: Asked) -> None:
    memory = read(gpus, "7")
    assert memory.total_mib == memory.free_mib == 0
    assert memory.error == (
        "no GPU can be read: CUDA_VISIBLE_DEVICES is '7', and the driver has 2 GPUs; "
        "name one of them by index or UUID"
    )


# ---- GPUs


def test_a_gpu_is_read_through_its_driver(gpus: Asked) -> None:
    memory = read(gpus, "1")
    assert memory == DeviceMemory(UUIDS[1], 1000, 900, (Gpu(1, UUIDS[1], "Simulated GPU 1", 100, 1000),))


@pytest.mark.parametrize("visible", [UUIDS[1], "GPU-a1", " 1 ,7"])
def test_a_gpu_may_be_named_as_cuda_allows(gpus: Asked, visible: str) -> None:
    assert read(gpus, visible) == read(gpus, "1")


def test_a_group_of_gpus_has_the_memory_of_all_of_them(gpus: Asked) -> None:
    memory = read(gpus, f"{UUIDS[2]},0", FAKE_NVML_GPUS="3")
    assert (memory.total_mib, memory.free_mib, memory.error) == (2000, 1800, None)
    assert [gpu.index for gpu in memory.gpus] == [2, 0]
    assert memory.id == f"{UUIDS[0]}+{UUIDS[2]}"


def test_workers_that_name_the_same_gpus_share_an_id(gpus: Asked) -> None:
    assert read(gpus, "0,1").id == read(gpus, "1,0").id


@LINUX
def test_a_gpu_fills_when_an_engine_loads_and_empties_when_it_ends(gpus: Asked) -> None:
    loaded, stopped, free = gpus(FREE_AND_HELD, "0")
    assert free == 900
    left, held, held_by_another = loaded
    assert 96 <= held < 96 + 32
    assert abs(900 - left - held) <= SLACK_MIB
    assert held_by_another is None
    assert stopped == [900, None, None]


@LINUX
def test_another_gpus_engine_takes_nothing_of_this_one(gpus: Asked) -> None:
    code = f"{ENGINE}\nengine = load()\nos.environ['CUDA_VISIBLE_DEVICES'] = '0'\n{READ}\n"
    here = "tell(DeviceMemoryReader().read().to_json())\nengine.stop(2.0)"
    on_one, on_zero = gpus(code + here, "1")
    assert (on_one["gpus"][0]["index"], on_zero["gpus"][0]["index"]) == (1, 0)
    assert on_one["free_mib"] <= 900 - 96
    assert on_zero["free_mib"] == 900


@LINUX
def test_a_group_of_gpus_is_filled_together(gpus: Asked) -> None:
    loaded, stopped, free = gpus(FREE_AND_HELD, "0,1")
    assert free == 1800
    left, held, _ = loaded
    assert 96 <= held < 96 + 32
    assert abs(1800 - left - held) <= SLACK_MIB
    assert stopped[0] == 1800


@LINUX
def test_where_a_driver_has_no_figures_for_processes_nobody_knows_what_an_engine_holds(gpus: Asked) -> None:
    loaded, _, _ = gpus(FREE_AND_HELD, "0", FAKE_NVML_NO_PROCESSES="1")
    left, held, _ = loaded
    assert left <= 900 - 96
    assert held is None


def test_a_driver_that_was_lost_is_an_error_until_it_is_back(gpus: Asked) -> None:
    code = f"{READ}\nos.environ['FAKE_NVML_ERROR'] = '15'\n{READ}\ndel os.environ['FAKE_NVML_ERROR']\n{READ}"
    first, lost, back = gpus(code, "0")
    assert first == back
    assert (first["error"], lost["id"], lost["total_mib"]) == (None, first["id"], 0)
    assert lost["error"] == "no GPU can be read: GPU is lost; reset the GPU, or restart the machine"


def test_a_driver_that_somebody_shut_down_is_opened_again(gpus: Asked) -> None:
    first, again = gpus(f"{READ}\npynvml.nvmlShutdown()\n{READ}", "0")
    assert first == again


def test_the_driver_is_opened_once(gpus: Asked) -> None:
    code = """
opened = []
init = pynvml.nvmlInit
pynvml.nvmlInit = lambda: opened.append(init())
for _ in range(3):
    reader.read()
    reader.held_by(1)
tell(json.dumps(len(opened)))
os.environ["FAKE_NVML_ERROR"] = "999"
tell(json.dumps(reader.read().error))
tell(json.dumps(len(opened)))
"""
    assert gpus(code, "0") == [1, "no GPU can be read: Unknown Error; see what nvidia-smi says here", 1]


def test_a_driver_of_old_counts_its_memory_too(gpus: Asked) -> None:
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
