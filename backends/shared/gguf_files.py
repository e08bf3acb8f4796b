"""Checks the GGUF files of a load before its engine starts."""

from __future__ import annotations

from pathlib import Path

from backends.base import LoadError
from config.settings import ROOT
from fleet.artifacts.errors import UnusableArtifact
from fleet.artifacts.gguf_check import check_gguf
from fleet.artifacts.gguf_header import GgufHeader

ENCODERS = frozenset(
    {
        *("bert", "eurobert", "gemma-embedding", "jina-bert-v2", "jina-bert-v3", "modern-bert", "neo-bert"),
        *("nomic-bert", "nomic-bert-moe", "t5encoder"),
    }
)
"""The architectures of llama.cpp that make vectors and continue no text."""


def checked_gguf(option: str, value: str, kind: str = "model") -> tuple[Path, GgufHeader | None]:
    """Return the file that `option` names, and its header (see `check_gguf`).

    Raises `LoadError` (load_failed) for a file that cannot be loaded as a model, adapter or mmproj.
    """
    path = ROOT / Path(value).expanduser()
    try:
        return path, check_gguf(path, kind=kind)
    except UnusableArtifact as error:
        message = str(error) if option == "model_path" else str(error).replace("model_path", option)
        raise LoadError("load_failed", message) from error


def check_continues_text(path: Path, header: GgufHeader | None, prefix: str) -> None:
    """Raise `LoadError` for an encoder, which a model without a pooling cannot be."""
    if header is not None and (
        header.architecture in ENCODERS or header.of_architecture("attention.causal") is False
    ):
        raise LoadError(
            "load_failed",
            f"{path.name} is an encoder ({header.architecture}), which makes vectors and does not continue a"
            f" text: set {prefix}pooling, or model_path to another model",
        )
