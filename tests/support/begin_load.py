"""Runs the script `begin_load` with chosen arguments, as a process that ends after it or has old data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fleet.fleet import Fleet
from governance.authorization import PLATFORM
from store.script_arguments import Argument


def begin_load(
    fleet: Fleet, model: str, operation: str, places: Sequence[str] = (), **changed: Argument
) -> Any:
    """Begin a load of one replica (`places`: replica, worker, ...), except for the `changed` arguments."""
    arguments: dict[str, Argument] = {
        "replicas": 1,
        "lease_us": 5_000_000,
        "override": "{}",
        "need_mib": "",
        "variant": "",
        "evicts": "",
        "evict_us": 0,
        "reserved": "",
        "automatic": 0,
        "authorization": PLATFORM.argument(),
        "dynamic_model": "",
        "max_dynamic_models": 0,
        "files_mib": 0,
        "files_shape": "",
        "last_load": "",
        "charges": "",
        **changed,
    }
    return fleet.scripts.run("begin_load", model=model, operation=operation, places=places, **arguments)
