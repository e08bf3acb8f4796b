"""Finds the weights in a file or folder, and reads what they are."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from backends.load_parameters import Weights
from backends.model_shape import ModelShape
from backends.parameter_rules import canonical
from fleet.artifacts.checkpoint import PICKLES, read_checkpoint, read_template
from fleet.artifacts.checkpoint_shape import read_checkpoint_shape
from fleet.artifacts.errors import UnusableArtifact
from fleet.artifacts.gguf_header import is_gguf
from fleet.artifacts.gguf_shape import gguf_shape
from fleet.artifacts.gguf_weights import PART, gguf_weights, parts_of, read_gguf_weights, read_headers

MAX_FILES = 4096
MAX_SHOWN = 10
SAMPLE_BYTES = 64 * 1024
TEMPLATE = "tokenizer.chat_template"
"""The setting of a GGUF file with its chat template."""

PROJECTOR = "mmproj"
"""Part of the names of GGUF files that are no model: projectors of images."""


@dataclass(frozen=True, slots=True)
class Artifact:
    """A model's files.

    `path` is what an engine gets, a file or a folder; `digest` is that of the files' names, sizes, first and
    last bytes. `shape` determines the memory; None if the files do not say it. `template` is the chat
    template in the files, "" without one. `pooling` says how a model makes vectors of texts: llama.cpp's
    number (4: scores), 0 of a model that answers.
    """

    path: Path
    weights: Weights
    digest: str
    shape: ModelShape | None = None
    template: str = ""
    pooling: int = 0


def read_artifact(path: Path, within: Path, quantization: str | None = None) -> Artifact:
    """Read what a file or folder is.

    No file may lead out of the folder `within`, by links either. In a folder with several GGUF files,
    `quantization` chooses one. Raises `UnusableArtifact`, `OSError`.
    """
    check_within(path, within)
    if path.is_dir():
        files = _files(path, within)
        gguf = [file for file in files if _is_model_file(file)]
        safetensors = any(file.suffix == ".safetensors" for file in files)
        if not gguf or safetensors:
            weights = read_checkpoint(path, files)
            return Artifact(path, weights, _digest(files), _checkpoint_shape(path), read_template(path))
        path = _chosen(path, gguf, quantization)
    elif path.suffix in PICKLES:
        raise UnusableArtifact(f"{path.name} is a pickle file, which could run code")
    elif not path.is_file() or not is_gguf(path):
        raise UnusableArtifact(f"{path.name} is not a GGUF file: for other models, name the folder")
    parts = parts_of(path)
    for part in parts:
        check_within(part, within)
    headers = read_headers(parts, TEMPLATE)
    return Artifact(
        path,
        gguf_weights(parts, headers),
        _digest(parts),
        gguf_shape(headers),
        str(headers[0].settings.get(TEMPLATE, "")),
        headers[0].number("pooling_type") or 0,
    )


def _checkpoint_shape(folder: Path) -> ModelShape | None:
    with suppress(UnusableArtifact):
        return read_checkpoint_shape(folder)
    return None


def check_within(path: Path, within: Path) -> None:
    """Raise `UnusableArtifact` if a path leads out of a folder, by a link or by its parts."""
    if not is_within(path, within):
        raise UnusableArtifact(f"{path.name} leads out of the models' folder")


def is_within(path: Path, within: Path) -> bool:
    """Whether a path, with all links followed, is in a folder."""
    real, allowed = os.path.realpath(path), os.path.realpath(within)
    return os.path.commonpath((real, allowed)) == allowed


def _files(folder: Path, within: Path) -> list[Path]:
    """The files of a folder, without hidden ones."""
    entries = list(islice(folder.iterdir(), MAX_FILES + 1))
    if len(entries) > MAX_FILES:
        raise UnusableArtifact(f"{folder.name} has more than {MAX_FILES} entries")
    files = sorted(entry for entry in entries if not entry.name.startswith(".") and entry.is_file())
    for file in files:
        check_within(file, within)
    return files


def _is_model_file(file: Path) -> bool:
    part = PART.fullmatch(file.name)
    first = part is None or int(part["number"]) == 1
    return file.suffix == ".gguf" and first and PROJECTOR not in file.name.lower()


def _chosen(folder: Path, files: Sequence[Path], quantization: str | None) -> Path:
    """The file of the wanted type; the only one without a wish."""
    if len(files) == 1:
        return files[0]
    shown = ", ".join(file.name for file in files[:MAX_SHOWN])
    if quantization is None:
        raise UnusableArtifact(f"{folder.name} has {len(files)} models: name one of {shown}")
    fitting = [file for file in files if read_gguf_weights(file).quantization == canonical(quantization)]
    if len(fitting) != 1:
        raise UnusableArtifact(
            f"{folder.name} has {len(fitting)} models of the type {quantization}: name one of {shown}"
        )
    return fitting[0]


def _digest(files: Sequence[Path]) -> str:
    """Covers names, sizes, and the first and last bytes: to read all of them would take minutes."""
    digest = hashlib.sha256()
    for file in files:
        size = file.stat().st_size
        digest.update(f"{file.name}\0{size}\0".encode())
        with file.open("rb") as data:
            digest.update(data.read(SAMPLE_BYTES))
            data.seek(max(0, size - SAMPLE_BYTES))
            digest.update(data.read(SAMPLE_BYTES))
    return digest.hexdigest()[:32]
