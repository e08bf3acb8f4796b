"""The models of a presets file in the catalogue: registered, changed, removed, and left alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from config.hub_artifact import HubArtifact
from config.settings import ROOT, Settings
from fleet.adding.plan import UNKNOWN, AdditionPlan, Fit, plan_addition
from fleet.dynamic_model import Origin, dynamic_model
from fleet.fleet import Fleet
from fleet.load_request import LoadOutcome
from fleet.presets import PresetService
from tests.support.simulated_platform import SimulatedPlatform

pytestmark = pytest.mark.rule("llama-server/presets")

DEMO = ROOT / "models" / "stoker-demo.gguf"
COMMIT = "0123456789" * 4


def plan(
    fleet: Fleet,
    source: str,
    name: str,
    configuration: Mapping[str, Any],
    *,
    allowed: Sequence[str] | None = None,
) -> AdditionPlan:
    """The platform's plan; of a source on a hub, which is not there, a plan with a download."""
    if source != "o/n:Q4":
        return plan_addition(fleet, source, name, configuration, allowed=allowed)
    fields = {"backend": "llama_cpp", **configuration}
    added = dynamic_model(name, fields, Origin("hub", "m.gguf", "o/n", COMMIT), 10, fleet.settings)
    return AdditionPlan(
        name, source, added, (), (HubArtifact("o/n", COMMIT, "m.gguf"),), fields, (), Fit(UNKNOWN, "")
    )


@pytest.fixture
def settings(settings: Settings, tmp_path: Path) -> Settings:
    base = tmp_path / "base"
    base.mkdir()
    for name in ("a", "b", "c", "x", "y"):
        (base / f"{name}.gguf").write_bytes(DEMO.read_bytes())
    preset = tmp_path / "presets.ini"
    return replace(settings, data_dir=tmp_path, model_base_path=base, models_preset=preset)


