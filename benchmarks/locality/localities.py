"""The values of the models' option `locality`, as the configuration declares them."""

from __future__ import annotations

from typing import get_args

from config.settings import Locality, ModelDefinition

OFF: Locality = "off"
FAIR: Locality = "fair"
"""The value that the bars near capacity are for."""

LOCALITIES: tuple[Locality, ...] = get_args(Locality)
PROCESSES = (2, 4)
"""The numbers of API processes beside one."""

DEFAULT = ModelDefinition("any", "stub").locality


def stoker(locality: Locality) -> str:
    """The name of the variant with this value."""
    return f"Stoker, {locality}"


def several(name: str, count: int) -> str:
    """The name of a variant with so many API processes or gateways."""
    return f"{name} x {count}"
