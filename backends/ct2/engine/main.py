"""The engine host of CTranslate2: one loop hears the worker and the batches, which run in threads beside it.

Started with the fd to read from, the fd to write to, and the options as JSON (`backends.ct2.adapter`). The
library has one source of randomness for all, so a request's seed is not heeded.
"""

from __future__ import annotations

import os
import select
import sys
import traceback
from collections import deque
from importlib import import_module
from json import loads
from pathlib import Path
from typing import Any

from ...shared.engine.pipe import Pipe, Step
from .batches import MOST
from .service import LoadFailure, Refusal, Service

KINDS = {"generate": "Generator", "translate": "Translator"}
LIBRARIES = {"generate": ("tokenizers", "jinja2"), "translate": ("tokenizers", "sentencepiece")}
WRONG_KIND = "cannot be used as"
CHOICES = "ct2_task is generate for models that go on with a text, translate for those that translate one"


class Engine:
    """The loop. Requests beyond the slots wait in line."""

    def __init__(self, pipe: Pipe, service: Service, slots: int) -> None:
        self._pipe = pipe
        self._service = service
        self._slots = slots
        self._line: deque[tuple[int, dict[str, Any]]] = deque()
        self._poll = select.poll()
        self._poll.register(pipe.fileno(), select.POLLIN)
        self._poll.register(service.batches.wake, select.POLLIN)

    def loop(self) -> None:
        """Answer until the worker hangs up."""
        pause: float | None = None
        while True:
            ready = {fd for fd, _ in self._poll.poll(None if pause is None else pause * 1000)}
            step = Step()
            if self._service.batches.wake in ready:
                for row, tokens, last in self._service.batches.hear():
                    self._service.take(row, tokens, last, step)
            if self._pipe.fileno() in ready and not self._pipe.receive(self._line_up, self._cancel, step):
                return
            while self._line and self._service.running < self._slots:
                self._begin(*self._line.popleft(), step)
            more = self._service.go_on(step)
            pause = self._service.batches.start()
            if more:
                pause = 0.0
            if step.frame:
                self._pipe.write(step.frame)

    def _line_up(self, number: int, request: dict[str, Any], _: Step) -> None:
        self._line.append((number, request))

    def _begin(self, number: int, request: dict[str, Any], step: Step) -> None:
        try:
            self._service.begin(number, request, step)
        except Refusal as refusal:
            step.add_error(number, refusal.code, str(refusal))
        except Exception:  # whatever one request brings, the others are not to end with it
            traceback.print_exc()
            sys.stderr.flush()
            step.add_error(number, "engine_error", "the engine cannot answer this request")

    def _cancel(self, number: int, step: Step) -> None:
        waiting = [entry for entry in self._line if entry[0] == number]
        if waiting:
            self._line.remove(waiting[0])
            step.add_end(number, "cancelled", (0, 0, 0, 0))
        self._service.cancel(number, step)


def load(pipe: Pipe, options: dict[str, Any]) -> Service:
    """Load the model, telling how far it is. Raises `LoadFailure`."""
    folder, task = Path(options["model"]), options["task"]
    pipe.load(0.0, "starting")
    ctranslate2 = _library("ctranslate2")
    for name in LIBRARIES[task]:
        _library(name)
    if not ctranslate2.contains_model(str(folder)):
        raise LoadFailure(f"{folder} holds no converted model: ct2-transformers-converter makes one")
    pipe.load(0.1, "loading the model")
    model = _model(ctranslate2, folder, options)
    pipe.load(0.9, "reading the tokenizer")
    try:
        service: Service = _service(task)(model, folder, options)
    except (OSError, ValueError) as error:
        print(error, file=sys.stderr, flush=True)
        raise LoadFailure("the files beside the model cannot be read: convert the model again") from error
    pipe.load(0.95, "trying it")
    try:
        service.try_it()  # a GPU's libraries are looked for when they are first needed
    except Exception as error:
        raise _failure(ctranslate2, error, options) from error
    return service


def _library(name: str) -> Any:
    try:
        return import_module(name)
    except ImportError as error:
        print(f"{name}: {error}", file=sys.stderr, flush=True)
        sentence = "run `stoker runtimes install ct2`, or pip install it where ct2_python points to"
        raise LoadFailure(f"{name} cannot be imported: {sentence}") from error


def _model(ctranslate2: Any, folder: Path, options: dict[str, Any]) -> Any:
    """The loaded model. Raises `LoadFailure`."""
    try:
        return getattr(ctranslate2, KINDS[options["task"]])(
            str(folder),
            device=options["device"],
            compute_type=options["compute_type"],
            inter_threads=min(MOST, options["slots"] + 1),  # a cancelled one may still read its prompt
            intra_threads=options["threads"] or 0,
        )
    except Exception as error:  # the library raises bare ones
        raise _failure(ctranslate2, error, options) from error


def _failure(ctranslate2: Any, error: Exception, options: dict[str, Any]) -> LoadFailure:
    """The sentence for what the library said, which goes to the log."""
    said = str(error)
    print(said, file=sys.stderr, flush=True)
    if WRONG_KIND in said:
        return LoadFailure(f"the model is of another kind: {CHOICES}")
    if "ompute type" in said:
        known = ", ".join(sorted(ctranslate2.get_supported_compute_types(options["device"])))
        wanted = options["compute_type"]
        return LoadFailure(f"ct2_compute_type {wanted} cannot be had here, only default, {known}")
    if "out of memory" in said:
        return LoadFailure("the model does not fit into the device's memory")
    if "CUDA" in said or "libcublas" in said:
        need = "a driver for CUDA 12 and libcublas.so.12: run `stoker runtimes install ct2 --variant cuda`"
        return LoadFailure(f"the GPU cannot be used: CTranslate2 needs {need}")
    return LoadFailure("the engine cannot load the model")


def _service(task: str) -> Any:
    """The class that answers; the other one's libraries need not be there."""
    if task == "generate":
        return import_module(".generator", __package__).Generations
    return import_module(".translator", __package__).Translations


def main(arguments: list[str]) -> None:
    """Load the model, then answer until the worker hangs up."""
    pipe, options = Pipe(int(arguments[0]), int(arguments[1])), loads(arguments[2])
    code = 0
    try:
        service = load(pipe, options)
        pipe.ready(options["slots"], service.context)
        Engine(pipe, service, options["slots"]).loop()
    except LoadFailure as failure:
        pipe.failed(str(failure))
        code = 1
    except Exception:
        traceback.print_exc()
        code = 1
    sys.stderr.flush()
    os._exit(code)  # batches may still run, and nobody hears them
