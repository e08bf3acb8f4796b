"""Installing an environment, with the real uv."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from contextlib import suppress

import pytest

from config.commands import program
from config.settings import ROOT
from engines.environments import manifest
from engines.environments.install import install, reinstall_reason, remove
from engines.environments.install_lock import InstallError
from engines.environments.python import ENVIRONMENT_OF_BACKEND, EnvironmentMissing, interpreter
from engines.environments.request import InstallRequest
from tests.engines.environments.conftest import Harness
from tests.engines.environments.index import Index
from tests.stoker.conftest import is_alive
from tests.support.waiting import scaled, wait_until

pytestmark = pytest.mark.slow

PINS = ("tinylib==1.2+cpu", "helper==3.0", "other==9 ; sys_platform == 'none'")
DISTRIBUTIONS = """
import importlib.metadata, json
print(json.dumps({each.name: each.version for each in importlib.metadata.distributions()}))
"""


@pytest.fixture
def registered(monkeypatch: pytest.MonkeyPatch):
    """Registers the runtime `tiny` as the environment of a backend."""
    return lambda environment: monkeypatch.setitem(ENVIRONMENT_OF_BACKEND, "tiny", environment)  # type: ignore[attr-defined]


# ---- the installed environment


@pytest.fixture(scope="module")
def install_request(shared_harness: Harness, tmp_path_factory: pytest.TempPathFactory) -> InstallRequest:
    """An installed runtime. Its library is on the variant's index and looks up its version under another
    name."""
    second = Index(tmp_path_factory.mktemp("second") / "index")
    second.wheel("tinylib", "1.2+cpu", tinylib="import helper")
    shared_harness.index.wheel("tinylib", "1.2", tinylib="raise ImportError('the build for CUDA')")
    shared_harness.index.wheel("helper", "3.0", helper="")
    shared_harness.index.wheel("helper", "4.0", helper="raise ImportError('too new')")
    variant = shared_harness.variant(index=second.url, stands_for="bigname")
    install_request = shared_harness.request(shared_harness.tiny(*PINS, variant=variant))
    install(install_request)
    return install_request


@pytest.mark.usefixtures("install_request")
def test_an_environment_holds_the_pins_that_apply_to_this_machine_and_nothing_more(shared_harness):
    there = json.loads(shared_harness.python(DISTRIBUTIONS))

    assert {name: there[name] for name in ("tinylib", "helper")} == {"tinylib": "1.2+cpu", "helper": "3.0"}
    assert "other" not in there


def test_a_local_version_that_no_configured_index_has_comes_from_the_variants_index(install_request):
    asking = [line for line in install_request.progress.lines if "is not on a configured index" in line]

    assert len(asking) == 1
    assert asking[0].startswith("tiny: tinylib==1.2+cpu is not on a configured index: asking file://")


@pytest.mark.usefixtures("install_request")
def test_a_library_that_looks_up_its_version_under_another_name_finds_it(shared_harness):
    version = shared_harness.python("import importlib.metadata; print(importlib.metadata.version('bigname'))")

    assert version == "1.2+cpu"


def test_the_manifest_holds_the_variant_version_lock_and_python(install_request, shared_harness):
    made = manifest.read(install_request.folder)

    assert (made.name, made.variant, made.version) == ("tiny", "cpu", "1.2+cpu")
    assert made.lock_sha256 == manifest.digest(shared_harness.lock)
    assert made.python == shared_harness.python("import platform; print(platform.python_version())")


def test_progress_shows_the_number_of_packages_and_the_end(install_request):
    assert any("tiny: collecting 2 packages, " in status for status in install_request.progress.statuses)
    assert any(line.startswith("tiny: collected 2 packages, ") for line in install_request.progress.lines)
    assert any(line.startswith("tiny: installed 2 packages, ") for line in install_request.progress.lines)
    assert install_request.progress.lines[-1].startswith(
        f"tiny: 1.2+cpu (cpu) is installed in {install_request.folder}, "
    )


def test_an_installation_leaves_no_temporary_files_but_its_log(install_request):
    assert sorted(path.name for path in install_request.runtimes.iterdir()) == [
        ".tiny.lock",
        "tiny",
        "tiny.log",
    ]


def test_an_installed_environment_is_not_installed_again(install_request, shared_harness):
    again = shared_harness.request(install_request.environment)

    assert install(again) == manifest.read(install_request.folder)
    assert again.progress.lines == [f"tiny: 1.2+cpu (cpu) is installed already, in {install_request.folder}"]


def test_an_engine_gets_the_python_of_its_environment(install_request, registered):
    registered(install_request.environment)

    assert interpreter(install_request.runtimes, "tiny", None) == install_request.folder / "bin" / "python"


def test_an_environment_with_another_lock_still_runs_and_would_be_installed_again(
    install_request, shared_harness, registered
):
    registered(install_request.environment)
    pins = shared_harness.lock.read_text()
    try:
        shared_harness.lock.write_text("tinylib==9\n")
        assert (
            interpreter(install_request.runtimes, "tiny", None) == install_request.folder / "bin" / "python"
        )
        again = reinstall_reason(manifest.read(install_request.folder), install_request)
        assert again == "Stoker now pins other versions than this installation has (1.2+cpu)"
    finally:
        shared_harness.lock.write_text(pins)


def test_an_environment_without_the_python_it_was_installed_with_cannot_run(install_request, registered):
    registered(install_request.environment)
    python = install_request.folder / "bin" / "python"
    before = python.readlink()
    try:
        python.unlink()
        python.symlink_to("/usr/bin/env")
        with pytest.raises(
            EnvironmentMissing, match="the Python that the runtime tiny was installed with no longer exists"
        ):
            interpreter(install_request.runtimes, "tiny", None)
    finally:
        python.unlink()
        python.symlink_to(before)


# ---- compiled packages


def test_a_package_is_compiled_with_the_cmake_args_of_the_variant_and_the_operator(harness, monkeypatch):
    harness.index.source("2.0")
    monkeypatch.setenv("CMAKE_ARGS", "-DMINE=1")
    variant = harness.variant(cmake_args="-DGGML_NATIVE=OFF", minutes="5 to 10")
    install_request = harness.request(harness.tiny("tinylib==2.0", variant=variant, compiled="tinylib"))

    install(install_request)

    assert harness.python("import tinylib; print(tinylib.BUILT_WITH)") == "-DGGML_NATIVE=OFF -DMINE=1"
    assert any("this takes about 5 to 10 min" in line for line in install_request.progress.lines)
    assert install_request.is_built
    monkeypatch.setenv("CMAKE_ARGS", "-DMINE=2")
    assert not install_request.is_built, "a wheel that was built in another way"


def test_a_compiled_wheel_is_not_compiled_again_and_must_be_importable(harness, registered):
    environment = harness.tiny("tinylib==2.0", compiled="tinylib")
    registered(environment)
    harness.folder.mkdir(parents=True)
    install_request = harness.request(environment)
    install_request.wheels.mkdir(parents=True)
    harness.index.wheel("tinylib", "2.0", tinylib="raise ImportError('no such GPU')")
    harness.index.move("tinylib", install_request.wheels)

    with pytest.raises(InstallError, match=r"import tinylib ended with code 1: ImportError: no such GPU \("):
        install(install_request)

    assert install_request.progress.lines[:2] == [
        "tiny: installed again: an earlier installation was not completed",
        f"tiny: takes the tinylib==2.0 that was built earlier, from {install_request.wheels}",
    ]
    assert manifest.read(install_request.folder) is None


# ---- failures


def test_a_package_that_no_index_has_is_named_and_the_environment_is_not_installed(
    harness, registered, monkeypatch
):
    monkeypatch.setenv("COLUMNS", "80")  # uv would wrap its messages, and a part of the reason would be lost
    environment = harness.tiny("tinylib==1.0")
    registered(environment)
    install_request = harness.request(environment)

    with pytest.raises(InstallError) as failure:
        install(install_request)

    assert str(failure.value) == (
        "tiny is not installed: uv pip sync ended with code 1: Because tinylib was not found in the package "
        "registry and you require tinylib==1.0, we can conclude that your requirements are unsatisfiable. "
        f"(the whole output is in {install_request.log})"
    )
    assert "tinylib was not found in the package registry" in install_request.log.read_text()
    with pytest.raises(
        EnvironmentMissing, match=f"is not installed completely: run `{program()} runtimes install"
    ):
        interpreter(harness.runtimes, "tiny", None)


def test_a_file_with_another_hash_than_the_locked_one_is_refused(harness):
    harness.index.wheel("tinylib", "1.0", tinylib="")
    environment = harness.tiny("tinylib==1.0")
    harness.index.move("tinylib", harness.index.folder)
    harness.index.wheel("tinylib", "1.0", tinylib="# another build")

    with pytest.raises(InstallError, match=r"Hash mismatch for `tinylib==1\.0`: the file is not the"):
        install(harness.request(environment))


def test_a_disk_that_is_too_small_is_refused_before_any_change(harness):
    install_request = harness.request(
        harness.tiny("tinylib==1.0", variant=harness.variant(space_mib=1 << 40))
    )

    with pytest.raises(
        InstallError, match=rf"takes about {1 << 40} MiB .* has only \d+ MiB left: free some space"
    ):
        install(install_request)
    assert not install_request.folder.exists()


def test_a_folder_that_cannot_be_written_is_reported(harness):
    harness.runtimes.write_text("a file")

    with pytest.raises(InstallError, match=f"cannot write to {harness.runtimes}: "):
        install(harness.request(harness.tiny("tinylib==1.0")))


# ---- interruption

INSTALLER = """
import sys
sys.path.insert(0, {root!r})
from pathlib import Path
from tests.engines.environments.conftest import RecordedProgress
from engines.environments.install import install
from engines.environments.request import InstallRequest
from backends.environment import Environment, Variant
variant = Variant("cpu", {lock!r}, "tiny", space_mib=50)
tiny = Environment("tiny", ("tiny",), "tinylib", ("tinylib",), "tinylib", (variant,))
try:
    install(InstallRequest(tiny, variant, Path({runtimes!r})))
