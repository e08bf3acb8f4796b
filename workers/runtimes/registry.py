"""The runtimes by name. An adapter is imported when it is first asked for: no one pays for the others."""

from __future__ import annotations

from functools import cache
from importlib import import_module

from workers.runtimes.base import Runtime

ADAPTERS = {
    "ct2": "workers.runtimes.ct2:Ct2Runtime",
    "exllamav3": "workers.runtimes.exllamav3:Exllamav3Runtime",
    "llama_cpp": "workers.runtimes.llama_cpp:LlamaCppRuntime",
    "llama_server": "workers.runtimes.llama_server:LlamaServerRuntime",
    "openai_remote": "workers.runtimes.openai_remote:OpenAIRemoteRuntime",
    "stub": "workers.runtimes.stub:StubRuntime",
    "vllm": "workers.runtimes.vllm:VllmRuntime",
    "vllm_serve": "workers.runtimes.vllm_serve:VllmServeRuntime",
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
