"""Checks that the files of a dynamic model are those by which its load was decided.

Those who approved a load saw the digest of the files. Files may be exchanged between the load and the start
of an engine, also of one that starts again weeks later, and another host may have other files.
"""

from __future__ import annotations

from pathlib import Path

from backends.base import LoadError
from config.settings import ModelDefinition, Settings
from fleet.adding.locate import local_path
from fleet.artifacts.errors import UnusableArtifact
from fleet.artifacts.read import read_artifact


def check_approved_files(model: ModelDefinition, settings: Settings) -> None:
    """Raise `LoadError` (hash_mismatch) if the digest of the model's files is not that of the origin.

    A model without such a digest is not checked: a configured one, and one on a hub, whose commit is fixed.
    """
    approved = (model.origin or {}).get("files")
    if approved is None or model.model_path is None:
        return
    try:
        place = local_path(model.model_path, settings)
        if place is None:
            raise UnusableArtifact(f"{model.model_path} is not there")
        found = read_artifact(Path(model.model_path), place.within).digest
    except (OSError, UnusableArtifact) as error:
        raise LoadError("load_failed", f"the files of {model.name} cannot be read: {error}") from None
    if found != approved:
        raise LoadError(
            "hash_mismatch",
            f"the files of {model.name} on this host differ from those that its load was decided with: "
            "restore them, or unload the model and load it again; one that was added has to be added again, "
            "with `replace`",
        )
