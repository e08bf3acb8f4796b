"""Loads of `comfyui` that fail or are cut, and what is particular to newer versions; on the double only."""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from backends.base import GenerationError, LoadError
from backends.registry import adapter
from config.settings import ROOT, ModelDefinition
from tests.backends.comfyui.conftest import (
    BINDING,
    DOUBLE,
    EDIT_BINDING,
    edit_workflow,
    load,
    model_options,
    progress,
    results,
    workflow,
)
from tests.backends.conftest import has_ended
from tests.backends.contract_local import LONE_WORKER
from tests.support import nvml
from tests.support.waiting import scaled, wait_until


@pytest.fixture(autouse=True)
def _on_the_double(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COMFYUI_PATH", raising=False)
    monkeypatch.delenv("COMFYUI_PYTHON", raising=False)


def without(binding: dict[str, str], *names: str) -> dict[str, str]:
    return {name: place for name, place in binding.items() if name not in names}


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"comfyui_path": "/nowhere"}, "/nowhere is not a folder: correct comfyui_path"),
        ({"comfyui_path": "tests"}, "there is no .*/tests/main.py: set comfyui_path to a checkout"),
        ({"comfyui_python": None}, r"has no \.venv: make one with `cd .* && python3 -m venv"),
        ({"comfyui_python": "no-such-python"}, "there is no program no-such-python: correct comfyui_python"),
        ({"comfyui_checkpoints": "/nowhere"}, "not a folder: correct comfyui_checkpoints"),
        (
            {"comfyui_checkpoint": "/nowhere.safetensors"},
            "not a safetensors file: correct comfyui_checkpoint",
        ),
        ({"comfyui_checkpoint": "README.md"}, "not a safetensors file: correct comfyui_checkpoint"),
        ({"comfyui_workflow": "/nowhere.json"}, "cannot be read .*: correct comfyui_workflow"),
        ({"comfyui_workflow": "README.md"}, "README.md is not JSON: correct comfyui_workflow"),
        ({"comfyui_workflow": "settings.json"}, "not in ComfyUI's API format: export it"),
        (
            {"comfyui_binding": BINDING | {"seed": "50.seed"}},
            "has no 50.seed: correct seed in comfyui_binding",
        ),
        ({"comfyui_binding": BINDING | {"seed": "5.sed"}}, "has no 5.sed: correct seed in comfyui_binding"),
        ({"comfyui_binding": without(BINDING, "width")}, "several sizes: name width and height"),
        ({"comfyui_binding": BINDING | {"image": "2.text"}}, "set comfyui_edit_workflow for these"),
        ({"comfyui_edit_binding": without(EDIT_BINDING, "image")}, "has no image to change"),
        ({"comfyui_sizes": ["64"]}, "'64' is no size such as 1024x768: correct comfyui_sizes"),
        ({"comfyui_sizes": []}, "comfyui_sizes is empty"),
        ({"comfyui_quality": {"low": "8"}}, "low in comfyui_quality must be a number of steps"),
        ({"comfyui_extra_args": ["--listen=0.0.0.0"]}, "comfyui_extra_args may not contain --listen"),
        ({"comfyui_extra_args": ["--enable-c"]}, "comfyui_extra_args may not contain --enable-c"),
        ({"comfyui_custom_nodes": ["../x"]}, "is not the name of a folder in custom_nodes"),
    ],
)
def test_a_check_names_the_option_to_correct(tmp_path: Path, changes: dict[str, Any], sentence: str) -> None:
    options = model_options(tmp_path, **changes)
    with pytest.raises(LoadError, match=sentence) as caught:
        adapter("comfyui").check(ModelDefinition("model", "comfyui", options=options), 1, tmp_path)
    assert caught.value.code == "load_failed"


def test_a_workflow_with_two_results_needs_an_output(tmp_path: Path) -> None:
    options = model_options(tmp_path, comfyui_binding=without(BINDING, "output"))
    graph = workflow() | {"8": workflow()["7"]}
    (tmp_path / "template.json").write_text(json.dumps(graph))
    with pytest.raises(LoadError, match=r'has 2 nodes that save images: .*such as "output": "9"'):
        adapter("comfyui").check(ModelDefinition("model", "comfyui", options=options), 1, tmp_path)


def test_the_memory_that_others_have_is_reserved(tmp_path: Path) -> None:
    code = "from backends.comfyui.arguments import _reserved_gib; print(_reserved_gib(2048))"
    variables = {**os.environ, **nvml.environment(tmp_path, total_mib=8192), "CUDA_VISIBLE_DEVICES": "0"}
    answer = subprocess.run(  # noqa: PLW1510 - the assertion shows what it wrote
        [sys.executable, "-c", code], env=variables, cwd=ROOT, capture_output=True, text=True
    )
    assert answer.stdout == "6.0\n", answer.stderr


def test_a_checkpoint_alone_has_the_name_of_its_link(tmp_path: Path) -> None:
    content, link = tmp_path / ("5" * 64), tmp_path / "tiny.safetensors"
    content.touch()
    link.symlink_to(content)
    loaded = load(tmp_path, comfyui_checkpoints=None, comfyui_checkpoint=str(link))
    assert loaded.launched.engine.slots == 1  # its templates have run
    loaded.launched.engine.stop(1.0)


