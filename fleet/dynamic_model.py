"""A model that the configuration does not name: a load defined it, and its unload removes it; or it is
registered, and stays until it is removed (`fleet.registry`).

Redis holds its definition in the form of a configuration file, with a path relative to the folder that the
origin names: each host has these folders at places of its own.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import orjson

from backends.model_shape import ModelShape
from config.errors import ConfigError
from config.hub_artifact import HubArtifact
from config.load import read_definition
from config.settings import ModelDefinition, Settings

NAME = re.compile(r"[A-Za-z0-9][\w.-]{0,95}(/[\w][\w.-]{0,95}){0,7}(:[\w][\w.-]{0,63})?", re.ASCII)
"""`owner/name:QUANTIZATION` is how llama-server names the models of its cache."""

MAX_NAME = 200
ACTIONS = ("load", "unload")
"""Parts of paths that are actions: no name ends with one (`/v1/admin/models/x/load`), nor begins with one
(`/v1/models/load/plan`)."""

ACTION_PATH = re.compile(r"(.*/)?(un)?load(/plan)?|.*/log")
"""Names that end like the path of an action on a model, or of its log."""

LINKED = "linked"
LINK_FOLDER = "models"
"""The folder of links in the data folder, to files that lie elsewhere on this host."""

MAX_DYNAMIC_MODELS = 64
"""How many models there may be at a time that only a load defined."""


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a dynamic model comes from.

    `kind` is `path` (below `model_base_path`), `linked` (below the links of the data folder) or `hub` (a
    repository of Hugging Face at the commit `revision`). `file` is relative to that folder or to the
    repository; "" is the folder itself.
    `files` is the digest of the files that the load was decided by; a commit is one by itself. `preset` is
    the digest of the section of the presets file that the model is made of, "" for any other model.
    """

    kind: str
    file: str = ""
    repository: str | None = None
    revision: str | None = None
    files: str = ""
    preset: str = ""

    def path(self, settings: Settings) -> str:
        """The path as a configuration has it; the files need not be on this host.

        Raises `ValueError` without the folder.
        """
        if self.kind == "hub":
            return str(HubArtifact(self.repository or "", self.revision or "", self.file or None))
        if self.kind == LINKED:
            return str(link_folder(settings) / self.file)
        if settings.model_base_path is None:
            raise ValueError("model_base_path is not set on this host")
        return str(settings.model_base_path / self.file)

    def to_dict(self) -> dict[str, str]:
        """As a JSON object, without what is None."""
        names = ("kind", "file", "repository", "revision", "files", "preset")
        fields = {name: getattr(self, name) for name in names}
        return {name: value for name, value in fields.items() if value}


@dataclass(frozen=True, slots=True)
class DynamicModel:
    """A dynamic model on this host. `configuration` are its fields as in a configuration file, without its
    path; `size_mib` is the size of its files, `shape` what they say of its memory where they were read.
    `kept`: it is registered."""

    definition: ModelDefinition
    configuration: Mapping[str, Any]
    origin: Origin
    size_mib: int
    shape: ModelShape | None = None
    kept: bool = False

    def to_json(self) -> bytes:
        """Encode for Redis, and for the file of registered models; the same model has the same bytes."""
        fields: dict[str, Any] = {
            "configuration": dict(self.configuration),
            "origin": self.origin.to_dict(),
            "size_mib": self.size_mib,
        }
        return orjson.dumps(fields | ({"kept": True} if self.kept else {}), option=orjson.OPT_SORT_KEYS)


def link_folder(settings: Settings) -> Path:
    """The folder of links to models; it need not exist."""
    return settings.data_dir / LINK_FOLDER


def is_name(text: str) -> bool:
    """Whether a dynamic model may have this name: it stands in paths of requests and in names of keys."""
    return (
        len(text) <= MAX_NAME
        and NAME.fullmatch(text) is not None
        and ".." not in text
        and ACTION_PATH.fullmatch(text) is None
        and text.partition("/")[0] not in ACTIONS
    )


def dynamic_model(  # noqa: PLR0913 - a model has all of these
    name: str,
    configuration: Mapping[str, Any],
    origin: Origin,
    size_mib: int,
    settings: Settings,
    *,
    kept: bool = False,
) -> DynamicModel:
    """Make a dynamic model for this host; only a registered one (`kept`) can be enabled.

    Raises `ValueError` (`ConfigError`) for invalid fields.
    """
    path = origin.path(settings)
    enabled = configuration.get("enabled", False) if kept else False
    definition = read_definition(name, {**configuration, "model_path": path, "enabled": enabled}, settings)
    definition = replace(definition, origin=origin.to_dict(), registered=kept)
    return DynamicModel(definition, dict(configuration), origin, size_mib, kept=kept)


def decode_dynamic_model(name: str, data: bytes, settings: Settings) -> DynamicModel:
    """Decode the result of `to_json`. Raises `ValueError` for anything else."""
    try:
        raw = orjson.loads(data)
        return dynamic_model(
            name,
            raw["configuration"],
            Origin(**raw["origin"]),
            int(raw["size_mib"]),
            settings,
            kept=raw.get("kept") is True,
        )
    except (KeyError, TypeError, AttributeError, OverflowError, ConfigError) as error:
        raise ValueError(f"not a dynamic model: {error}") from error


def is_kept(data: bytes) -> bool:
    """Whether the result of `to_json`, or what became of it, is a registered model."""
    try:
        raw = orjson.loads(data)
    except ValueError:
        return False
    return isinstance(raw, dict) and raw.get("kept") is True
