"""The arguments that a llama-server would be started with to run a model as its engine runs it. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import orjson

from backends.catalogue import BACKENDS
from config.preset_values import OPTIONS
from config.settings import ModelDefinition
from fleet.model_row import effective_options

PROGRAM = "llama-server"
CONTEXT = "ctx-size"
PATHS = frozenset({"mmproj", "model-draft", "lora"})
"""Arguments with paths of hosts."""


def arguments_of(
    model: ModelDefinition, override: Mapping[str, Any] | None = None, *, shows_paths: bool = False
) -> list[str]:
    """The arguments of a model with this override; empty for a backend that is not llama.cpp's.

    Options with their defaults are left out. Paths are there with `shows_paths` only, secrets never.
    """
    prefix = BACKENDS[model.backend].prefix
    if all(model.backend not in names for names in OPTIONS.values()):
        return []
    options, slots = effective_options(model, override or {}), model.target_inflight
    found = [PROGRAM, "--parallel", str(slots)]
    if shows_paths and model.model_path is not None:
        found += ["--model", model.model_path]
    for argument, names in OPTIONS.items():
        option = BACKENDS[model.backend].option(prefix + names.get(model.backend, ""))
        if option is None or (argument in PATHS and not shows_paths):
            continue
        value = options.get(option.name)
        if argument == CONTEXT and value is not None:
            found += [f"--{CONTEXT}", str(value * slots)]
        elif value not in (None, option.default):
            found += _written(argument, value)
    return found


def _written(argument: str, value: Any) -> Iterator[str]:
    if value is False:
        yield f"--no-{argument}"
        return
    yield f"--{argument}"
    if argument == "lora":
        yield ",".join(value.values())
    elif isinstance(value, Mapping):
        yield orjson.dumps(value).decode()
    elif value is not True:
        yield str(value)
