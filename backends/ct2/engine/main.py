"""The main module of ct2's engine process: loads a model with CTranslate2 and answers requests.

Arguments: the descriptor to read from, the descriptor to write to, the options as JSON
(`backends.ct2.adapter`). The library has one random generator for all requests, so the seed of a request is
ignored.
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

from ...shared.engine.facts import version_of
from ...shared.engine.pipe import Pipe, Step
from .batches import MAX_BATCHES
from .service import Ct2LoadError, Ct2RequestError, Service

KINDS = {"generate": "Generator", "translate": "Translator"}
LIBRARIES = {"generate": ("tokenizers", "jinja2"), "translate": ("tokenizers", "sentencepiece")}
WRONG_KIND = "cannot be used as"
TASK_CHOICES = "ct2_task is generate for models that continue a text, translate for those that translate one"


class Ct2Loop:
    """The event loop: reads requests from the worker's pipe and tokens from the batches.

    Requests beyond the slots wait in a queue.
    """

    def __init__(self, pipe: Pipe, service: Service, slots: int) -> None:
        self._pipe = pipe
        self._service = service
        self._slots = slots
        self._queue: deque[tuple[int, dict[str, Any]]] = deque()
        self._poll = select.poll()
        self._poll.register(pipe.fileno(), select.POLLIN)
        self._poll.register(service.batches.wake_fd, select.POLLIN)

    def run(self) -> None:
        """Answer requests until the worker closes its pipe."""
        timeout_s: float | None = None
        while True:
            ready = {fd for fd, _ in self._poll.poll(None if timeout_s is None else timeout_s * 1000)}
            step = Step()
            if self._service.batches.wake_fd in ready:
                for row, tokens, last in self._service.batches.read_tokens():
                    self._service.on_tokens(row, tokens, last, step)
            if self._pipe.fileno() in ready and not self._pipe.receive(
                self._enqueue, self._cancel, self._flush, step
            ):
                return
            while self._queue and self._service.running < self._slots:
                self._start(*self._queue.popleft(), step)
            more = self._service.prepare_more(step)
            timeout_s = self._service.batches.start_due()
            if more:
                timeout_s = 0.0
            if step.frame:
                self._pipe.write(step.frame)

    def _enqueue(self, number: int, request: dict[str, Any], _: Step) -> None:
        self._queue.append((number, request))

    def _start(self, number: int, request: dict[str, Any], step: Step) -> None:
        try:
            self._service.add_request(number, request, step)
        except Ct2RequestError as refusal:
            step.add_error(number, refusal.code, str(refusal))
        except Exception:  # an error in one request must not end the others
            traceback.print_exc()
            sys.stderr.flush()
            step.add_error(number, "engine_error", "the engine cannot answer this request")

    def _cancel(self, number: int, step: Step) -> None:
        queued = [entry for entry in self._queue if entry[0] == number]
        if queued:
            self._queue.remove(queued[0])
            step.add_end(number, "cancelled", (0, 0, 0, 0))
        self._service.cancel(number, step)

    def _flush(self, number: int, _kept: frozenset[str], step: Step) -> None:
        """The library keeps nothing of a request after its end."""
        step.add_flushed(number, 0, 0.0)


def load(pipe: Pipe, options: dict[str, Any]) -> tuple[Service, str]:
    """Load the model, and report the progress to the worker. Raises `Ct2LoadError`.

    Returns the service, and the type that the model computes in.
    """
    folder, task = Path(options["model"]), options["task"]
    pipe.load(0.0, "starting")
    ctranslate2 = _library("ctranslate2")
    for name in LIBRARIES[task]:
        _library(name)
    if not ctranslate2.contains_model(str(folder)):
        raise Ct2LoadError(f"{folder} contains no converted model: ct2-transformers-converter creates one")
    pipe.load(0.1, "loading the model")
    model = _model(ctranslate2, folder, options)
    pipe.load(0.9, "reading the tokenizer")
    try:
        service: Service = _service_class(task)(model, folder, options)
    except (OSError, ValueError) as error:
        print(error, file=sys.stderr, flush=True)
        raise Ct2LoadError("the files beside the model cannot be read: convert the model again") from error
    pipe.load(0.95, "trying it")
    try:
        service.warm_up()  # the libraries of a GPU are loaded when they are first used
    except Exception as error:
        raise _failure(ctranslate2, error, options) from error
    return service, str(model.compute_type)


def _library(name: str) -> Any:
    try:
        return import_module(name)
    except ImportError as error:
        print(f"{name}: {error}", file=sys.stderr, flush=True)
        sentence = "run `stoker runtimes install ct2`, or pip install it where ct2_python points to"
        raise Ct2LoadError(f"{name} cannot be imported: {sentence}") from error


def _model(ctranslate2: Any, folder: Path, options: dict[str, Any]) -> Any:
    """The loaded model. Raises `Ct2LoadError`."""
    try:
        return getattr(ctranslate2, KINDS[options["task"]])(
            str(folder),
            device=options["device"],
            compute_type=options["compute_type"],
            inter_threads=min(MAX_BATCHES, options["slots"] + 1),  # a cancelled row may still read its prompt
            intra_threads=options["threads"] or 0,
        )
    except Exception as error:  # the library raises bare exceptions
        raise _failure(ctranslate2, error, options) from error


def _failure(ctranslate2: Any, error: Exception, options: dict[str, Any]) -> Ct2LoadError:
    """The sentence for an error of the library; the error itself goes to the log."""
    message = str(error)
    print(message, file=sys.stderr, flush=True)
    if WRONG_KIND in message:
        return Ct2LoadError(f"the model has another kind: {TASK_CHOICES}")
    if "ompute type" in message:
        known = ", ".join(sorted(ctranslate2.get_supported_compute_types(options["device"])))
        wanted = options["compute_type"]
        return Ct2LoadError(f"ct2_compute_type {wanted} is not available here, only default, {known}")
    if "out of memory" in message:
        return Ct2LoadError("the model does not fit into the device's memory")
    if "CUDA" in message or "libcublas" in message:
        need = "a driver for CUDA 12 and libcublas.so.12: run `stoker runtimes install ct2 --variant cuda`"
        return Ct2LoadError(f"the GPU cannot be used: CTranslate2 needs {need}")
    return Ct2LoadError("the engine cannot load the model")


def _service_class(task: str) -> Any:
    """The service for a task. The libraries of the other service may be missing, so it is not imported."""
    if task == "generate":
        return import_module(".generator", __package__).GenerationService
    return import_module(".translator", __package__).TranslationService


def main(arguments: list[str]) -> None:
    """Load the model, then answer requests until the worker closes its pipe."""
    pipe, options = Pipe(int(arguments[0]), int(arguments[1])), loads(arguments[2])
    code = 0
    try:
        service, kind = load(pipe, options)
        version = version_of("ctranslate2")
        pipe.ready(options["slots"], service.context, version=version, quantization=kind)
        Ct2Loop(pipe, service, options["slots"]).run()
    except Ct2LoadError as failure:
        pipe.failed(str(failure))
        code = 1
    except Exception:
        traceback.print_exc()
        code = 1
    sys.stderr.flush()
    os._exit(code)  # batches may still run in their threads; their output is no longer read
