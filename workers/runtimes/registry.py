"""The runtimes by name. An adapter is imported when it is first asked for: no one pays for the others."""

from __future__ import annotations

from functools import cache
from importlib import import_module

from workers.runtimes.base import Runtime

ADAPTERS = {
    "llama_server": "workers.runtimes.llama_server:LlamaServerRuntime",
    "stub": "workers.runtimes.stub:StubRuntime",
}


class UnknownRuntimeError(LookupError):
    """Raised when no adapter has the name that was asked for; it says which names exist."""


@cache
def runtime(name: str) -> Runtime:
    """The runtime of that name, the same one in the whole process. Raises `UnknownRuntimeError`."""
    if name not in ADAPTERS:
        raise UnknownRuntimeError(f"there is no runtime {name!r}; there are {', '.join(sorted(ADAPTERS))}")
    module, _, attribute = ADAPTERS[name].partition(":")
    adapter: Runtime = getattr(import_module(module), attribute)()
    return adapter
