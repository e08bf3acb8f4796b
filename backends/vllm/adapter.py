"""vLLM as a library: its `AsyncLLM` in an engine process of ours, under the Python of its environment.

The host is in `backends/vllm/engine/main.py`, the options in `vllm_options`.
"""

from __future__ import annotations

from backends.base import Launch
from backends.shared.libraries import python_of
from backends.shared.pipe_engine import EngineCommand, PipeEngine, chat_encoder, start_pipe_engine
from backends.shared.start import starting
from backends.vllm.arguments import VllmOptions
from backends.vllm.diagnosis import explained
from backends.vllm.progress import following
from backends.vllm.request import vllm_body


class VllmAdapter:
    """Fulfils `Adapter`."""

    name = "vllm"

    def start(self, launch: Launch) -> PipeEngine:
        """See `Adapter.start`."""
        with starting(launch) as start:
            options = VllmOptions.of(launch.model, launch.slots)
            python = python_of(launch.environments, self.name, options.python)
            encode = chat_encoder(vllm_body, launch.model.prompt_format)
            host = EngineCommand([str(python)], "vllm", options.for_host(), options.environment, encode)
            with explained(launch.directory), following(start):
                return start_pipe_engine(start, host)


ADAPTER = VllmAdapter()
