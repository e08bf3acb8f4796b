"""What an engine reports about itself: the version of its runtime, and the type of the model's weights."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import metadata
from typing import Any

SHORT_TYPE_NAMES = {"float16": "fp16", "half": "fp16", "bfloat16": "bf16", "float32": "fp32", "float": "fp32"}


def version_of(*distributions: str) -> str | None:
    """Return the version of the first of these distributions that is installed, None if none is.

    The name of the build is left out (`0.32.0+cpu`).
    """
    for name in distributions:
        try:
            return metadata.version(name).partition("+")[0]
        except metadata.PackageNotFoundError:
            continue
    return None


def capacity_facts(capacity: int | None, unit: str) -> dict[str, Any]:
    """Return the facts of a prefix cache that keeps so many "tokens" or "sequences"; of None or 0 none."""
    return {"cache_capacity": capacity, "cache_unit": unit} if capacity else {}


def quantization_of(config: Mapping[str, Any], dtype: object = None) -> str | None:
    """Return the type of the weights of a model in Hugging Face's form, whose config.json is given.

    `awq-4bit` for quantized weights, else the short name of `dtype` (`bf16`), or of the type in the file.
    """
    quantized = config.get("quantization_config")
    if isinstance(quantized, Mapping) and isinstance(quantized.get("quant_method"), str):
        method, bits = quantized["quant_method"], quantized.get("bits")
        return f"{method}-{bits:g}bit" if isinstance(bits, (int, float)) else str(method)
    kinds = (dtype, config.get("dtype"), config.get("torch_dtype"))
    names = [str(kind).removeprefix("torch.") for kind in kinds if kind not in (None, "auto")]
    return SHORT_TYPE_NAMES.get(names[0], names[0]) if names else None
