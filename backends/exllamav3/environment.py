"""The environment of `exllamav3`: its libraries, and what a machine needs for them."""

from __future__ import annotations

from backends.environment import Environment, Variant

ENVIRONMENT = Environment(
    "exllamav3",
    ("exllamav3",),
    module="exllamav3",
    dists=("exllamav3",),
    check="exllamav3",
    compiles_itself=True,
    linux_only=True,
    before_python=(3, 15),
    variants=(
        # ExLlamaV3 supports CUDA 12.4; the locked torch needs a compiler of its own CUDA version, 13
        Variant(
            "cuda",
            "exllamav3/locks/cuda.txt",
            "exllamav3",
            space_mib=10_000,
            minutes="5 to 20",
            driver=(13, 0),
            nvcc=(13, 0),
        ),
    ),
)
