"""Patches the places where ExLlamaV3 would use a GPU."""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import wraps
from typing import Any

import torch

MODE = os.environ.get("EXL3_DOUBLE")


def simulate_gpu() -> None:
    """Report one GPU. Synchronisation returns at once; pinned memory is ordinary memory."""
    count = int(os.environ.get("CUDA_VISIBLE_DEVICES") not in ("", "-1"))
    torch.cuda.is_available = lambda: bool(count)
    torch.cuda.device_count = lambda: count
    torch.cuda.synchronize = lambda _device=None: None
    for name in ("empty", "zeros", "empty_like"):
        setattr(torch, name, _unpinned(getattr(torch, name)))


def _unpinned(make: Any) -> Any:
    @wraps(make)
    def make_unpinned(*args: Any, **kwargs: Any) -> torch.Tensor:
        kwargs.pop("pin_memory", None)
        return make(*args, **kwargs)

    return make_unpinned


def patch_library() -> None:
    """Load models into the machine's memory, and compute attention with torch instead of Triton."""
    from exllamav3.model.model import Model
    from exllamav3.modules.attention_fn import dispatch
    from exllamav3.util import misc

    from . import attention

    Model._load_autosplit = _load_autosplit
    misc._has_primary_context = lambda _device: False  # nothing to wait for
    dispatch.attn_fns[:] = [attention.paged, attention.dense, attention.in_segments]


def _load_autosplit(model: Any, *args: Any) -> Iterator[tuple[int, int]]:
    """Replaces `Model_LSMixin._load_autosplit`; uses three of its positional arguments."""
    max_chunk_size, callback, modules = args[4], args[7], args[10]
    if MODE == "full":
        raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 MiB.")
    for done, module in enumerate(modules):
        callback(done, len(modules))
        module.load(torch.device("cpu"), max_chunk_size=max_chunk_size)
        yield done, len(modules)
    callback(len(modules), len(modules))
    model.config.stc.close()
    model.active_devices = [0]
