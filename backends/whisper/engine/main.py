"""The main module of whisper's engine process: loads a model with faster-whisper and answers requests.

Arguments: the descriptor to read from, the descriptor to write to, the options as JSON
(`backends.whisper.adapter`). Each request has a thread, for the library computes a window of 30 s in one
call. Nothing can stop such a call, so a cancelled request ends at once, and its thread after the call.
"""

from __future__ import annotations

import os
import select
import sys
import threading
import time
import traceback
from collections import deque
from json import loads
from typing import Any

from ...shared.engine.facts import version_of
from ...shared.engine.pipe import Pipe, Step
from .audio import DecodedAudio
from .batches import exit_if_device_is_lost
from .errors import RequestCancelled, WhisperLoadError, WhisperRequestError
from .model import load
from .transcription import Transcription, TranscriptionOptions, check_language

PROGRESS_S = 0.5
WINDOW_MS = 30_000

Output = tuple[int, str, Any]
"""The number of a request, `media`, `end` or `error`, and an event, an end, or a code and a message."""


class Request:
    """A request that runs. `cancelled` is set by the loop's thread, all else by the request's own.

    `processed_ms` is how much of the recording has been processed, with the window that is being computed.
    """

    def __init__(self, number: int, body: dict[str, Any]) -> None:
        self.number = number
        self.body = body
        self.cancelled = False
        self.audio: DecodedAudio | None = None
        self.transcription: Transcription | None = None
        self.done_ms = 0
        self.reported_at = 0.0
        self._in_window = False

    def begin_window(self) -> None:
        """A window is about to be computed."""
        self._in_window = True

    def advance(self, done_ms: int) -> bool:
        """Note how much is done; true if that is to be reported now."""
        self._in_window = False
        self.done_ms = max(self.done_ms, done_ms)
        now = time.monotonic()
        if now < self.reported_at + PROGRESS_S:
            return False
        self.reported_at = now
        return True

    @property
    def processed_ms(self) -> int:
        """How much of the recording has been processed, in milliseconds."""
        decoded = 0 if self.transcription is None else self.transcription.decoded_ms
        return min(decoded, self.done_ms + WINDOW_MS) if self._in_window else self.done_ms


class WhisperLoop:
    """The event loop: reads requests from the worker's pipe and the output of the requests' threads.

    Requests beyond the slots wait in a queue.
    """

    def __init__(self, pipe: Pipe, model: Any, slots: int, options: TranscriptionOptions) -> None:
        self._pipe = pipe
        self._model = model
        self._slots = slots
        self._options = options
        self._queue: deque[tuple[int, dict[str, Any]]] = deque()
        self._running: dict[int, Request] = {}
        self._published: deque[Output] = deque()
        self._woken = False
        self._wake_fd, self._wake_writer = os.pipe()
        self._poll = select.poll()
        self._poll.register(pipe.fileno(), select.POLLIN)
        self._poll.register(self._wake_fd, select.POLLIN)

    def run(self) -> None:
        """Answer requests until the worker closes its pipe."""
        while True:
            ready = {fd for fd, _ in self._poll.poll()}
            step = Step()
            if self._wake_fd in ready:
                self._read_output(step)
            if self._pipe.fileno() in ready and not self._pipe.receive(
                self._enqueue, self._cancel, self._flush, step
            ):
                return
            while self._queue and len(self._running) < self._slots:
                self._start(*self._queue.popleft())
            if step.frame:
                self._pipe.write(step.frame)

    def _enqueue(self, number: int, body: dict[str, Any], _: Step) -> None:
        self._queue.append((number, body))

    def _start(self, number: int, body: dict[str, Any]) -> None:
        request = self._running[number] = Request(number, body)
        threading.Thread(target=self._answer, args=(request,), daemon=True).start()

    def _cancel(self, number: int, step: Step) -> None:
        queued = [entry for entry in self._queue if entry[0] == number]
        if queued:
            self._queue.remove(queued[0])
            step.add_end(number, "cancelled", (0, 0, 0, 0))
        request = self._running.pop(number, None)
        if request is not None:
            request.cancelled = True
            step.add_end(number, "cancelled", _usage(request.processed_ms))
            if request.audio is not None:
                request.audio.close()
            self._model.model.wake()

    def _flush(self, number: int, _kept: frozenset[str], step: Step) -> None:
        """The library keeps nothing of a request after its end."""
        step.add_flushed(number, 0, 0.0)

    def _read_output(self, step: Step) -> None:
        os.read(self._wake_fd, 4096)
        # before the queue is read, so that output published meanwhile wakes the loop again
        self._woken = False
        while self._published:
            number, kind, value = self._published.popleft()
            if number not in self._running:  # it was cancelled
                continue
            if kind == "media":
                step.add_media(number, value)
                continue
            del self._running[number]
            if kind == "end":
                step.add_end(number, "stop", value)
            else:
                step.add_error(number, *value)

    # ---- in the thread of a request

    def _answer(self, request: Request) -> None:
        try:
            self._transcribe(request)
            self._publish((request.number, "end", _usage(request.done_ms)))
        except WhisperRequestError as error:
            self._publish((request.number, "error", (error.code, str(error))))
        except RequestCancelled:
            pass
        except Exception as error:  # an error in one request must not end the others
            exit_if_device_is_lost(error)
            traceback.print_exc()
            sys.stderr.flush()
            self._publish(
                (request.number, "error", ("engine_error", "the engine cannot process this recording"))
            )

    def _transcribe(self, request: Request) -> None:
        body = request.body
        check_language(self._model, body["language"])

        def emit(event: dict[str, Any]) -> None:
            self._publish((request.number, "media", event))

        def advance(done_ms: int) -> None:
            if request.advance(done_ms) and transcription.announced:
                total = max(audio.duration_ms, transcription.decoded_ms)
                emit({"t": "work", "n": [request.done_ms, total]})

        audio = request.audio = DecodedAudio(body["path"], self._options.max_seconds)
        try:
            if request.cancelled:  # before there was a process to end
                return
            transcription = Transcription(self._model, body, self._options, emit, advance)
            request.transcription = transcription
            with self._model.model.serving(request):
                transcription.run(audio)
        finally:
            audio.release()

    def _publish(self, output: Output) -> None:
        self._published.append(output)
        if not self._woken:
            self._woken = True
            os.write(self._wake_writer, b".")


def _usage(audio_ms: int) -> tuple[int, ...]:
    return (0, 0, 0, 0, audio_ms, 0, 0)


def main(arguments: list[str]) -> None:
    """Load the model, then answer requests until the worker closes its pipe."""
    pipe, options = Pipe(int(arguments[0]), int(arguments[1])), loads(arguments[2])
    code = 0
    try:
        model = load(options, pipe.load)
        kind, version = str(model.model.compute_type), version_of("faster-whisper")
        chosen = TranscriptionOptions(options["beam_size"], options["max_seconds"], options["previous_text"])
        pipe.ready(options["slots"], version=version, quantization=kind)
        WhisperLoop(pipe, model, options["slots"], chosen).run()
    except WhisperLoadError as failure:
        pipe.failed(str(failure))
        code = 1
    except Exception:
        traceback.print_exc()
        code = 1
    sys.stderr.flush()
    os._exit(code)  # requests may still run in their threads; their output is no longer read
