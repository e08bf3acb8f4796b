"""The LoRA adapters of the loaded model: the context computes with one of them, or with none, at a time."""

from __future__ import annotations

import ctypes
from collections.abc import Collection
from typing import Any

from .model import LoadedModel


class Loras:
    """The adapters, and which one the next step is computed with. None is the model as it is."""

    def __init__(self, library: Any, loaded: LoadedModel) -> None:
        self._library = library
        self._context = loaded.context
        self._adapters = loaded.loras
        self._used: str | None = None
        self._turns: dict[str | None, int] = {}
        self._clock = 0

    def use(self, name: str | None) -> None:
        """Compute with this adapter from the next step on.

        The library then measures its memory again, so a step with another adapter takes a little longer.
        """
        if name == self._used:
            return
        chosen = [] if name is None else [self._adapters[name]]
        adapters = (self._library.llama_adapter_lora_p_ctypes * len(chosen))(*chosen)
        scales = (ctypes.c_float * len(chosen))(*[1.0] * len(chosen))
        if self._library.llama_set_adapters_lora(self._context, adapters, len(chosen), scales) != 0:
            raise RuntimeError(f"the library rejects the LoRA adapter {name}")
        self._used = name

    def use_next(self, wanted: Collection[str | None]) -> str | None:
        """Use that one of the wanted adapters whose last turn is the longest ago. Returns its name."""
        self._clock += 1
        name = min(wanted, key=lambda adapter: (self._turns.get(adapter, 0), adapter or ""))
        self._turns[name] = self._clock
        self.use(name)
        return name