def failed_load(folder: Path, change: Callable[[], object] = lambda: None, **changes: Any) -> LoadError:
    """Load a model that fails; `change` is called when the files of its options are there."""
    with pytest.raises(LoadError) as caught:
        load(folder, before=change, **changes)
    return caught.value


def test_a_template_that_fails_fails_the_load(tmp_path: Path) -> None:
    def name_another_checkpoint() -> None:
        graph = edit_workflow()
        graph["1"]["inputs"]["ckpt_name"] = "other.safetensors"
        (tmp_path / "edit.json").write_text(json.dumps(graph))

    error = failed_load(tmp_path, name_another_checkpoint)
    assert error.code == "load_failed"
    assert "node 1 (CheckpointLoaderSimple): input ckpt_name is not among the values" in str(error)


def script(folder: Path, text: str) -> str:
    """A checkout whose main.py has this text."""
    path = folder / "checkout"
    path.mkdir()
    (path / "main.py").write_text(text)
    return str(path)


def test_a_missing_package_is_named(tmp_path: Path) -> None:
    error = failed_load(tmp_path, comfyui_path=script(tmp_path, "import no_such_package"))
    assert "comfyui_python has no package no_such_package: install what ComfyUI needs" in str(error)


def test_an_unknown_argument_is_named(tmp_path: Path) -> None:
    error = failed_load(tmp_path, comfyui_extra_args=["--no-such-flag"])
    assert "this ComfyUI does not know the arguments --no-such-flag" in str(error)


def test_a_server_without_the_key_fails_the_load(tmp_path: Path) -> None:
    text = f"""
import runpy, sys
sys.argv[sys.argv.index("stoker_key.py")] = "another"
sys.path.insert(0, {str(DOUBLE)!r})
runpy.run_path({str(DOUBLE / "main.py")!r}, run_name="__main__")
"""
    error = failed_load(tmp_path, comfyui_path=script(tmp_path, text))
    assert str(error).startswith("ComfyUI does not require its key")


def test_a_load_can_be_cancelled(tmp_path: Path) -> None:
    path = script(tmp_path, "import time\ntime.sleep(1000)")
    error = failed_load(tmp_path, comfyui_path=path, cancels=True)
    assert error.code == "load_cancelled"


def test_the_engine_ends_with_its_worker(tmp_path: Path) -> None:
    fields = {"backend": "comfyui", "options": model_options(tmp_path)}
    command = [sys.executable, str(LONE_WORKER), str(tmp_path / "engine"), repr(fields)]
    worker = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    with worker, worker.stdout:
        assert select.select([worker.stdout], [], [], scaled(60))[0]
        engine = int(worker.stdout.readline())
        worker.kill()
        assert has_ended(engine, scaled(2))


def test_a_newer_version_cancels_by_its_own_route(tmp_path: Path) -> None:
    nodes = [*{node["class_type"] for node in workflow().values()}, "FailWithoutMemory"]
    loaded = load(tmp_path, comfyui_extra_args=["--with-jobs"], comfyui_workflow_nodes=nodes)
    try:
        assert loaded.launched.engine._api.has_jobs
        id, folder = loaded.job()
        answer, thread = loaded.launched.begin(loaded.image(folder, width=256, height=256, steps=200), id)
        wait_until(lambda: any(report.done for report in progress(answer)), scaled(60))
        loaded.launched.cancel(id)
        thread.join(scaled(60))
        assert answer.finish.reason == "cancelled"
        assert len(results(loaded.make())) == 1

        graph = workflow()
        graph["8"] = {"class_type": "FailWithoutMemory", "inputs": {"images": ["6", 0]}}
        graph["7"]["inputs"]["images"] = ["8", 0]
        with pytest.raises(GenerationError, match=r"out of memory in node 8 \(FailWithoutMemory\)") as caught:
            loaded.run(graph)
        assert caught.value.code == "engine_error"
    finally:
        loaded.launched.engine.stop(1.0)


def test_a_cancel_frees_the_slot_before_its_step_ends(tmp_path: Path) -> None:
    loaded = load(tmp_path, comfyui_sizes=["64x64", "512x512"], comfyui_max_images=1)  # 1 s for a step
    try:
        id, folder = loaded.job()
        answer, thread = loaded.launched.begin(loaded.image(folder, width=512, height=512, steps=3), id)
        wait_until(lambda: bool(progress(answer)), scaled(60))
        asked = time.monotonic()
        loaded.launched.cancel(id)
        thread.join(scaled(60))
        freed_s = time.monotonic() - asked
        next_answer = loaded.make()
        waited_s = time.monotonic() - asked
        assert answer.finish.reason == "cancelled"
        assert freed_s < waited_s
        assert len(results(next_answer)) == 1
        assert all(
            a.done <= b.done for a, b in zip(progress(next_answer), progress(next_answer)[1:], strict=False)
        )
    finally:
        loaded.launched.engine.stop(1.0)


def test_a_stop_ends_a_running_request(tmp_path: Path) -> None:
    loaded = load(tmp_path)
    id, folder = loaded.job()
    answer, thread = loaded.launched.begin(loaded.image(folder, width=256, height=256, steps=200), id)
    wait_until(lambda: any(report.done for report in progress(answer)), scaled(60))
    stopping = threading.Thread(target=loaded.launched.engine.stop, args=(1.0,))
    stopping.start()
    thread.join(scaled(60))
    stopping.join()
    assert answer.error is not None
    assert loaded.left == []
