"""The size and the digest of a model's files."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from backends.catalogue import BACKENDS
from backends.model_shape import ModelShape
from config.hub_artifact import WEIGHT_SUFFIXES, parse
from config.settings import ModelDefinition
from fleet.artifacts.checkpoint_shape import read_checkpoint_shape
from fleet.artifacts.errors import UnusableArtifact
from fleet.artifacts.gguf_shape import read_gguf_shape
from fleet.artifacts.projector_size import projector_bytes
from fleet.configuration_digest import digest
from fleet.hub_cache import SHARD, cached_path

MIB = 1024 * 1024
SAMPLE_BYTES = 64 * 1024


def size_mib(model: ModelDefinition) -> int | None:
    """MiB of the files that one replica loads, rounded up; None when none of them is on this machine.

    A folder counts with its weights, a GGUF file in parts with all parts; a projector, a draft model and
    LoRA adapters are added. A model of a remote backend has no size.
    """
    total = 0
    with suppress(OSError):
        total = sum(file.stat().st_size for path in _paths(model) for file in _files(path))
    return -(-total // MIB) if total else None


def model_shape(model: ModelDefinition) -> ModelShape | None:
    """The sizes in a model's files that determine its memory; None if they are not here or unknown."""
    path = _local_path(model)
    if BACKENDS[model.backend].memory is None or path is None:
        return None
    try:
        shape = _shape(Path(path))
        further = _further_files(model)
        prefix = BACKENDS[model.backend].prefix
        draft = _on_this_host(model.options.get(f"{prefix}draft_model"))
        if draft is not None:
            further.remove(draft)
            if model.options.get(f"{prefix}spec_type") is not None:  # else it is not loaded
                shape = replace(shape, draft=read_gguf_shape(draft))
        size = 0
        projector = _on_this_host(model.options.get(f"{prefix}mmproj"))
        if projector is not None:
            further.remove(projector)
            size = projector_bytes(projector)
        size += sum(file.stat().st_size for path in further for file in _files(path))
        return replace(shape, further=size)
    except (OSError, UnusableArtifact, ValueError):
        return None


def _shape(path: Path) -> ModelShape:
    return read_checkpoint_shape(path) if path.is_dir() else read_gguf_shape(path)


def files_digests(models: Iterable[ModelDefinition], device: str) -> dict[str, str]:
    """Return `{"files of <name>": digest}` of the models that may run on this kind of device.

    The digest covers the names, the sizes, and the first and last bytes of the files that `size_mib` counts:
    to read all of them would take minutes. It is `missing` where there is none.
    """
    return {
        f"files of {model.name}": _digest(model)
        for model in models
        if _paths(model) and model.device.partition(":")[0] in ("auto", device)
    }


def change_digest(model: ModelDefinition) -> str:
    """A digest of the names, sizes and times of change of a model's files; "" where there is none.

    Cheap enough to be asked every few seconds. In a folder all files count: a template or a tokenizer changes
    the answers as the weights do.
    """
    found: list[tuple[str, int, int]] = []
    with suppress(OSError):
        for path in _paths(model):
            files = (file for file in path.iterdir() if file.is_file()) if path.is_dir() else _files(path)
            found += [(file.name, file.stat().st_size, file.stat().st_mtime_ns) for file in files]
    return digest(sorted(found)) if found else ""


def _digest(model: ModelDefinition) -> str:
    found: list[tuple[str, int, str]] = []
    with suppress(OSError):
        files = (file for path in _paths(model) for file in _files(path))
        found = [(file.name, file.stat().st_size, _sample(file)) for file in files]
    return digest(sorted(found)) if found else "missing"


def content_digest(model: ModelDefinition) -> str:
    """The SHA-256 of all that a replica loads from files, with LoRA adapters and projectors.

    Takes about a second for each gigabyte. Raises `OSError`.
    """
    found = []
    for file in sorted(file for path in _paths(model) for file in _files(path)):
        with file.open("rb") as data:
            found.append(hashlib.file_digest(data, "sha256").hexdigest())
    return found[0] if len(found) == 1 else digest(found)


def _sample(file: Path) -> str:
    """A hash of the first and the last bytes of a file."""
    with file.open("rb") as data:
        sample = data.read(SAMPLE_BYTES)
        data.seek(max(0, file.stat().st_size - SAMPLE_BYTES))
        return hashlib.sha256(sample + data.read(SAMPLE_BYTES)).hexdigest()


def _paths(model: ModelDefinition) -> list[Path]:
    """The files and folders that one replica loads; none of a model on a remote server."""
    if BACKENDS[model.backend].remote:
        return []
    path = _local_path(model)
    return [*([Path(path)] if path else []), *_further_files(model)]


def _further_files(model: ModelDefinition) -> list[Path]:
    """The files and folders that are loaded beside the model's own."""
    options = (option for option in BACKENDS[model.backend].options if option.artifact)
    paths: list[Any] = []
    for value in (model.options.get(option.name) for option in options):
        paths += value.values() if isinstance(value, Mapping) else [value]
    return [place for path in paths if (place := _on_this_host(path)) is not None]


def _local_path(model: ModelDefinition) -> str | None:
    """The model's path on this host; None for a model on a hub that was not downloaded."""
    place = _on_this_host(model.model_path, takes_ids=BACKENDS[model.backend].takes_hub_ids)
    return None if place is None else str(place)


def _on_this_host(path: Any, *, takes_ids: bool = False) -> Path | None:
    """The place of a path; None for a file on a hub that was not downloaded."""
    artifact = parse(path, takes_ids=takes_ids) if path else None
    if artifact is None:
        return Path(path) if path else None
    return cached_path(artifact)


def _files(path: Path) -> Iterator[Path]:
    if path.is_dir():
        files = [file for file in path.iterdir() if file.is_file()]
        weights = [file for file in files if file.suffix in WEIGHT_SUFFIXES]
        yield from weights or files
    elif shard := SHARD.fullmatch(path.name):
        pattern = re.compile(f"{re.escape(shard['stem'])}\\d{{5}}{re.escape(shard['rest'])}")
        yield from (file for file in path.parent.iterdir() if pattern.fullmatch(file.name))
    elif path.is_file():
        yield path
