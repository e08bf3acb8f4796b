"""A loaded engine of `comfyui`: on the double, or on a true ComfyUI.

For a true one set COMFYUI_PATH to a checkout whose models/checkpoints has `tiny.safetensors`, a checkpoint of
Stable Diffusion 1, and COMFYUI_PYTHON to its Python.
"""

from __future__ import annotations

import json
import os
import secrets
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import pytest

from backends.base import CancellationToken, Launch
from backends.registry import adapter
from config.settings import ROOT, ModelDefinition
from engines.engine_process.errors import Exit
from engines.engine_process.process import REQUEST_FILES
from generation.generation import Generation
from generation.media import ImageTask, WorkflowTask
from streams.media_events import MediaDelta, WorkProgress
from tests.backends.conftest import NAMESPACE, Answer, Launched
from tests.support.generations import engine_loop

DOUBLE = ROOT / "tests" / "support" / "comfyui_double"
TENANT = "a" * 64

BINDING = {
    **{"prompt": "2.text", "negative_prompt": "3.text", "seed": "5.seed", "steps": "5.steps"},
    **{"width": "4.width", "height": "4.height", "batch": "4.batch_size", "output": "7"},
}
EDIT_BINDING = {
    **{"prompt": "2.text", "negative_prompt": "3.text", "seed": "5.seed", "steps": "5.steps"},
    **{"width": "8.width", "height": "8.height", "image": "4.image"},
}


def workflow(**inputs: Any) -> dict[str, Any]:
    """A workflow that makes an image; `inputs` change those of its sampler."""
    sampler = {
        **{"model": ["1", 0], "positive": ["2", 0], "negative": ["3", 0], "latent_image": ["4", 0]},
        **{"seed": 0, "steps": 2, "cfg": 1.0, "sampler_name": "euler", "scheduler": "normal", "denoise": 1.0},
        **inputs,
    }
    latent = {"width": 64, "height": 64, "batch_size": 1}
    return {
        "1": {"class_type": "CheckpointLoaderSimple", "inputs": {"ckpt_name": "tiny.safetensors"}},
        "2": {"class_type": "CLIPTextEncode", "inputs": {"text": "a cat", "clip": ["1", 1]}},
        "3": {"class_type": "CLIPTextEncode", "inputs": {"text": "", "clip": ["1", 1]}},
        "4": {"class_type": "EmptyLatentImage", "inputs": latent},
        "5": {"class_type": "KSampler", "inputs": sampler},
        "6": {"class_type": "VAEDecode", "inputs": {"samples": ["5", 0], "vae": ["1", 2]}},
        "7": {"class_type": "SaveImage", "inputs": {"images": ["6", 0], "filename_prefix": "image"}},
    }


def edit_workflow() -> dict[str, Any]:
    """A workflow that changes an image."""
    graph = workflow(latent_image=["9", 0], denoise=0.5)
    graph["4"] = {"class_type": "LoadImage", "inputs": {"image": "example.png"}}
    scaled = {"image": ["4", 0], "upscale_method": "bilinear", "width": 64, "height": 64, "crop": "disabled"}
    graph["8"] = {"class_type": "ImageScale", "inputs": scaled}
    graph["9"] = {"class_type": "VAEEncode", "inputs": {"pixels": ["8", 0], "vae": ["1", 2]}}
    return graph


def model_options(folder: Path, **changes: Any) -> dict[str, Any]:
    """The options of a model; its workflows lie in a folder."""
    (folder / "template.json").write_text(json.dumps(workflow()))
    (folder / "edit.json").write_text(json.dumps(edit_workflow()))
    checkpoints = folder / "checkpoints"
    checkpoints.mkdir(exist_ok=True)
    true = os.environ.get("COMFYUI_PATH")
    if true is None:
        (checkpoints / "tiny.safetensors").touch()
    return {
        "comfyui_path": true or str(DOUBLE),
        "comfyui_python": os.environ.get("COMFYUI_PYTHON", sys.executable),
        "comfyui_checkpoints": str(checkpoints),
        "comfyui_workflow": str(folder / "template.json"),
        "comfyui_binding": BINDING,
        "comfyui_edit_workflow": str(folder / "edit.json"),
        "comfyui_edit_binding": EDIT_BINDING,
        "comfyui_sizes": ["64x64", "256x256"],
        "comfyui_quality": {"low": 1},
        "comfyui_max_images": 2,
        **changes,
    }


