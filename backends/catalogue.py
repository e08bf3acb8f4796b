"""The declared backends: each folder in `backends/` except `shared` is one, declared in its `options.py`.

The check of `settings.json`, the `load_constraints` of the Runtime Admin API, the request schema of a load
and its semantic check are all derived from these declarations. Option names begin with a prefix of their
backend, as in the Runtime Admin API (`gguf_n_ctx`).
"""

from __future__ import annotations

import pkgutil
import re
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from backends.declaration import Backend, LoadField
from config.settings import ModelDefinition

REDACTED = "***"
"""Shown in place of a secret."""

URL_CREDENTIALS = re.compile(r"//[^/@\s]+@")
SECRET_FLAG = re.compile(r"^--?[\w-]*(key|token|secret|password)", re.IGNORECASE)

NAMES = tuple(
    sorted(
        module.name
        for module in pkgutil.iter_modules([str(Path(__file__).parent)])
        if module.ispkg and module.name != "shared"
    )
)
"""The names of the backends, which are those of their folders."""

BACKENDS: Mapping[str, Backend] = {name: import_module(f"backends.{name}.options").BACKEND for name in NAMES}
"""The declaration of each backend, by name."""


def backends_with_option(name: str) -> list[str]:
    """Return the names of the backends that have an option of this name."""
    return [backend.name for backend in BACKENDS.values() if backend.option(name)]


def load_fields() -> dict[str, LoadField]:
    """Return the options of all backends that one load may change, by name; shared names occur once."""
    return {name: field for backend in BACKENDS.values() for name, field in backend.load_fields.items()}


def redacted_options(model: ModelDefinition) -> dict[str, Any]:
    """Return the options of a model as the API and the CLI show them, with REDACTED in place of secrets."""
    return {
        option.name: _redacted(model.options.get(option.name), secret=option.secret)
        for option in BACKENDS[model.backend].options
    }


def secret_values(model: ModelDefinition) -> list[str]:
    """Return the texts in the options of a model that `redacted_options` hides."""
    found: list[str] = []
    for option in BACKENDS[model.backend].options:
        value = model.options.get(option.name)
        found += _texts(value) if option.secret else _secret_arguments(value)
    return [text for text in found if text]


def _texts(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    if isinstance(value, Mapping):
        return [text for item in value.values() for text in _texts(item)]
    return [text for item in value for text in _texts(item)] if isinstance(value, (list, tuple)) else []


def _secret_arguments(value: Any) -> list[str]:
    """The values of arguments that are named like secrets, and the names and passwords of addresses."""
    if isinstance(value, str):
        return [found[0].strip("/@") for found in URL_CREDENTIALS.finditer(value)]
    if not isinstance(value, (list, tuple)):
        return []
    pairs = zip(("", *value), map(str, value), strict=False)
    return [
        item.partition("=")[2] or item for before, item in pairs if _redacted_argument(before, item) != item
    ]


def _redacted(value: Any, *, secret: bool) -> Any:
    if secret and value:
        return REDACTED
    if isinstance(value, str):
        return URL_CREDENTIALS.sub(f"//{REDACTED}@", value)
    if isinstance(value, (list, tuple)):
        return [_redacted_argument(before, item) for before, item in zip(("", *value), value, strict=False)]
    return value


def _redacted_argument(before: str, argument: str) -> str:
    """Redact a command-line argument if it, or the flag before it, is named like a secret."""
    flag, equals, _ = argument.partition("=")
    if equals and SECRET_FLAG.search(flag):
        return f"{flag}={REDACTED}"
    return REDACTED if SECRET_FLAG.search(before) and "=" not in before else argument
