"""A double for the compiled extension of ExLlamaV3, so that the rest of the package runs on the CPU.

Real: all of the `exllamav3` package (1.6.x) that the engine uses: configuration, tokenizer, cache and its
pages, generator, jobs, samplers, filters, the modules of the models and their loading.

Not real: `exllamav3_ext`, the extension that nvcc would compile. `extension` has those of its functions that
small models need, in torch, with the arithmetic of the CUDA sources and without their speed. Triton is an
empty module (`EmptyModuleLoader`), and `attention` replaces its kernels. There is no GPU: one is reported
unless CUDA_VISIBLE_DEVICES is empty, and all tensors are in the machine's memory, which nothing measures (see
`processor`). So the double tests the calls to the package and its answers, but nothing of CUDA: no times, no
memory, no GPU models.

A .pth file in the environment of the tests calls `install` (see `environment`). A test may set EXL3_DOUBLE:
"off" leaves the library unchanged, "full" simulates a GPU without free memory.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any, ClassVar

EXTENSION = "exllamav3_ext"
LIBRARY = "exllamav3"
SWITCHES = {
    "EXL3_BC_ATTN": "0",  # no attention in captured CUDA graphs
    "EXL3_QC_STAGING": "2",  # a quantized cache is unpacked before attention
}


def install() -> None:
    """Make this process import the double in place of the compiled extension and of Triton."""
    if os.environ.get("EXL3_DOUBLE") != "off":
        os.environ.update(SWITCHES)
        sys.meta_path.insert(0, Finder())


class Finder(MetaPathFinder):
    """Finds the double's extension, the empty Triton, and the library, which is patched after its import."""

    def __init__(self) -> None:
        self._searching = False

    def find_spec(self, name: str, _path: Any = None, _target: Any = None) -> ModuleSpec | None:
        if name == EXTENSION:
            return ModuleSpec(name, Extension(), origin=f"{__file__}.so")
        if name.partition(".")[0] == "triton":
            return ModuleSpec(name, EmptyModuleLoader(), is_package=True)
        if name == LIBRARY and not self._searching:
            self._searching = True  # the real one, with the other finders
            try:
                spec = importlib.util.find_spec(name)
            finally:
                self._searching = False
            if spec is not None and spec.loader is not None:
                spec.loader = Library(spec.loader)
            return spec
        return None


class Extension(Loader):
    """Loads `extension` under the name of the compiled extension."""

    def create_module(self, _spec: ModuleSpec) -> ModuleType | None:
        return None

    def exec_module(self, module: ModuleType) -> None:
        functions = importlib.import_module(f"{__name__}.extension")
        module.__dict__.update({key: value for key, value in vars(functions).items() if key[:2] != "__"})
        module.__dict__["__getattr__"] = functions.missing


class Library(Loader):
    """Loads the real library, and then patches it to run on the CPU."""

    def __init__(self, real: Any) -> None:
        self._real = real

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self._real.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        processor = importlib.import_module(f"{__name__}.processor")
        processor.simulate_gpu()
        self._real.exec_module(module)
        processor.patch_library()


class EmptyModuleLoader(Loader):
    """Creates a module with every name: a decorator without effect, or a value that is not used."""

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return Placeholder(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        module.__version__ = "3.5.0"


class Placeholder(ModuleType):
    """Takes the place of any module, class, function or value."""

    __path__: ClassVar[list[str]] = []

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return Placeholder(f"{self.__name__}.{name}")

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return args[0] if len(args) == 1 and callable(args[0]) and not kwargs else self