except KeyboardInterrupt:
    sys.exit(130)
"""


def test_a_second_installation_is_refused_and_an_interrupted_one_leaves_no_process(
    harness, registered, tmp_path
):
    pid_file = tmp_path / "pid"
    waits = f"import os, pathlib, time; pathlib.Path({str(pid_file)!r}).write_text(str(os.getpid()))"
    harness.index.wheel("tinylib", "1.0", tinylib=f"{waits}; time.sleep(600)")
    environment = harness.tiny("tinylib==1.0")
    registered(environment)
    code = INSTALLER.format(root=str(ROOT), lock=str(harness.lock), runtimes=str(harness.runtimes))
    with subprocess.Popen([sys.executable, "-c", code]) as first:
        try:
            wait_until(lambda: pid_file.exists() and pid_file.read_text(), 60)
            with pytest.raises(InstallError) as refused:
                install(harness.request(environment))
            with pytest.raises(InstallError, match="is changing tiny"):
                remove(harness.runtimes, environment)
            first.send_signal(signal.SIGINT)
            assert first.wait(scaled(30)) == 130
            assert not is_alive(int(pid_file.read_text())), "its child process still runs"
        finally:
            first.kill()
            if pid_file.exists() and pid_file.read_text():
                with suppress(ProcessLookupError):
                    os.kill(int(pid_file.read_text()), signal.SIGKILL)

    assert str(refused.value) == (
        f"another `stoker runtimes` (process {first.pid}) is changing tiny: wait until it has ended"
    )
    with pytest.raises(EnvironmentMissing, match="is not installed completely"):
        interpreter(harness.runtimes, "tiny", None)
    assert remove(harness.runtimes, environment)
    assert not harness.folder.exists()
