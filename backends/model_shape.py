"""The sizes that determine the memory of a model, which a worker reads from the model's files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

import orjson

MAX_NUMBER = 2**50
"""The largest number of a shape: more bytes than any machine has, and a number that JSON can have."""


@dataclass(frozen=True, slots=True)
class AttentionLayers:
    """`count` layers that keep `keys` and `values` numbers of each token, or of the last `window` tokens."""

    count: int
    keys: int
    values: int
    window: int = 0


@dataclass(frozen=True, slots=True)
class ModelShape:
    """The sizes of a model; sizes in bytes unless they are named otherwise.

    `weights` are those of all tensors. Of these, `embeddings` stay in the machine's memory when an engine of
    llama.cpp computes on a GPU. `further` is what is loaded as well: adapters, a projector with its buffers.
    `state` is what the recurrent layers keep of one sequence. `width`, `hidden` (of one token in a
    feed-forward step, all experts in use together), `heads` and `vocabulary` determine the buffers of a step.
    `context` is the longest context that the model was made for; 0 where the files do not say it. With
    `stretches` its positions are scaled, so that an engine may take more. `prediction_layers` are those that
    predict several tokens at once; -1 where it is not known. `draft` is the shape of a draft model.
    """

    weights: int
    embeddings: int = 0
    further: int = 0
    attention: tuple[AttentionLayers, ...] = ()
    state: int = 0
    width: int = 0
    hidden: int = 0
    heads: int = 0
    vocabulary: int = 0
    context: int = 0
    layers: int = 0
    number_bytes: int = 2
    stretches: bool = False
    prediction_layers: int = -1
    draft: ModelShape | None = None

    def bounded(self) -> ModelShape:
        """The shape with no number beyond `MAX_NUMBER`: those in a damaged file have no bound."""
        numbers: dict[str, Any] = {
            name: min(value, MAX_NUMBER)
            for name in self.__dataclass_fields__
            if type(value := getattr(self, name)) is int
        }
        groups = tuple(
            AttentionLayers(*(min(getattr(group, name), MAX_NUMBER) for name in group.__dataclass_fields__))
            for group in self.attention
        )
        return replace(self, **numbers, attention=groups)

    def cache_numbers(self) -> int:
        """How many numbers the layers keep of one token, those with a window included."""
        return sum(group.count * (group.keys + group.values) for group in self.attention)

    def to_json(self) -> bytes:
        """Encode for Redis."""
        return orjson.dumps(asdict(self))

    @classmethod
    def from_json(cls, data: bytes | str) -> ModelShape:
        """Decode the result of `to_json`. Raises `ValueError` for anything else."""
        try:
            return _shape(orjson.loads(data))
        except (TypeError, KeyError, AttributeError) as error:
            raise ValueError(f"not a ModelShape: {error}") from error


@dataclass(frozen=True, slots=True)
class Device:
    """Where an engine computes: on a GPU or not, and the MiB of memory there (0: unknown)."""

    is_gpu: bool
    total_mib: int = 0


def _shape(raw: Mapping[str, Any]) -> ModelShape:
    known = {name: raw[name] for name in ModelShape.__dataclass_fields__ if name in raw}
    groups = tuple(AttentionLayers(**group) for group in known.pop("attention", ()))
    draft = known.pop("draft", None)
    return ModelShape(**known, attention=groups, draft=None if draft is None else _shape(draft))
