"""`stoker runtimes`."""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
from itertools import takewhile

import pytest
from click.testing import CliRunner

from backends.catalogue import BACKENDS
from stoker import runtimes
from stoker.cli import cli
from workers.environments import manifest
from workers.environments.manifest import Manifest
from workers.environments.table import ENVIRONMENTS


@pytest.fixture
def stoker(tmp_path, monkeypatch):
    """Runs the command, with its environments in a folder of the test's own."""
    monkeypatch.setenv("STOKER_RUNTIMES_DIR", str(tmp_path / "runtimes"))
    return lambda *words: CliRunner().invoke(cli, ["runtimes", *words])


def test_the_list_has_a_line_for_each_backend_and_says_how_to_install_what_is_missing(stoker):
    listed = stoker("list")

    lines = listed.output.splitlines()
    assert listed.exit_code == 0
    assert lines[0].split() == ["backend", "environment", "state", "version", "variant", "where"]
    assert [line.split()[0] for line in lines[1:] if not line.startswith(" ")] == list(BACKENDS)
    ct2 = next(at for at, line in enumerate(lines) if line.startswith("ct2"))
    assert lines[ct2].split() == ["ct2", "ct2", "missing"]
    told = takewhile(lambda line: line.startswith(" "), lines[ct2 + 1 :])
    assert "  to install it: stoker runtimes install ct2" in told


def test_what_is_installed_has_a_line_on_why_it_cannot_run_here(stoker, tmp_path):
    if shutil.which("nvidia-smi"):
        pytest.skip("it can run here")
    folder = tmp_path / "runtimes" / "vllm"
    (folder / "bin").mkdir(parents=True)
    (folder / "bin" / "python").symlink_to(sys.executable)
    pins = manifest.digest(ENVIRONMENTS["vllm"].variant("cuda").lock_path)
    Manifest("vllm", "cuda", "1.2.3", "3.12.0", os.path.realpath(sys.executable), pins, "").write(folder)

    lines = stoker("list").output.splitlines()
    vllm = next(at for at, line in enumerate(lines) if line.startswith("vllm "))
    assert lines[vllm].split()[2:5] == ["installed", "1.2.3", "cuda"]
    assert lines[vllm + 1].startswith("  cuda: it needs an NVIDIA GPU, and there is none to be seen (")
    assert lines[vllm + 2].startswith("vllm_serve "), "it is told of the installed build alone"


def test_as_json_it_holds_the_same_and_why_a_build_cannot_run(stoker):
    rows = {row["backend"]: row for row in json.loads(stoker("list", "--json").output)}

    assert rows["llama_server"]["where"] == sys.prefix
    assert rows["vllm"]["obstacles"]["cpu"] == []
    assert set(rows["vllm"]["obstacles"]) == {"cuda", "cpu"}


def test_a_name_that_nobody_has_is_told_with_those_that_exist(stoker):
    for command in (("install", "ct2", "tgi"), ("remove", "tgi")):
        refused = stoker(*command)
        assert refused.exit_code == 1
        assert refused.output == (
            "Error: there is no runtime tgi to install; "
            "there are ct2, exllamav3, llama_cpp, llama_server, vllm\n"
        )


def test_a_backend_without_libraries_says_that_it_needs_none(stoker):
    refused = stoker("install", "stub")

    assert (refused.exit_code, refused.output) == (1, "Error: stub needs no libraries: it runs as it is\n")


def test_a_build_that_does_not_exist_is_refused(stoker):
    refused = stoker("install", "llama_server", "--variant", "cuda")

    assert (refused.exit_code, refused.output) == (
        1,
        "Error: the runtime llama_server has no variant cuda; there is cpu\n",
    )


def test_what_cannot_run_here_is_not_installed(stoker, tmp_path):
    if shutil.which("nvidia-smi"):
        pytest.skip("it can run here")
    refused = stoker("install", "exllamav3", "vllm", "--variant", "cuda")

    assert refused.exit_code == 1
    assert refused.output.startswith(
        "Error: exllamav3 (cuda) cannot run here: it needs an NVIDIA GPU, and there is none to be seen ("
    )
    assert "\nvllm (cuda) cannot run here: " in refused.output
    assert not (tmp_path / "runtimes" / "exllamav3").exists()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_an_installation_is_interrupted_when_its_terminal_goes_away(stoker, monkeypatch, number):
    """Else a compiler that nobody waits for would run on for minutes, and hold the environment."""
    monkeypatch.setattr(runtimes.installing, "install", lambda _order: signal.raise_signal(number))
    before = signal.signal(number, signal.SIG_DFL)  # the tests themselves may run under nohup
    try:
        interrupted = stoker("install", "ct2", "--variant", "cpu")
        assert signal.getsignal(number) is signal.SIG_DFL
    finally:
        signal.signal(number, before)

    assert interrupted.exit_code == 130
    assert interrupted.output.startswith("ct2 is not installed: interrupted\n")


def test_an_installation_that_is_to_outlive_its_terminal_does(stoker, monkeypatch):
    """`nohup stoker runtimes install ...` ignores the signal."""
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        monkeypatch.setattr(runtimes.installing, "install", lambda _order: signal.raise_signal(signal.SIGHUP))
        assert stoker("install", "ct2", "--variant", "cpu").exit_code == 0
    finally:
        signal.signal(signal.SIGHUP, before)


def test_what_is_not_there_cannot_be_removed(stoker, tmp_path):
    ran = stoker("remove", "vllm_serve")

    assert (ran.exit_code, ran.output) == (0, f"vllm is not installed in {tmp_path / 'runtimes'}\n")
