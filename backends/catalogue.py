"""The backends and their option fields: one declarative table each.

Everything that depends on a backend's fields is read from here: the check of `settings.json`, the
`load_constraints` of the admin API, the request schema of a load, its semantic check. Nothing is written
twice. The names carry a prefix of their backend's, as the Runtime Admin API has them (`gguf_n_ctx`).
"""

from __future__ import annotations

import pkgutil
import re
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from backends.option import Backend, Live
from config.settings import ModelDefinition

HIDDEN = "***"
"""What is shown of a secret."""

CREDENTIALS = re.compile(r"//[^/@\s]+@")
SECRET_FLAG = re.compile(r"^--?[\w-]*(key|token|secret|password)", re.IGNORECASE)

NAMES = tuple(
    sorted(
        module.name
        for module in pkgutil.iter_modules([str(Path(__file__).parent)])
        if module.ispkg and module.name != "shared"
    )
)
"""The backends' names: each is a folder beside this file."""

BACKENDS: Mapping[str, Backend] = {name: import_module(f"backends.{name}.options").BACKEND for name in NAMES}
"""The declarative table of each backend, by name."""


def owners(field: str) -> list[str]:
    """The names of the backends that have an option of this name."""
    return [name for name, backend in BACKENDS.items() if backend.option(field)]


def live_fields() -> dict[str, Live]:
    """What a load of any backend may change, by field name. A name that two backends share is one field."""
    return {name: live for backend in BACKENDS.values() for name, live in backend.live.items()}


def shown_options(model: ModelDefinition) -> dict[str, Any]:
    """The options of a model's backend as anybody may see them: secrets in them are `HIDDEN`."""
    return {
        option.name: _shown(model.options.get(option.name), secret=option.secret)
        for option in BACKENDS[model.backend].options
    }


def _shown(value: Any, *, secret: bool) -> Any:
    if secret and value:
        return HIDDEN
    if isinstance(value, str):
        return CREDENTIALS.sub(f"//{HIDDEN}@", value)
    if isinstance(value, (list, tuple)):
        return [_argument(before, item) for before, item in zip(("", *value), value, strict=False)]
    return value


def _argument(before: str, argument: str) -> str:
    """One of a command's arguments; what follows a flag that is named like a secret is one."""
    flag, sign, _ = argument.partition("=")
    if sign and SECRET_FLAG.search(flag):
        return f"{flag}={HIDDEN}"
    return HIDDEN if SECRET_FLAG.search(before) and "=" not in before else argument
