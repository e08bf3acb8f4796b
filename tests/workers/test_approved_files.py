"""The files of a dynamic model: an engine starts with those by which its load was decided, and no others."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from backends.base import LoadError
from config.settings import ROOT, ModelDefinition, Settings
from fleet.artifacts.read import read_artifact
from fleet.dynamic_model import link_folder
from tests.support.worker_harness import WorkerHarness
from workers.approved_files import check_approved_files


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A model's file."""
    path = tmp_path / "m.gguf"
    path.write_bytes((ROOT / "models/stoker-demo.gguf").read_bytes())
    return path


@pytest.fixture
def model(file: Path) -> ModelDefinition:
    """A model whose load was decided by the file as it is."""
    origin = {"kind": "path", "file": file.name, "files": read_artifact(file, file.parent).digest}
    return ModelDefinition("alpha", "stub", model_path=str(file), origin=origin)


def test_an_engine_starts_with_the_approved_files_only(
    settings: Settings, file: Path, model: ModelDefinition
) -> None:
    worker = WorkerHarness(replace(settings, models={"alpha": model}, model_base_path=file.parent))
    try:
        worker.fleet.load("alpha")
        worker.until(lambda: worker.fleet.row("alpha").state == "loaded")
        worker.fleet.unload("alpha")
        worker.until(lambda: worker.fleet.row("alpha").state == "unloaded")
        file.write_bytes(file.read_bytes() + b"x")
        worker.fleet.load("alpha")
        worker.until(lambda: worker.fleet.row("alpha").state == "failed")
        assert "differ from those that its load was decided with" in (
            worker.fleet.row("alpha").last_error or ""
        )
    finally:
        worker.close()


def test_files_that_are_gone_are_named(settings: Settings, file: Path, model: ModelDefinition) -> None:
    file.unlink()
    with pytest.raises(LoadError, match="the files of alpha cannot be read"):
        check_approved_files(model, replace(settings, model_base_path=file.parent))


def test_files_behind_a_link_of_the_data_folder_are_checked(
    settings: Settings, file: Path, model: ModelDefinition, tmp_path: Path
) -> None:
    settings = replace(settings, model_base_path=tmp_path / "base", data_dir=tmp_path / "data")
    link = link_folder(settings) / "elsewhere"
    link.parent.mkdir(parents=True)
    link.symlink_to(file.parent)
    origin = {**(model.origin or {}), "kind": "linked", "file": f"elsewhere/{file.name}"}
    linked = replace(model, model_path=str(link / file.name), origin=origin)
    check_approved_files(linked, settings)
    file.write_bytes(file.read_bytes() + b"x")
    with pytest.raises(LoadError, match="added again"):
        check_approved_files(linked, settings)


def test_a_model_without_a_digest_is_not_read(settings: Settings, file: Path, model: ModelDefinition) -> None:
    file.unlink()
    for origin in (None, {"kind": "hub", "repository": "org/it", "revision": "c" * 40}):
        check_approved_files(replace(model, origin=origin), settings)