@dataclass
class ImageEngine:
    """A loaded engine and the folder with the files of jobs."""

    launched: Launched
    files: Path
    latest: Path = Path()
    """The folder of the latest job."""

    def job(self, **uploads: bytes) -> tuple[str, str]:
        """Make the folder of a new job with these uploads. Returns the job's id and its folder."""
        id = f"resp_{secrets.token_hex(16)}"
        folder = f"{TENANT}/jobs/{id}"
        self.latest = self.files / folder
        self.latest.mkdir(parents=True)
        for name, content in uploads.items():
            (self.latest / f"{name}.png").write_bytes(content)
        return id, folder

    def image(self, folder: str, **fields: Any) -> Generation:
        """A request for an image of 64 x 64 pixels."""
        namespace = fields.pop("namespace", NAMESPACE)
        task = ImageTask(**{"prompt": "a cat", "width": 64, "height": 64, "folder": folder, **fields})
        return Generation("model", (), media=task, cache_namespace=namespace)

    def make(self, **fields: Any) -> Answer:
        """Make images."""
        id, folder = self.job()
        return self.launched.answer(self.image(folder, **fields), id)

    def run(self, graph: Any, **fields: Any) -> Answer:
        """Run a request's workflow."""
        id, folder = self.job()
        task = WorkflowTask(graph, folder=folder, **fields)
        return self.launched.answer(Generation("model", (), media=task, cache_namespace=NAMESPACE), id)

    def content(self, delta: MediaDelta) -> bytes:
        """The file of a result of the latest job."""
        return (self.latest / str(delta.name)).read_bytes()

    @property
    def left(self) -> list[Path]:
        """The files of prompts in the engine's folder."""
        folders = (self.launched.directory / REQUEST_FILES / name for name in ("input", "output", "temp"))
        return [path for folder in folders for path in folder.rglob("*") if path.is_file()]


def results(answer: Answer) -> list[MediaDelta]:
    """The finished images of an answer."""
    return [delta for delta in answer.deltas if isinstance(delta, MediaDelta) and delta.preview is None]


def progress(answer: Answer) -> list[WorkProgress]:
    """The reports of progress of an answer."""
    return [delta for delta in answer.deltas if isinstance(delta, WorkProgress)]


def load(
    folder: Path, *, before: Callable[[], object] = lambda: None, cancels: bool = False, **changes: Any
) -> ImageEngine:
    """Start an engine; `before` is called when its files are there. With `cancels` its start is cancelled."""
    exits: SimpleQueue[Exit] = SimpleQueue()
    reported: list[tuple[float, str]] = []
    files = folder / "files"
    files.mkdir()
    options = model_options(folder, **changes)
    before()
    cancellation = CancellationToken()
    launch = Launch(
        ModelDefinition("model", "comfyui", options=options),
        "model-0",
        1,
        folder / "engine",
        folder,
        lambda done, stage: reported.append((done, stage)),
        exits.put,
        engine_loop(),
        on_process=lambda _pid: cancellation.cancel() if cancels else None,
        cancellation=cancellation,
        files=files,
    )
    engine = adapter("comfyui").start(launch)
    return ImageEngine(Launched(engine, exits, reported, folder / "engine"), files)


@pytest.fixture(scope="package")
def image_engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ImageEngine]:
    """One engine for all tests that do not end it."""
    loaded = load(tmp_path_factory.mktemp("comfyui"))
    yield loaded
    loaded.launched.engine.stop(1.0)