class Presets:
    """A presets file, and the service that follows it."""

    def __init__(self, platform: SimulatedPlatform) -> None:
        self.fleet = platform.fleet
        self.notified: list[LoadOutcome] = []
        self.service = PresetService(platform.fleet, platform.settings, plan, self.notified.append)
        self.path = platform.settings.models_preset

    def write(self, text: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Write the file, and have it read: the problems, and what waits."""
        assert self.path is not None
        self.path.write_text(text)
        report = self.service.reload()
        return report.problems, report.waiting

    def models(self) -> list[str]:
        return sorted(self.fleet.registered.read())


@pytest.fixture
def presets(platform: SimulatedPlatform) -> Presets:
    platform.register("w1")
    return Presets(platform)


A, B = "[a]\nmodel = a.gguf\n", "[b]\nmodel = b.gguf\nnp = 4\nload-on-startup = 1\n"


def test_sections_become_registered_models(presets: Presets) -> None:
    assert presets.write(A + B) == ((), ())
    assert presets.models() == ["a", "b"]
    model = presets.fleet.definition("b")
    assert (model.target_inflight, model.enabled, model.on_demand) == (4, True, "load")
    assert model.origin is not None
    assert len(model.origin["preset"]) == 16
    assert not presets.service.is_pending


def test_a_file_that_has_not_changed_changes_nothing(presets: Presets) -> None:
    presets.write(A)
    version = presets.fleet.client.get(presets.fleet.catalogue.version_key)
    presets.write(f"; a comment\n{A}")
    assert presets.fleet.client.get(presets.fleet.catalogue.version_key) == version


def test_a_section_that_has_changed_or_gone_changes_its_model(presets: Presets) -> None:
    presets.write(A + B)
    presets.write("[b]\nmodel = b.gguf\nnp = 2\n[c]\nmodel = c.gguf\n")
    assert presets.models() == ["b", "c"]
    assert presets.fleet.definition("b").target_inflight == 2


def test_a_loaded_model_keeps_its_section_until_it_is_unloaded(
    presets: Presets, platform: SimulatedPlatform
) -> None:
    presets.write(A + B)
    platform.load("a")
    platform.load("b")
    assert presets.write("[b]\nmodel = b.gguf\nnp = 8\n") == ((), ("b", "a"))
    assert (presets.models(), presets.fleet.definition("b").target_inflight) == (["a", "b"], 4)
    assert presets.service.is_pending
    for name in ("a", "b"):
        platform.finish_unload(presets.fleet.unload(name))
    presets.service.reload()
    assert (presets.models(), presets.fleet.definition("b").target_inflight) == (["b"], 8)
    assert not presets.service.is_pending


def test_a_file_with_a_problem_changes_nothing(presets: Presets) -> None:
    presets.write(A)
    problems, _ = presets.write("[b]\nmodel = b.gguf\nctx-sise = 4\n")
    assert problems == ("[b] ctx-sise is no argument of llama-server; did you mean ctx-size?",)
    assert presets.models() == ["a"]


def test_a_file_of_an_editor_of_windows_is_read(presets: Presets) -> None:
    assert presets.write("\ufeff[x]\r\nmodel = x.gguf\r\n") == ((), ())
    assert presets.models() == ["x"]


def test_a_file_that_is_not_there_changes_nothing(presets: Presets) -> None:
    presets.write(A)
    assert presets.path is not None
    presets.path.unlink()
    assert presets.service.reload().problems == ("models_preset cannot be read: No such file or directory",)
    assert presets.models() == ["a"]


def test_models_of_the_configuration_and_added_ones_win(presets: Presets, settings: Settings) -> None:
    configured = next(iter(settings.models))
    added = dynamic_model("own", {"backend": "llama_cpp"}, Origin("path", "x.gguf"), 1, settings)
    presets.fleet.registered.register(added)
    assert presets.path is not None
    presets.path.write_text(f"[{configured}]\nmodel = x.gguf\n[own]\nmodel = y.gguf\n")
    report = presets.service.reload()
    assert len(report.notes) == 2
    assert presets.models() == ["own"]
    assert presets.fleet.definition("own").origin == {"kind": "path", "file": "x.gguf"}


def test_a_section_that_cannot_be_registered_is_a_problem_of_its_own(presets: Presets) -> None:
    problems, _ = presets.write(f"[bad name]\nmodel = x.gguf\n[m]\nmodel = missing.gguf\n{A}")
    assert problems[0] == "[bad name] cannot be the name of a model"
    assert problems[1].startswith("[m] cannot be registered: source: there is no file or folder missing.gguf")
    assert presets.models() == ["a"]
    assert presets.service.is_pending  # the file may come


def test_a_model_of_a_hub_is_there_after_its_download(presets: Presets) -> None:
    presets.write("[o/n:Q4]\nhf-repo = o/n:Q4\n")
    assert presets.models() == []
    (outcome,) = presets.notified
    presets.service.reload()  # the download is under way
    assert presets.notified == [outcome]
    (item,) = outcome.assignments
    presets.fleet.download_ended(item.replica, item.worker, ("", ""))
    assert presets.models() == ["o/n:Q4"]


def test_without_a_file_nothing_is_read(platform: SimulatedPlatform) -> None:
    service = PresetService(platform.fleet, replace(platform.settings, models_preset=None), plan, print)
    assert (service.is_configured, service.reload().problems) == (False, ())


def test_a_file_elsewhere_is_linked(presets: Presets, tmp_path: Path) -> None:
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    (folder / "m.gguf").write_bytes(DEMO.read_bytes())
    assert presets.write(f"[m]\nmodel = {folder}/m.gguf\n") == ((), ())
    model = presets.fleet.definition("m")
    assert model.origin is not None
    assert model.origin["kind"] == "linked"
    assert Path(model.model_path or "").resolve() == folder / "m.gguf"
    problems, _ = presets.write(f"[m]\nmodel = {folder}/other.gguf\n")
    assert problems == (f"[m] cannot be registered: {folder}/other.gguf is not there",)


def test_a_link_goes_with_the_last_section_that_needs_it(presets: Presets, tmp_path: Path) -> None:
    folder, links = tmp_path / "elsewhere", tmp_path / "models"
    folder.mkdir()
    (folder / "m.gguf").write_bytes(DEMO.read_bytes())
    (folder / "notes.txt").write_text("no model")
    problems, _ = presets.write(f"[m]\nmodel = {folder}/notes.txt\n")
    assert problems
    assert [*links.iterdir()] == []
    presets.write(f"[m]\nmodel = {folder}/m.gguf\n[n]\nmodel = {folder}/m.gguf\n")
    assert [link.resolve() for link in links.iterdir()] == [folder]
    presets.write(f"[n]\nmodel = {folder}/m.gguf\n")
    assert len([*links.iterdir()]) == 1
    hub = "[o/n:Q4]\n"
    presets.write(hub)
    assert len([*links.iterdir()]) == 1, "a download may need it"
    (download,) = (outcome for outcome in presets.notified if outcome.kind == "download")
    (item,) = download.assignments
    presets.fleet.download_ended(item.replica, item.worker)
    presets.write(hub)
    assert [*links.iterdir()] == []
    assert (folder / "m.gguf").is_file()


def test_arguments_of_one_backend_choose_it(presets: Presets) -> None:
    presets.write(f"{A}batch-size = 1024\n{B}rea = off\n")
    backends = [presets.fleet.definition(name).backend for name in ("a", "b")]
    assert backends == ["llama_cpp", "llama_server"]


def test_a_call_that_does_not_wait_returns_the_last_report(presets: Presets) -> None:
    problems, _ = presets.write("[a]\nmodel = a.gguf\ntemp = 1\n")
    with presets.service._lock:  # as during another call
        assert presets.path is not None
        presets.path.write_text(A)
        assert presets.service.reload(waits=False).problems == problems
    assert presets.service.reload(waits=False).problems == ()
    assert presets.models() == ["a"]
