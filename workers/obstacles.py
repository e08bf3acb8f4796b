"""Why a worker cannot load models, found before a load: files, environments, the hub's package, the GPU.

A load's plan shows it. What only an engine can find is not among it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

from backends.base import LoadError
from backends.catalogue import BACKENDS
from backends.registry import adapter
from config.hub_artifact import parse
from config.settings import ModelDefinition, Settings
from engines.environments import EnvironmentMissing, interpreter
from fleet.hub_cache import cached_path
from fleet.obstacle import Obstacle
from workers.downloads.download import OFFLINE, hub_is_offline

NO_HUB_PACKAGE = (
    "{artifact} is on a hub and not on this host, and the package huggingface_hub, which downloads it, is not"
    " installed: install it beside Stoker, or put the files there and name their path"
)


def load_obstacle(model: ModelDefinition, settings: Settings) -> str | None:
    """Say in one sentence why this host cannot load the model, and what to do; None if nothing is known."""
    try:
        return _check(model, settings)
    except (LoadError, EnvironmentMissing) as error:
        return str(error)
    except (LookupError, ValueError, ImportError, OSError) as error:
        return f"backend {model.backend} cannot run here: {error}"


def _check(model: ModelDefinition, settings: Settings) -> str | None:
    backend = BACKENDS[model.backend]
    artifact = parse(model.model_path, takes_ids=backend.takes_hub_ids)
    if artifact is not None:
        if (cached := cached_path(artifact)) is None:
            if hub_is_offline(settings.hub):
                return OFFLINE.format(artifact=artifact)
            if find_spec("huggingface_hub") is None:
                return NO_HUB_PACKAGE.format(artifact=artifact)
            python = model.options.get(f"{backend.prefix}python")
            if model.options.get(f"{backend.prefix}binary") is None:
                interpreter(settings.runtimes_dir, model.backend, python)
            return None
        model = replace(model, model_path=str(cached))
    adapter(model.backend).check(model, model.target_inflight, settings.runtimes_dir)
    return None


def _obstacle(model: ModelDefinition, settings: Settings) -> Obstacle | None:
    """The obstacle of a model, and the options that a load may change and without which it is not there."""
    message = load_obstacle(model, settings)
    if message is None:
        return None
    declared = BACKENDS[model.backend].load_fields
    options = [
        name
        for name in model.options
        if name in declared and load_obstacle(_without(model, name), settings) != message
    ]
    return Obstacle(message, tuple(options))


def _without(model: ModelDefinition, option: str) -> ModelDefinition:
    options = {name: value for name, value in model.options.items() if name != option}
    return replace(model, options=options)


class ObstacleScan:
    """Finds the obstacles of all models, and looks again at those whose files or environment changed."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._seen: dict[str, tuple[ModelDefinition, str, float]] = {}
        self.found: dict[str, Obstacle] = {}

    def scan(self, models: Mapping[str, ModelDefinition], files: Mapping[str, str]) -> dict[str, Obstacle]:
        """The obstacles by model; `files` are the digests of the models' files.

        A model with an obstacle is checked each time, since what removes it may be anywhere.
        """
        for name, model in models.items():
            state = (model, files.get(name, ""), self._environment_changed(model))
            if self._seen.get(name) == state and name not in self.found:
                continue
            self._seen[name] = state
            self.found.pop(name, None)
            if (obstacle := _obstacle(model, self._settings)) is not None:
                self.found[name] = obstacle
        self.found = {name: obstacle for name, obstacle in self.found.items() if name in models}
        return dict(self.found)

    def _environment_changed(self, model: ModelDefinition) -> float:
        environment = BACKENDS[model.backend].environment
        folder = self._settings.runtimes_dir / (environment.name if environment else "")
        try:
            return Path(folder / "stoker.json").stat().st_mtime
        except OSError:
            return 0.0
