"""Translates the options of a `comfyui` model into the command and the folders of its server."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from backends.base import LoadError
from backends.catalogue import BACKENDS
from backends.comfyui.prompts import Template
from backends.comfyui.workflow_rules import WorkflowLimits, read_size
from backends.shared.option_check import check_options
from config.settings import ROOT, ModelDefinition
from engines.nvml import Driver, DriverError, device_type, devices, visible_devices

PREFIX = "comfyui_"
KEY_NODE = Path(__file__).with_name("engine") / "stoker_key.py"
KEY_VARIABLE = "STOKER_COMFYUI_KEY"
GIB = 1 << 30

OWN_FLAGS = (
    *("--listen", "--port", "--tls-keyfile", "--tls-certfile", "--enable-cors-header", "--auto-launch"),
    *("--base-directory", "--extra-model-paths-config", "--output-directory", "--temp-directory"),
    *("--input-directory", "--user-directory", "--database-url", "--front-end-root", "--front-end-version"),
    *("--disable-all-custom-nodes", "--whitelist-custom-nodes", "--enable-manager", "--multi-user"),
    *("--quick-test-for-ci", "--windows-standalone-build", "--reserve-vram", "--cache-none"),
)
"""Flags that `comfyui_extra_args` may not contain, not even abbreviated: they are set by other options, or
would open the server to others."""

DEVICE_FLAGS = ("--cpu", "--directml", "--oneapi-device-selector")


@dataclass(frozen=True)
class Folders:
    """The server's own folders, in the engine's."""

    root: Path

    @property
    def input(self) -> Path:
        """Uploads that prompts read."""
        return self.root / "input"

    @property
    def output(self) -> Path:
        """Images that prompts save."""
        return self.root / "output"

    @property
    def temp(self) -> Path:
        """Files of nodes that save elsewhere."""
        return self.root / "temp"

    def prepare(self, checkpoints: Path | None, checkpoint: Path | None) -> None:
        """Make them, empty, and the file that names the folders of nodes and checkpoints.

        `checkpoint` is a single file, which gets a link in a folder of its own.
        """
        for name in ("input", "output", "temp", "user", "web", "checkpoints"):
            shutil.rmtree(self.root / name, ignore_errors=True)
            (self.root / name).mkdir(mode=0o700, parents=True)
        paths = {"custom_nodes": str(KEY_NODE.parent)}
        if checkpoint is not None:
            (self.root / "checkpoints" / checkpoint.name).symlink_to(checkpoint)
        folders = [self.root / "checkpoints", *([] if checkpoints is None else [checkpoints])]
        paths["checkpoints"] = "\n".join(map(str, folders))
        self.paths_file.write_text(json.dumps({"stoker": paths}))  # JSON is YAML

    @property
    def paths_file(self) -> Path:
        """The file for --extra-model-paths-config."""
        return self.root / "paths.yaml"

    def clear(self) -> None:
        """Remove all files of prompts."""
        for folder in (self.input, self.output, self.temp):
            for path in folder.rglob("*"):
                if not path.is_dir():
                    path.unlink(missing_ok=True)


@dataclass(frozen=True)
class ComfyOptions:
    """The parsed options of a `comfyui` model. `sizes` are widths and heights, the first the default."""

    main: Path
    python: str
    checkpoints: Path | None
    checkpoint: Path | None
    template: Template
    edit_template: Template | None
    sizes: tuple[tuple[int, int], ...]
    quality: Mapping[str, int]
    max_images: int
    limits: WorkflowLimits
    arguments: tuple[str, ...]

    @classmethod
    def of(cls, model: ModelDefinition) -> ComfyOptions:
        """Parse a model's options and find its files. Raises `LoadError` (load_failed)."""
        check_options(model)
        given = BACKENDS["comfyui"].with_defaults(model.options)
        path = _folder(given["comfyui_path"], "comfyui_path")
        main = path / "main.py"
        if not main.is_file():
            raise refused(f"there is no {main}: set comfyui_path to a checkout of ComfyUI")
        checkpoints, checkpoint = given["comfyui_checkpoints"], given["comfyui_checkpoint"]
        sizes = _sizes(given["comfyui_sizes"])
        template = _template(given, "comfyui_workflow")
        if template.images:
            raise refused("comfyui_binding has an image to change: set comfyui_edit_workflow for these")
        edits = given["comfyui_edit_workflow"] is not None
        edit_template = _template(given, "comfyui_edit_workflow") if edits else None
        if edit_template is not None and not edit_template.images:
            raise refused("comfyui_edit_binding has no image to change: name its input as image")
        return cls(
            main,
            _python(path, given["comfyui_python"]),
            None if checkpoints is None else _folder(checkpoints, "comfyui_checkpoints"),
            None if checkpoint is None else _checkpoint(checkpoint),
            template,
            edit_template,
            sizes,
            _quality(given["comfyui_quality"] or {}),
            given["comfyui_max_images"],
            WorkflowLimits.of(given),
            _arguments(given, model.device),
        )

    @property
    def largest(self) -> tuple[int, int]:
        """The size with the most pixels."""
        return max(self.sizes, key=lambda size: size[0] * size[1])

    def argv(self, folders: Folders, host: str, port: int) -> list[str]:
        """The command of a server that listens on that address."""
        own = folders.root
        return [
            *(self.python, "-s", str(self.main), "--listen", host, "--port", str(port)),
            *("--input-directory", str(folders.input), "--output-directory", str(folders.output)),
            *("--temp-directory", str(folders.temp), "--user-directory", str(own / "user")),
            *("--front-end-root", str(own / "web"), "--database-url", f"sqlite:///{own}/user/comfyui.db"),
            *("--extra-model-paths-config", str(folders.paths_file)),
            *("--disable-auto-launch", "--disable-api-nodes", "--disable-metadata"),
            *("--preview-method", "auto"),
            *self.arguments,
        ]


