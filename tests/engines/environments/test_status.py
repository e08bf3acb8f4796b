"""The status of each environment, and the variant that is chosen."""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from backends.catalogue import BACKENDS
from backends.environment import Variant
from engines.environments import manifest
from engines.environments.manifest import Manifest
from engines.environments.python import ENVIRONMENTS
from engines.environments.status import choose_variant, environment_statuses


@pytest.fixture
def installed(tmp_path):
    """Writes what an installation of a runtime leaves: a Python and a manifest."""

    def install(name: str, variant: str = "cpu", **fields: str) -> Path:
        folder = tmp_path / name
        python = folder / "bin" / "python"
        python.parent.mkdir(parents=True)
        python.symlink_to(sys.executable)
        written = Manifest(
            name=name,
            variant=variant,
            version="1.2.3",
            python="3.12.0",
            base=os.path.realpath(sys.executable),
            lock_sha256=manifest.digest(ENVIRONMENTS[name].variant(variant).lock_path),
            made_at="2026-11-21T00:00:00+00:00",
        )
        replace(written, **fields).write(folder)
        return folder

    return install


@pytest.fixture
def rows(tmp_path):
    return lambda: {row.backend: row for row in environment_statuses(tmp_path)}


def test_there_is_a_row_for_each_backend(rows):
    assert list(rows()) == list(BACKENDS)
    assert rows()["stub"].state == rows()["openai_remote"].state == "not needed"


def test_backends_that_share_an_environment_are_installed_together(rows, installed):
    folder = installed("vllm")

    for backend in ("vllm", "vllm_serve"):
        row = rows()[backend]
        assert (row.environment, row.state, row.version, row.variant) == ("vllm", "installed", "1.2.3", "cpu")
        assert row.where == str(folder)


def test_a_library_in_stokers_own_environment_is_installed(rows):
    row = rows()["llama_server"]

    assert (row.state, row.where) == ("installed", sys.prefix)
    assert row.note == "a part of Stoker's own environment"


@pytest.mark.parametrize(
    ("field", "note"),
    [
        ({"lock_sha256": "0" * 64}, "Stoker now pins other versions than this installation has (1.2.3)"),
        ({"base": "/usr/bin/python3.2"}, "the Python that it was installed with no longer exists"),
    ],
)
def test_an_environment_with_another_lock_or_python_is_outdated(rows, installed, field, note):
    installed("ct2", **field)

    assert (rows()["ct2"].state, rows()["ct2"].note) == ("outdated", note)


def test_an_incomplete_environment_is_missing(rows, installed):
    manifest.delete(installed("ct2"))

    assert rows()["ct2"].state == "missing"
    assert rows()["ct2"].note == "its installation was not completed"


def test_an_environment_without_a_variant_for_this_machine_cannot_run_and_shows_why(rows, monkeypatch):
    impossible = Variant("cuda", "ct2/locks/cpu.txt", "ct2", space_mib=1, driver=(999, 0))
    monkeypatch.setitem(ENVIRONMENTS, "ct2", replace(ENVIRONMENTS["ct2"], variants=(impossible,)))
    row = rows()["ct2"]

    assert row.state == "cannot run here"
    assert [sentence[:7] for sentence in row.obstacles["cuda"]] == ["it need"]


def test_an_installed_environment_shows_why_it_cannot_run_here(rows, installed, monkeypatch):
    vllm = ENVIRONMENTS["vllm"]
    impossible = replace(vllm.variant("cuda"), driver=(999, 0))
    monkeypatch.setitem(ENVIRONMENTS, "vllm", replace(vllm, variants=(impossible, vllm.variant("cpu"))))
    installed("vllm", "cuda")
    row = rows()["vllm"]

    assert (row.state, row.variant) == ("installed", "cuda")
    assert [sentence[:7] for sentence in row.obstacles["cuda"]] == ["it need"]


def test_an_installed_environment_needs_no_compiler(rows, installed, monkeypatch):
    monkeypatch.setenv("CXX", "there-is-no-such-compiler")
    assert "no C++ compiler" in rows()["llama_cpp"].obstacles["cpu"][0]
    installed("llama_cpp")

    assert rows()["llama_cpp"].obstacles["cpu"] == ()


def test_the_chosen_variant_is_the_installed_one_else_the_first_that_can_run(tmp_path, installed):
    impossible = Variant("cuda", "vllm/locks/cuda.txt", "vllm", space_mib=1, driver=(999, 0))
    cpu = ENVIRONMENTS["vllm"].variant("cpu")
    vllm = replace(ENVIRONMENTS["vllm"], variants=(impossible, cpu))

    assert choose_variant(tmp_path, vllm) is cpu
    installed("vllm", "cuda")
    assert choose_variant(tmp_path, vllm) is impossible
    assert choose_variant(tmp_path / "elsewhere", replace(vllm, variants=(impossible,))) is impossible


def test_a_variant_that_does_not_exist_is_refused_with_those_that_do():
    with pytest.raises(LookupError, match="the runtime vllm has no variant rocm; it has cuda and cpu"):
        ENVIRONMENTS["vllm"].variant("rocm")
