"""The size of a model's files."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from backends.catalogue import BACKENDS
from config.settings import ModelDefinition

MIB = 1024 * 1024
SHARD = re.compile(r"(?P<stem>.*-)\d{5}(?P<rest>-of-\d{5}\.gguf)")
WEIGHTS = (".safetensors", ".bin", ".gguf", ".pt", ".pth")


def size_mib(model: ModelDefinition) -> int | None:
    """MiB of the files that one replica loads, rounded up; None when none of them is on this machine.

    A folder counts with its weights, a GGUF file in parts with all parts; a projector and a draft model are
    added. A model of a remote backend has no size.
    """
    if BACKENDS[model.backend].remote:
        return None
    paths = [model.model_path] if model.model_path else []
    options = (option for option in BACKENDS[model.backend].options if option.artifact)
    paths += [str(path) for option in options if (path := model.options.get(option.name))]
    total = 0
    with suppress(OSError):
        total = sum(file.stat().st_size for path in paths for file in _files(Path(path)))
    return -(-total // MIB) if total else None


def _files(path: Path) -> Iterator[Path]:
    if path.is_dir():
        files = [file for file in path.iterdir() if file.is_file()]
        weights = [file for file in files if file.suffix in WEIGHTS]
        yield from weights or files
    elif shard := SHARD.fullmatch(path.name):
        pattern = re.compile(f"{re.escape(shard['stem'])}\\d{{5}}{re.escape(shard['rest'])}")
        yield from (file for file in path.parent.iterdir() if pattern.fullmatch(file.name))
    elif path.is_file():
        yield path
