"""The seams at which ExLlamaV3 would reach for a GPU, and what it gets there instead."""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import wraps
from typing import Any

import torch

PART = os.environ.get("EXL3_DOUBLE")


def claim_a_gpu() -> None:
    """Say that there is one GPU; what would wait for it returns at once, pinned memory is plain memory."""
    there = int(os.environ.get("CUDA_VISIBLE_DEVICES") not in ("", "-1"))
    torch.cuda.is_available = lambda: bool(there)
    torch.cuda.device_count = lambda: there
    torch.cuda.synchronize = lambda _device=None: None
    for name in ("empty", "zeros", "empty_like"):
        setattr(torch, name, _unpinned(getattr(torch, name)))


def _unpinned(make: Any) -> Any:
    @wraps(make)
    def made(*given: Any, **named: Any) -> torch.Tensor:
        named.pop("pin_memory", None)
        return make(*given, **named)

    return made


def keep_off_the_gpu() -> None:
    """Load where the processor is, and attend with torch instead of Triton."""
    from exllamav3.model.model import Model
    from exllamav3.modules.attention_fn import dispatch
    from exllamav3.util import misc

    from . import attention

    Model._load_autosplit = _load_autosplit
    misc._has_primary_context = lambda _device: False  # nothing to wait for
    dispatch.attn_fns[:] = [attention.paged, attention.dense, attention.in_segments]


def _load_autosplit(model: Any, *given: Any) -> Iterator[tuple[int, int]]:
    """Stands in for `Model_LSMixin._load_autosplit`, of whose arguments it knows three by their places."""
    max_chunk_size, callback, modules = given[4], given[7], given[10]
    if PART == "full":
        raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 MiB.")
    for done, module in enumerate(modules):
        callback(done, len(modules))
        module.load(torch.device("cpu"), max_chunk_size=max_chunk_size)
        yield done, len(modules)
    callback(len(modules), len(modules))
    model.config.stc.close()
    model.active_devices = [0]
