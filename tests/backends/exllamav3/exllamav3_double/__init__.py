"""A double for the compiled part of ExLlamaV3, so that the rest of it runs on a processor.

Real: all of the `exllamav3` package (1.6.x) that a host touches: configuration, tokenizer, cache and its
pages, generator, jobs, samplers, filters, the modules of the models and how they are loaded.

Not real: `exllamav3_ext`, the extension that nvcc would compile. `extension` has those of its functions
that small models need, in plain torch, with the arithmetic of the CUDA sources and none of their speed.
Triton is empty (`Nothing`), `attention` stands for its kernels. There is no GPU: one is claimed unless
CUDA_VISIBLE_DEVICES is empty, all tensors stay in the machine's memory, and nothing measures them (see
`processor`). So this shows how the package is to be called and what it answers, and nothing of CUDA: how long
it takes, how much memory, on which cards.

`install` is called by a .pth file in the environment of the tests; see `environment`. A test may set
EXL3_DOUBLE: "off" leaves the library as it is, "full" claims a GPU without free memory.
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
    """From now on this process finds the double where it looks for the compiled extension and for Triton."""
    if os.environ.get("EXL3_DOUBLE") != "off":
        os.environ.update(SWITCHES)
        sys.meta_path.insert(0, Finder())


class Finder(MetaPathFinder):
    """Finds the extension (as if it were compiled), Triton, and the library with its seams."""

    def __init__(self) -> None:
        self._looking = False

    def find_spec(self, name: str, _path: Any = None, _target: Any = None) -> ModuleSpec | None:
        if name == EXTENSION:
            return ModuleSpec(name, Extension(), origin=f"{__file__}.so")
        if name.partition(".")[0] == "triton":
            return ModuleSpec(name, Nothing(), is_package=True)
        if name == LIBRARY and not self._looking:
            self._looking = True  # for the real one, behind this finder
            try:
                spec = importlib.util.find_spec(name)
            finally:
                self._looking = False
            if spec is not None and spec.loader is not None:
                spec.loader = Library(spec.loader)
            return spec
        return None


class Extension(Loader):
    """Loads `extension` under the name of the compiled one."""

    def create_module(self, _spec: ModuleSpec) -> ModuleType | None:
        return None

    def exec_module(self, module: ModuleType) -> None:
        functions = importlib.import_module(f"{__name__}.extension")
        module.__dict__.update({key: value for key, value in vars(functions).items() if key[:2] != "__"})
        module.__dict__["__getattr__"] = functions.missing


class Library(Loader):
    """Loads the real library, and then puts it on the processor."""

    def __init__(self, real: Any) -> None:
        self._real = real

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self._real.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        processor = importlib.import_module(f"{__name__}.processor")
        processor.claim_a_gpu()
        self._real.exec_module(module)
        processor.keep_off_the_gpu()


class Nothing(Loader):
    """Makes a module whose every name is a decorator that does nothing, or a value that is not looked at."""

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return Void(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        module.__version__ = "3.5.0"


class Void(ModuleType):
    """Stands for any module, class, function or value."""

    __path__: ClassVar[list[str]] = []

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return Void(f"{self.__name__}.{name}")

    def __call__(self, *given: Any, **named: Any) -> Any:
        return given[0] if len(given) == 1 and callable(given[0]) and not named else self
