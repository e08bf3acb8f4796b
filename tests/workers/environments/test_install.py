"""Making an environment, with the real pip."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from contextlib import suppress

import pytest

from config.settings import ROOT
from tests.stoker.conftest import eventually, lives
from tests.workers.environments.conftest import House
from tests.workers.environments.index import Index
from workers.environments import manifest
from workers.environments.install import install, remove, why_again
from workers.environments.lock import InstallError
from workers.environments.python import EnvironmentMissing, interpreter
from workers.environments.request import Order
from workers.environments.table import OF_BACKEND

PINS = ("tinylib==1.2+cpu", "helper==3.0", "other==9 ; sys_platform == 'none'")
DISTRIBUTIONS = """
import importlib.metadata, json
print(json.dumps({each.name: each.version for each in importlib.metadata.distributions()}))
"""


@pytest.fixture
def registered(monkeypatch: pytest.MonkeyPatch):
    """Makes the runtime `tiny` the one of a backend."""
    return lambda environment: monkeypatch.setitem(OF_BACKEND, "tiny", environment)  # type: ignore[attr-defined]


# ---- what is made


@pytest.fixture(scope="module")
def order(shared_house: House, tmp_path_factory: pytest.TempPathFactory) -> Order:
    """An installed runtime. Its library is on an index of its own, and looks itself up under another name."""
    second = Index(tmp_path_factory.mktemp("second") / "index")
    second.wheel("tinylib", "1.2+cpu", tinylib="import helper")
    shared_house.index.wheel("tinylib", "1.2", tinylib="raise ImportError('the build for CUDA')")
    shared_house.index.wheel("helper", "3.0", helper="")
    shared_house.index.wheel("helper", "4.0", helper="raise ImportError('too new')")
    variant = shared_house.variant(index=second.url, stands_for="bigname")
    made = shared_house.order(shared_house.tiny(*PINS, variant=variant))
    install(made)
    return made


@pytest.mark.usefixtures("order")
def test_it_holds_what_its_lock_pins_for_this_machine_and_nothing_more(shared_house):
    there = json.loads(shared_house.python(DISTRIBUTIONS))

    assert {name: there[name] for name in ("tinylib", "helper")} == {"tinylib": "1.2+cpu", "helper": "3.0"}
    assert "other" not in there


def test_a_build_that_no_configured_index_has_comes_from_an_index_of_its_own(order):
    asked = [line for line in order.say.lines if "is on no configured index" in line]

    assert len(asked) == 1
    assert asked[0].startswith("tiny: tinylib==1.2+cpu is on no configured index: asks file://")


@pytest.mark.usefixtures("order")
def test_a_library_that_looks_itself_up_under_another_name_finds_itself(shared_house):
    told = shared_house.python("import importlib.metadata; print(importlib.metadata.version('bigname'))")

    assert told == "1.2+cpu"


def test_the_manifest_says_what_is_there(order, shared_house):
    made = manifest.read(order.folder)

    assert (made.name, made.variant, made.version) == ("tiny", "cpu", "1.2+cpu")
    assert made.lock_sha256 == manifest.digest(shared_house.lock)
    assert made.python == shared_house.python("import platform; print(platform.python_version())")


def test_progress_tells_how_many_of_how_many_and_the_end(order):
    assert any("tiny: collecting 2 of 2 packages (helper)" in status for status in order.say.statuses)
    assert any(line.startswith("tiny: installed 2 packages, ") for line in order.say.lines)
    assert order.say.lines[-1].startswith(f"tiny: 1.2+cpu (cpu) is installed in {order.folder}, ")


def test_nothing_of_the_making_is_left_but_its_log(order):
    assert sorted(path.name for path in order.runtimes.iterdir()) == [".tiny.lock", "tiny", "tiny.log"]


def test_what_is_there_is_not_made_again(order, shared_house):
    again = shared_house.order(order.environment)

    assert install(again) == manifest.read(order.folder)
    assert again.say.lines == [f"tiny: 1.2+cpu (cpu) is installed already, in {order.folder}"]


def test_an_engine_gets_its_python(order, registered):
    registered(order.environment)

    assert interpreter(order.runtimes, "tiny", None) == order.folder / "bin" / "python"


def test_with_other_pins_it_runs_on_and_would_be_made_again(order, shared_house, registered):
    registered(order.environment)
    pins = shared_house.lock.read_text()
    try:
        shared_house.lock.write_text("tinylib==9\n")
        assert interpreter(order.runtimes, "tiny", None) == order.folder / "bin" / "python"
        again = why_again(manifest.read(order.folder), order)
        assert again == "Stoker pins other versions now than those of this one (1.2+cpu)"
    finally:
        shared_house.lock.write_text(pins)


def test_without_the_python_it_was_made_with_it_cannot_run(order, registered):
    registered(order.environment)
    python = order.folder / "bin" / "python"
    before = python.readlink()
    try:
        python.unlink()
        python.symlink_to("/usr/bin/env")
        with pytest.raises(EnvironmentMissing, match=r"Python that the runtime tiny was made with has gone"):
            interpreter(order.runtimes, "tiny", None)
    finally:
        python.unlink()
        python.symlink_to(before)


# ---- what is compiled


def test_what_is_compiled_is_compiled_as_the_runtime_and_whoever_installs_it_want(house, monkeypatch):
    house.index.source("2.0")
    monkeypatch.setenv("CMAKE_ARGS", "-DMINE=1")
    variant = house.variant(cmake_args="-DGGML_NATIVE=OFF", minutes="5 to 10")
    order = house.order(house.tiny("tinylib==2.0", variant=variant, compiled="tinylib"))

    install(order)

    assert house.python("import tinylib; print(tinylib.BUILT_WITH)") == "-DGGML_NATIVE=OFF -DMINE=1"
    assert any("this takes about 5 to 10 min" in line for line in order.say.lines)
    assert order.is_built
    monkeypatch.setenv("CMAKE_ARGS", "-DMINE=2")
    assert not order.is_built, "a wheel that was built in another way"


def test_what_was_compiled_once_is_not_compiled_again_and_must_be_importable(house, registered):
    environment = house.tiny("tinylib==2.0", compiled="tinylib")
    registered(environment)
    house.folder.mkdir(parents=True)
    order = house.order(environment)
    order.wheels.mkdir(parents=True)
    house.index.wheel("tinylib", "2.0", tinylib="raise ImportError('no such GPU')")
    house.index.move("tinylib", order.wheels)

    with pytest.raises(InstallError, match=r"import tinylib ended with code 1: ImportError: no such GPU \("):
        install(order)

    assert order.say.lines[:2] == [
        "tiny: made again: an earlier installation did not come to its end",
        f"tiny: takes the tinylib==2.0 that was built earlier, from {order.wheels}",
    ]
    assert manifest.read(order.folder) is None


# ---- what fails


def test_a_package_that_cannot_be_had_is_named_and_nothing_counts_as_installed(house, registered):
    environment = house.tiny("tinylib==1.0")
    registered(environment)
    order = house.order(environment)

    with pytest.raises(InstallError) as failure:
        install(order)

    assert str(failure.value) == (
        "tiny is not installed: pip install ended with code 1: No matching distribution found for "
        f"tinylib==1.0 (all that was said is in {order.log})"
    )
    assert "No matching distribution found" in order.log.read_text()
    with pytest.raises(
        EnvironmentMissing, match="was not installed to its end: run `stoker runtimes install"
    ):
        interpreter(house.runtimes, "tiny", None)


def test_a_disk_that_is_too_small_is_told_before_anything_is_done(house):
    order = house.order(house.tiny("tinylib==1.0", variant=house.variant(space_mib=1 << 40)))

    with pytest.raises(InstallError, match=rf"takes about {1 << 40} MiB .* has \d+ MiB left: make room"):
        install(order)
    assert not order.folder.exists()


def test_a_folder_that_cannot_be_written_is_told(house):
    house.runtimes.write_text("a file")

    with pytest.raises(InstallError, match=f"cannot write to {house.runtimes}: "):
        install(house.order(house.tiny("tinylib==1.0")))


# ---- what is interrupted

INSTALLER = """
import signal, sys
# who was started in the background of a script inherits that SIGINT is ignored
signal.signal(signal.SIGINT, signal.default_int_handler)
sys.path.insert(0, {root!r})
from pathlib import Path
from tests.workers.environments.conftest import Heard
from workers.environments.install import install
from workers.environments.request import Order
from backends.environment import Environment, Variant
variant = Variant("cpu", {lock!r}, "tiny", space_mib=50)
tiny = Environment("tiny", ("tiny",), "tinylib", ("tinylib",), "tinylib", (variant,))
try:
    install(Order(tiny, variant, Path({runtimes!r})))
