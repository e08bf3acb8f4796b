"""The device this worker is pinned to."""

from __future__ import annotations

import os
import platform


def device() -> str:
    """`cuda` when the worker was given a GPU through CUDA_VISIBLE_DEVICES, else `cpu`."""
    visible = os.environ.get("CUDA_VISIBLE_DEVICES", "").strip()
    return "cuda" if visible and visible != "-1" else "cpu"


def about() -> dict[str, str | int]:
    """What an operator wants to know of this worker's machine."""
    return {
        "host": platform.node(),
        "pid": os.getpid(),
        "cuda_visible_devices": os.environ.get("CUDA_VISIBLE_DEVICES", ""),
    }
