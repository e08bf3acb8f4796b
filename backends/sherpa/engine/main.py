"""The main module of sherpa's engine process: loads a voice with sherpa-onnx and answers requests.

Arguments: the descriptor to read from, the descriptor to write to, the options as JSON
(`backends.sherpa.adapter`). Each request is spoken in a thread of its own.
"""

from __future__ import annotations

import os
import sys
import traceback
from importlib import import_module
from json import loads
from typing import Any

from ...shared.engine.facts import version_of
from ...shared.engine.pipe import Pipe
from .jobs import Jobs
from .voice import Voice, VoiceLoadError, load_voice, silence_library


def load(pipe: Pipe, options: dict[str, Any]) -> tuple[Any, Voice]:
    """Load the voice, and report the progress to the worker. Raises `VoiceLoadError`."""
    pipe.load(0.0, "starting")
    av, sherpa = _library("av"), _library("sherpa_onnx")
    pipe.load(0.2, "loading the voice")
    return av, load_voice(sherpa, options)


def _library(name: str) -> Any:
    try:
        return import_module(name)
    except ImportError as error:
        print(f"{name}: {error}", file=sys.stderr, flush=True)
        sentence = "run `stoker runtimes install sherpa`, or pip install it where sherpa_python points to"
        raise VoiceLoadError(f"{name} cannot be imported: {sentence}") from error


def main(arguments: list[str]) -> None:
    """Load the voice, then answer requests until the worker closes its pipe."""
    pipe, options = Pipe(int(arguments[0]), int(arguments[1])), loads(arguments[2])
    code = 0
    try:
        av, voice = load(pipe, options)
        silence_library()
        pipe.ready(options["slots"], version=version_of("sherpa-onnx"))
        jobs = Jobs(pipe, av, voice, options["slots"], options["max_seconds"])
        while pipe.receive(jobs.begin, jobs.cancel, jobs.flush):
            pass
    except VoiceLoadError as failure:
        pipe.failed(str(failure))
        code = 1
    except Exception:
        traceback.print_exc()
        code = 1
    sys.stderr.flush()
    os._exit(code)  # sentences may still be spoken in their threads; their output is no longer read
