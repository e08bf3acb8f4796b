"""`stoker pull` without a terminal: what it sends, and when it adds nothing."""

from __future__ import annotations

from dataclasses import replace

import pytest

from config.settings import Settings
from fleet.dynamic_model import link_folder
from stoker.adding import remove_model
from stoker.local_files import local_source
from stoker.terminal import TerminalOutput

PLAN = "/v1/admin/models/plan"
MODELS = "/v1/admin/models"


def plan(verdict: str = "fits") -> dict[str, object]:
    return {
        "model": "qwen",
        "source": "hf://Qwen/Qwen-GGUF@c/q.gguf",
        "files": [{"name": "q.gguf", "bytes": 10}],
        "download_bytes": 10,
        "configuration": {"backend": "llama_server"},
        "defaults": [],
        "fit": {
            "verdict": verdict,
            "need_mib": 9000,
            "free_mib": 100,
            "total_mib": 8000,
            "evicts": ["a"] if verdict == "fits_with_eviction" else [],
            "reason": "",
        },
    }


def operation(**more: object) -> dict[str, object]:
    return {
        "id": "download_1",
        "kind": "download",
        "model": "qwen",
        "status": "running",
        "progress": 0.5,
    } | more


def answers(api, verdict="fits", **end):
    api.answers = {
        PLAN: [(200, plan(verdict))],
        MODELS: [(202, {"model": "qwen", "operation": operation(), "models": []})],
        "/v1/admin/operations/download_1": [(200, operation(status="completed", **end))],
    }


def test_a_given_configuration_is_planned_and_then_added(api, run):
    answers(api)
    code, output = run(
        "pull",
        "Qwen/Qwen-GGUF:Q4_K_M",
        "--name",
        "qwen",
        "--set",
        "llama_server_n_ctx=8192",
        "--set",
        "on_demand=load",
    )

    assert code == 0, output
    assert (
        "It fits: it needs 9000 MiB, 100 of 8000 MiB are free.\nqwen: downloading 50 %\nqwen: added ("
        in output
    )
    body = {
        "source": "Qwen/Qwen-GGUF:Q4_K_M",
        "name": "qwen",
        "configuration": {"llama_server_n_ctx": 8192, "on_demand": "load"},
        "replace": False,
    }
    assert api.bodies == [body, body]


@pytest.mark.parametrize(
    ("verdict", "reason"),
    [
        ("too_large", "it is too large"),
        ("fits_with_eviction", "it fits only if others are unloaded"),
    ],
)
def test_a_model_that_does_not_fit_is_added_without_a_terminal_only_with_yes(api, run, verdict, reason):
    answers(api, verdict)
    code, output = run("pull", "Qwen/Qwen-GGUF")
    assert code == 1
    assert output.endswith(f"qwen was not added, as {reason}; --yes adds it nevertheless\n")
    assert len(api.bodies) == 1, "only the plan was asked for"

    assert run("models", "add", "Qwen/Qwen-GGUF", "--yes")[0] == 0
    assert len(api.bodies) == 3


def test_a_failed_download_prints_the_reason(api, run):
    answers(api)
    api.answers["/v1/admin/operations/download_1"] = [
        (200, operation(status="failed", error="the disk is full"))
    ]

    code, output = run("pull", "Qwen/Qwen-GGUF")
    assert (code, output.splitlines()[-1]) == (1, "qwen: the download failed: the disk is full")


def test_a_wrong_assignment_is_refused_before_anything_is_asked(api, run):
    code, output = run("pull", "Qwen/Qwen-GGUF", "--set", "n_ctx")
    assert code == 2
    assert "n_ctx is not in the form FIELD=VALUE" in output
    assert api.bodies == []


class RemovingClient:
    """A client whose removals have ended."""

    def __init__(self, definitions):
        self.definitions = definitions

    def get(self, path):
        assert path == MODELS
        return {"models": [{"name": name, "definition": one} for name, one in self.definitions.items()]}

    def delete(self, path):
        name = path.rpartition("/")[2]
        del self.definitions[name]
        return {"operation": operation(kind="remove", model=name, status="completed")}


def test_a_link_stays_for_the_draft_and_the_adapters_of_other_models(tmp_path):
    settings = replace(Settings(), data_dir=tmp_path / "data")
    settings.data_dir.mkdir()
    weights = tmp_path / "weights"
    weights.mkdir()
    (weights / "a.gguf").write_bytes(b"")
    (settings.data_dir / "run.json").write_text('{"pid": 1, "url": "http://here"}')
    path = local_source(str(weights / "a.gguf"), settings, "http://here").source
    link = link_folder(settings) / "weights"
    users = ({"llama_server_draft_model": path}, {"llama_server_lora": {"short": path}})
    for user in users:
        definitions = {"a": {"model_path": path}, "b": {"model_path": "/elsewhere", **user}}
        remove_model(RemovingClient(definitions), "a", settings, TerminalOutput())
        assert link.is_symlink(), user
    remove_model(RemovingClient({"a": {"model_path": path}}), "a", settings, TerminalOutput())
    assert not link.is_symlink()
