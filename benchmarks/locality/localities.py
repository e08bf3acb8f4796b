"""The values of the models' option `locality`, as the configuration declares them."""

from __future__ import annotations

import re

from config.model_schema import ModelSchema
from config.settings import ModelDefinition

OFF = "off"
WITHIN_A_DEFICIT = "fair"
"""The value that the bars near capacity are for."""


def declared_values() -> tuple[str, ...]:
    """All values, in the order of their declaration."""
    expects: str = ModelSchema._declared_fields["locality"].expects  # type: ignore[attr-defined]
    return tuple(re.findall(r'"([^"]+)"', expects))


LOCALITIES = declared_values()
DEFAULT = ModelDefinition("any", "stub").locality


def stoker(locality: str) -> str:
    """The name of the variant with this value."""
    return f"Stoker, {locality}"
