"""llama.cpp's library in an engine process of ours, through llama-cpp-python.

The host is in `workers/engines/llama_cpp.py`, the options in `llama_cpp_options`.
"""

from __future__ import annotations

from workers.runtimes.base import Launch
from workers.runtimes.chat_request import llama_body
from workers.runtimes.libraries import python_of
from workers.runtimes.llama_cpp_options import LlamaCppOptions
from workers.runtimes.pipe_engine import PipeEngine
from workers.runtimes.pipe_host import Host, begin, body_of
from workers.runtimes.starting import Starts


class LlamaCppRuntime:
    """Fulfils `Runtime`."""

    name = "llama_cpp"

    def __init__(self) -> None:
        self._starts = Starts()

    def start(self, launch: Launch) -> PipeEngine:
        """See `Runtime.start`."""
        with self._starts.of(launch) as start:
            options = LlamaCppOptions.of(launch.model, launch.slots)
            python = python_of(launch.environments, self.name, options.python)
            body = body_of(llama_body, launch.model.prompt_format)
            return begin(start, Host([str(python)], "llama_cpp", options.for_host(), body=body))

    def cancel_start(self, replica: str) -> None:
        """See `Runtime.cancel_start`."""
        self._starts.cancel(replica)
