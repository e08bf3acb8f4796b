"""llama.cpp's library in an engine process of ours, through llama-cpp-python.

The host is in `workers/engines/llama_cpp.py`, the options in `llama_cpp_options`.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import orjson

from config.prompts import TRANSLATE_GEMMA
from tasks.wire import Generation
from workers.environments import EnvironmentMissing, interpreter
from workers.runtimes.base import Launch, LoadError
from workers.runtimes.chat_request import chat_body
from workers.runtimes.llama_cpp_options import LlamaCppOptions
from workers.runtimes.pipe_engine import PipeEngine
from workers.runtimes.pipe_host import Host, begin
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
            try:
                python = interpreter(launch.environments, self.name, options.python)
            except EnvironmentMissing as error:
                raise LoadError("load_failed", str(error)) from error
            body = partial(_body, prompt_format=launch.model.prompt_format)
            return begin(start, Host([str(python)], "llama_cpp", options.for_host(), body=body))

    def cancel_start(self, replica: str) -> None:
        """See `Runtime.cancel_start`."""
        self._starts.cancel(replica)


def _body(generation: Generation, prompt_format: str) -> bytes:
    body = chat_body(generation, prompt_format)
    if generation.target_lang_code is not None and prompt_format == TRANSLATE_GEMMA:
        body["chat_template_kwargs"] = {**body.get("chat_template_kwargs", {}), **_codes(body)}
    return orjson.dumps(body)


def _codes(body: dict[str, Any]) -> dict[str, str]:
    """The languages of the structured form: some files hold a template that looks for them beside it."""
    parts = (part for message in body["messages"] for part in message["content"] if isinstance(part, dict))
    return {key: value for part in parts for key, value in part.items() if key.endswith("_lang_code")}