except KeyboardInterrupt:
    sys.exit(130)
"""


def test_an_installation_is_alone_and_one_that_is_interrupted_leaves_nothing_that_runs(
    house, registered, tmp_path
):
    told = tmp_path / "pid"
    waits = (
        f"import os, pathlib, time; pathlib.Path({str(told)!r}).write_text(str(os.getpid())); time.sleep(600)"
    )
    house.index.wheel("tinylib", "1.0", tinylib=waits)
    environment = house.tiny("tinylib==1.0")
    registered(environment)
    code = INSTALLER.format(root=str(ROOT), lock=str(house.lock), runtimes=str(house.runtimes))
    with subprocess.Popen([sys.executable, "-c", code]) as first:
        try:
            assert eventually(lambda: told.exists() and told.read_text(), 60)
            with pytest.raises(InstallError) as refused:
                install(house.order(environment))
            with pytest.raises(InstallError, match="is at work on tiny"):
                remove(house.runtimes, environment)
            first.send_signal(signal.SIGINT)
            assert first.wait(30) == 130
            assert not lives(int(told.read_text())), "what it had started goes on"
        finally:
            first.kill()
            if told.exists() and told.read_text():
                with suppress(ProcessLookupError):
                    os.kill(int(told.read_text()), signal.SIGKILL)

    assert str(refused.value) == (
        f"another `stoker runtimes` (process {first.pid}) is at work on tiny: wait for its end"
    )
    with pytest.raises(EnvironmentMissing, match="was not installed to its end"):
        interpreter(house.runtimes, "tiny", None)
    assert remove(house.runtimes, environment)
    assert not house.folder.exists()
