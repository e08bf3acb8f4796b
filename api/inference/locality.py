"""Whether the replica of a request is chosen by the prefixes that replicas have computed before."""

from __future__ import annotations

from backends.catalogue import BACKENDS
from config.settings import ModelDefinition


def chooses_replicas(model: ModelDefinition) -> bool:
    """Whether the model may have several replicas, whose engines reuse prefixes, and `locality` is on."""
    return (
        model.replica_max > 1
        and model.locality != "off"
        and BACKENDS[model.backend].reuses_prefixes(model.options)
    )