def refused(sentence: str) -> LoadError:
    """The error for options that cannot be used."""
    return LoadError("load_failed", sentence)


def _folder(name: str, option: str) -> Path:
    path = ROOT / Path(name).expanduser()
    if not path.is_dir():
        raise refused(f"{path} is not a folder: correct {option}")
    return path.resolve()


def _checkpoint(name: str) -> Path:
    path = ROOT / Path(name).expanduser()
    if not path.is_file() or path.suffix != ".safetensors":  # other checkpoints are pickles, which run code
        raise refused(f"{path} is not a safetensors file: correct comfyui_checkpoint")
    return path.absolute()  # what a hub's file is called in workflows is the name of its link


def _template(given: Mapping[str, Any], option: str) -> Template:
    path = ROOT / Path(given[option]).expanduser()
    return Template.read(path, given[option.replace("workflow", "binding")] or {}, option)


def _python(path: Path, configured: str | None) -> str:
    if configured is not None:
        found = shutil.which(configured) or shutil.which(ROOT / Path(configured).expanduser())
        if found is None:
            raise refused(f"there is no program {configured}: correct comfyui_python")
        return found
    for name in (".venv", "venv"):
        if (program := path / name / "bin" / "python").exists():
            return str(program)
    raise refused(
        f"{path} has no .venv: make one with `cd {path} && python3 -m venv .venv &&"
        " .venv/bin/pip install -r requirements.txt`, or set comfyui_python"
    )


def _sizes(texts: list[str]) -> tuple[tuple[int, int], ...]:
    try:
        sizes = tuple(read_size(text) for text in texts)
    except ValueError as error:
        raise refused(f"{error}: correct comfyui_sizes") from error
    if not sizes:
        raise refused("comfyui_sizes is empty: name at least one size, such as 1024x1024")
    return sizes


def _quality(given: Mapping[str, Any]) -> Mapping[str, int]:
    for name, steps in given.items():
        if type(steps) is not int or not 1 <= steps <= 1000:
            raise refused(f"{name} in comfyui_quality must be a number of steps from 1 to 1000")
    return given


def _arguments(given: Mapping[str, Any], device: str) -> tuple[str, ...]:
    extra = tuple(given["comfyui_extra_args"])
    for argument in extra:
        flag = argument.partition("=")[0]
        if flag.startswith("--") and any(own.startswith(flag) for own in OWN_FLAGS):
            raise refused(f"comfyui_extra_args may not contain {flag}")
    arguments = ["--disable-all-custom-nodes", "--whitelist-custom-nodes", KEY_NODE.name]
    arguments += [_node_folder(name) for name in given["comfyui_custom_nodes"]]
    on_cpu = device == "cpu" or device_type() == "cpu"
    if on_cpu and not any(argument.startswith(DEVICE_FLAGS) for argument in extra):
        arguments.append("--cpu")
    if given["comfyui_memory_mib"] is not None and not on_cpu:
        arguments += ["--reserve-vram", f"{_reserved_gib(given['comfyui_memory_mib']):.2f}"]
    return (*arguments, *extra)


def _node_folder(name: str) -> str:
    if name.startswith("-") or "/" in name or name in ("", ".", ".."):
        raise refused(f"{name!r} in comfyui_custom_nodes is not the name of a folder in custom_nodes")
    return name


def _reserved_gib(own_mib: int) -> float:
    """The part of the GPU's memory that ComfyUI must leave free."""
    driver = Driver()
    try:
        visible = os.environ.get("CUDA_VISIBLE_DEVICES", "")

        def total(nvml: Any) -> int:
            gpu = visible_devices(visible, devices(nvml))[0]
            return int(nvml.nvmlDeviceGetMemoryInfo(nvml.nvmlDeviceGetHandleByUUID(gpu.uuid)).total)

        return max(0.0, driver.query(total) / GIB - own_mib / 1024)
    except (DriverError, LookupError) as error:
        raise refused(f"the GPU's memory is not known ({error}): leave comfyui_memory_mib out") from error
    finally:
        driver.close()
