"""Models whose engines listen on the same configured port: on one machine only one of them can be loaded."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from backends.catalogue import BACKENDS
from config.settings import ModelDefinition

ALL_ADDRESSES = ("0.0.0.0", "::")  # noqa: S104 - names them, and binds nothing


def shared_ports(models: Mapping[str, Mapping[str, Any]]) -> Iterator[tuple[str, str, str, str]]:
    """Yield (model, option, other model, its option) for each enabled model with the port of an earlier one.

    `models` are validated options by name, with those of the model itself (`backend`, `enabled`).
    """
    earlier: list[tuple[str, tuple[str, str, int]]] = []
    for name, options in models.items():
        address = BACKENDS[options["backend"]].fixed_address(options)
        if address is None or not options.get("enabled", ModelDefinition.enabled):
            continue
        for other, taken in earlier:
            if _overlap(address, taken):
                yield name, address[0], other, taken[0]
                break
        earlier.append((name, address))


def models_with_port_of(model: ModelDefinition, models: Mapping[str, ModelDefinition]) -> tuple[str, ...]:
    """The names of the other models whose engines listen on the port of this one."""
    address = BACKENDS[model.backend].fixed_address(model.options)
    if address is None:
        return ()
    return tuple(
        name
        for name, other in models.items()
        if name != model.name
        and (taken := BACKENDS[other.backend].fixed_address(other.options)) is not None
        and _overlap(address, taken)
    )


def _overlap(first: tuple[str, str, int], second: tuple[str, str, int]) -> bool:
    hosts = [host.strip("[]").replace("localhost", "127.0.0.1") for _, host, _ in (first, second)]
    return first[2] == second[2] and (hosts[0] == hosts[1] or any(host in ALL_ADDRESSES for host in hosts))
