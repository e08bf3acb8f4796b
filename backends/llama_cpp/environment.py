"""The environment of `llama_cpp`: its libraries, and what a machine needs for them."""

from __future__ import annotations

from backends.environment import Environment, Variant

ENVIRONMENT = Environment(
    "llama_cpp",
    ("llama_cpp",),
    module="llama_cpp",
    dists=("llama-cpp-python",),
    check="llama_cpp",
    compiled="llama-cpp-python",
    variants=(
        Variant(
            "cuda",
            "llama_cpp/locks/source.txt",
            "llama-cpp",
            space_mib=2500,
            cmake_args="-DGGML_NATIVE=OFF -DGGML_CUDA=ON",
            minutes="10 to 40",
            driver=(12, 0),
            nvcc=(12, 0),
        ),
        # GGML_NATIVE=ON would compile for this processor's extensions: some compilers miscompile AMX
        Variant(
            "cpu",
            "llama_cpp/locks/source.txt",
            "llama-cpp",
            space_mib=1000,
            cmake_args="-DGGML_NATIVE=OFF",
            minutes="5 to 10",
        ),
    ),
)
