"""How far the prefixes that replicas have computed before decide which request runs next, and where."""

from __future__ import annotations

from backends.catalogue import BACKENDS
from config.settings import Locality, ModelDefinition


def locality_of(model: ModelDefinition) -> Locality:
    """The model's `locality`; "off" if it has one replica at most, or its engine reuses no prefixes."""
    reuses = model.replica_max > 1 and BACKENDS[model.backend].reuses_prefixes(model.options)
    return model.locality if reuses else "off"
