"""Chooses in the files of a repository or folder those of one model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from config.hub_artifact import HubArtifact
from fleet.adding.choice import (
    NamedFile,
    NoChoice,
    Room,
    Variant,
    choose_variant,
    find_draft,
    find_projector,
    find_variant,
    is_projector,
    label_or_name,
    shown,
    variants_of,
)
from fleet.hub_cache import parts
from fleet.hub_listing import HubFailed

MAX_MODELS = 4
"""How many GGUF models are looked at where their names do not decide."""


@dataclass(frozen=True, slots=True)
class RepositoryChoice:
    """The chosen files, by name.

    `model` is the GGUF file of the model, "" for a folder, or where `names` has several models; `reason` says
    why it was taken. `projector` and `draft` lie beside it.
    """

    model: str = ""
    label: str = ""
    reason: str = ""
    names: tuple[str, ...] = ()
    projector: str | None = None
    draft: str | None = None


NO_CHOICE = RepositoryChoice()


def choose_files(
    artifact: HubArtifact,
    files: Sequence[NamedFile],
    asked: str | None,
    *,
    decides: bool,
    room: Room | None = None,
) -> RepositoryChoice:
    """Choose the files of a model; `Wanted` says what the arguments mean. Raises `HubFailed`."""
    variants, where = variants_of(files), artifact.repository
    if artifact.file is not None:
        own = _named(artifact.file, files, where)
        if decides and asked is not None and find_variant([own], asked) is None:
            problem = f"{artifact.file} has no quantization {asked} in its name: leave :{asked} out"
            raise HubFailed("hub_refused", problem)
        return _of_variant(own, files if decides else (), "it was named")
    uppermost = tuple(file.name for file in files if "/" not in file.name)
    is_folder = any(name.endswith(".safetensors") or name == "model.bin" for name in uppermost)
    if not variants or (is_folder and (asked is None or find_variant(variants, asked) is None)):
        names = tuple(name for name in uppermost if not name.lower().endswith(".gguf"))
        return RepositoryChoice(names=names, reason="all files of the uppermost folder belong to the model")
    named = None if asked is None else find_variant(variants, asked)
    if named is not None or decides or len(variants) == 1:
        try:
            chosen = choose_variant(variants, asked if named or decides else None, room)
        except NoChoice as error:
            raise HubFailed("hub_not_found", f"{where}: {error}") from None
        return _of_variant(chosen.variant, files if decides else (), chosen.reason)
    if len(variants) > MAX_MODELS:
        raise HubFailed(
            "hub_refused",
            f"{where} has {len(variants)} GGUF models: choose one by `quantization` ({shown(variants)})",
        )
    return RepositoryChoice(names=tuple(file.name for each in variants for file in each.files))


def _named(name: str, files: Sequence[NamedFile], where: str) -> Variant:
    """The model of a file, which may be any of its parts."""
    by_name = {file.name: file for file in files}
    names = parts(name)
    if missing := [each for each in names if each not in by_name]:
        raise HubFailed("hub_not_found", f"{where} has no file {missing[0]}")
    if is_projector(name):
        raise HubFailed("hub_refused", f"{name} of {where} is a projector for images: name the model's file")
    return Variant(label_or_name(name), tuple(by_name[each] for each in names))


def _of_variant(variant: Variant, files: Sequence[NamedFile], reason: str) -> RepositoryChoice:
    """The choice of a variant, with its companions among `files`."""
    projector, draft = find_projector(files, variant.name), find_draft(files, variant.name)
    return RepositoryChoice(
        variant.name,
        variant.label,
        reason,
        tuple(file.name for file in variant.files),
        None if projector is None else projector.name,
        None if draft is None else draft.name,
    )
