"""vLLM as a library: its `AsyncLLM` in an engine process of ours, under the Python of its environment.

The host is in `workers/engines/vllm.py`, the options in `vllm_options`.
"""

from __future__ import annotations

from workers.runtimes.base import Launch
from workers.runtimes.libraries import python_of
from workers.runtimes.pipe_engine import PipeEngine
from workers.runtimes.pipe_host import Host, begin, body_of
from workers.runtimes.starting import Starts
from workers.runtimes.vllm_options import VllmOptions
from workers.runtimes.vllm_progress import following
from workers.runtimes.vllm_request import vllm_body
from workers.runtimes.vllm_trouble import explained


class VllmRuntime:
    """Fulfils `Runtime`."""

    name = "vllm"

    def __init__(self) -> None:
        self._starts = Starts()

    def start(self, launch: Launch) -> PipeEngine:
        """See `Runtime.start`."""
        with self._starts.of(launch) as start:
            options = VllmOptions.of(launch.model, launch.slots)
            python = python_of(launch.environments, self.name, options.python)
            body = body_of(vllm_body, launch.model.prompt_format)
            host = Host([str(python)], "vllm", options.for_host(), options.environment, body)
            with explained(launch.directory), following(start):
                return begin(start, host)

    def cancel_start(self, replica: str) -> None:
        """See `Runtime.cancel_start`."""
        self._starts.cancel(replica)
