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
from config.commands import program
from engines.environments import manifest
from engines.environments.manifest import Manifest
from engines.environments.python import ENVIRONMENTS
from stoker import runtimes
from stoker.cli import cli


@pytest.fixture
def stoker(tmp_path, monkeypatch):
    """Runs `stoker runtimes` with a temporary folder of environments."""
    monkeypatch.setenv("STOKER_RUNTIMES_DIR", str(tmp_path / "runtimes"))
    return lambda *words: CliRunner().invoke(cli, ["runtimes", *words])


def test_the_list_has_a_line_for_each_backend_and_shows_how_to_install_a_missing_one(stoker):
    listed = stoker("list")

    lines = listed.output.splitlines()
    assert listed.exit_code == 0
    assert lines[0].split() == ["backend", "environment", "state", "version", "variant", "where"]
    assert [line.split()[0] for line in lines[1:] if not line.startswith(" ")] == list(BACKENDS)
    ct2 = next(at for at, line in enumerate(lines) if line.startswith("ct2"))
    assert lines[ct2].split() == ["ct2", "ct2", "missing"]
    remarks = takewhile(lambda line: line.startswith(" "), lines[ct2 + 1 :])
    assert f"  to install it: {program()} runtimes install ct2" in remarks


def test_an_installed_runtime_that_cannot_run_here_has_a_line_with_the_reason(stoker, tmp_path):
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
    assert lines[vllm + 1].startswith("  cuda: it needs an NVIDIA GPU, and none can be read (")
    assert lines[vllm + 2].startswith("vllm_serve "), "only the installed variant has a reason"


def test_the_json_list_holds_the_same_and_the_obstacles_of_each_variant(stoker):
    rows = {row["backend"]: row for row in json.loads(stoker("list", "--json").output)}

    assert rows["llama_server"]["where"] == sys.prefix
    assert rows["vllm"]["obstacles"]["cpu"] == []
    assert set(rows["vllm"]["obstacles"]) == {"cuda", "cpu"}


def test_an_unknown_name_is_refused_with_those_that_exist(stoker):
    for command in (("install", "ct2", "sglang"), ("remove", "sglang")):
        refused = stoker(*command)
        assert refused.exit_code == 2
        assert refused.output.endswith(
            "Error: there is no runtime sglang to install; "
            "there are ct2, exllamav3, llama_cpp, llama_server, sherpa, vllm, whisper\n"
        )


def test_a_backend_without_libraries_is_refused_as_needing_none(stoker):
    refused = stoker("install", "stub")

    assert (refused.exit_code, refused.output) == (1, "Error: stub needs no libraries: it runs as it is\n")


def test_a_variant_that_does_not_exist_is_refused(stoker):
    refused = stoker("install", "llama_server", "--variant", "cuda")

    assert (refused.exit_code, refused.output) == (
        1,
        "Error: the runtime llama_server has no variant cuda; it has cpu\n",
    )


def test_a_runtime_that_cannot_run_here_is_not_installed(stoker, tmp_path):
    if shutil.which("nvidia-smi"):
        pytest.skip("it can run here")
    refused = stoker("install", "exllamav3", "vllm", "--variant", "cuda")

    assert refused.exit_code == 1
    assert refused.output.startswith(
        "Error: exllamav3 (cuda) cannot run here: it needs an NVIDIA GPU, and none can be read ("
    )
    assert "\nvllm (cuda) cannot run here: " in refused.output
    assert not (tmp_path / "runtimes" / "exllamav3").exists()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_an_installation_is_interrupted_when_its_terminal_goes_away(stoker, monkeypatch, number):
    """Otherwise a compiler would run on for minutes, and the environment would stay locked."""
    monkeypatch.setattr(runtimes.installing, "install", lambda _request: signal.raise_signal(number))
    before = signal.signal(number, signal.SIG_DFL)  # the tests themselves may run under nohup
    try:
        interrupted = stoker("install", "ct2", "--variant", "cpu")
        assert signal.getsignal(number) is signal.SIG_DFL
    finally:
        signal.signal(number, before)

    assert interrupted.exit_code == 130
    assert interrupted.output.startswith("ct2 is not installed: interrupted\n")


def test_an_installation_under_nohup_outlives_its_terminal(stoker, monkeypatch):
    """`nohup stoker runtimes install ...` ignores the signal."""
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        monkeypatch.setattr(
            runtimes.installing, "install", lambda _request: signal.raise_signal(signal.SIGHUP)
        )
        assert stoker("install", "ct2", "--variant", "cpu").exit_code == 0
    finally:
        signal.signal(signal.SIGHUP, before)


def test_removing_a_runtime_that_is_not_installed_reports_that(stoker, tmp_path):
    ran = stoker("remove", "vllm_serve")

    assert (ran.exit_code, ran.output) == (0, f"vllm is not installed in {tmp_path / 'runtimes'}\n")
