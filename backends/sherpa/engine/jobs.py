"""Speaks the texts of requests, each in a thread of its own, and reports what was made of them."""

from __future__ import annotations

import errno
import sys
import threading
import traceback
from collections import deque
from pathlib import PurePath
from time import monotonic
from typing import Any

from ...shared.engine.pipe import Pipe, Step
from .audio import RATE, TYPES, AudioFile
from .text import sentences
from .voice import UnknownVoice, Voice

WORK_S = 0.5  # between two reports of the work that is done
NOTHING = "the text has nothing that the voice can speak"


class Refused(Exception):
    """Raised for a request that cannot be fulfilled, with its code."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


class Job:
    """One request; `ended` is set, under the lock of `Jobs`, when its outcome was reported."""

    def __init__(self, number: int, request: dict[str, Any]) -> None:
        self.number = number
        self.request = request
        self.ended = False
        self.milliseconds = 0


class Jobs:
    """Runs the requests.

    Requests beyond the slots wait. The slot of a cancelled one is free at once, while its thread ends the
    sentence that the library speaks; there are at most twice as many threads as slots.
    """

    def __init__(self, pipe: Pipe, av: Any, voice: Voice, slots: int, max_seconds: int) -> None:
        self._pipe = pipe
        self._av = av
        self._voice = voice
        self._slots = slots
        self._most = max_seconds * RATE
        self._lock = threading.Lock()  # of everything below, and of writing to the pipe
        self._waiting: deque[Job] = deque()
        self._running: dict[int, Job] = {}
        self._threads = 0

    def begin(self, number: int, request: dict[str, Any]) -> None:
        """Take a request."""
        with self._lock:
            self._waiting.append(Job(number, request))
            self._start_waiting()

    def cancel(self, number: int) -> None:
        """End a request; unknown numbers are ignored."""
        with self._lock:
            job = self._running.get(number) or next((j for j in self._waiting if j.number == number), None)
            if job is None:
                return
            if job in self._waiting:
                self._waiting.remove(job)
            self._end(job, "cancelled")
            self._start_waiting()

    def flush(self, number: int, _kept: frozenset[str]) -> None:
        """Nothing is kept of a request after its end."""
        step = Step()
        step.add_flushed(number, 0, 0.0)
        with self._lock:
            self._pipe.write(step.frame)

    def _start_waiting(self) -> None:
        while self._waiting and len(self._running) < self._slots and self._threads < 2 * self._slots:
            job = self._waiting.popleft()
            self._running[job.number] = job
            self._threads += 1
            threading.Thread(target=self._run, args=(job,), name=f"job-{job.number}", daemon=True).start()

    def _run(self, job: Job) -> None:
        """The thread of a request."""
        try:
            reason = self._speak(job)
            with self._lock:
                self._end(job, reason)
        except Refused as refusal:
            self._fail(job, refusal.code, str(refusal))
        except OSError as error:
            self._fail(job, "engine_error", _disk_problem(error))
        except Exception:  # an error in one request must not end the others
            if not job.ended:
                traceback.print_exc()
                sys.stderr.flush()
            self._fail(job, "engine_error", "the engine cannot speak this text")
        finally:
            with self._lock:
                self._threads -= 1
                self._start_waiting()

    def _speak(self, job: Job) -> str:
        """Speak one sentence after the other; the reason of the end. Raises `Refused`, `OSError`."""
        request, text = job.request, job.request["text"]
        try:
            speaker = self._voice.speaker(request["voice"])
        except UnknownVoice as error:
            raise Refused("unknown_voice", str(error)) from error
        audio: AudioFile | None = None
        due = 0.0
        try:
            for sentence, done in sentences(text, request["speed"]):
                if job.ended:
                    return "cancelled"
                samples = self._voice.speak(sentence, speaker, request["speed"])
                if not samples or job.ended:
                    continue
                if audio is None:
                    audio = AudioFile(
                        self._av, request["path"], request["format"], self._voice.rate, self._most
                    )
                audio.add(samples)
                now = monotonic()
                self._report(job, audio, (done, len(text)) if now >= due else None)
                due = now + WORK_S if now >= due else due
                if audio.is_full:
                    break
            if audio is None:
                raise Refused("invalid_prompt", NOTHING)
            audio.finish()
            self._report(job, audio, None)
            return "length" if audio.is_full else "stop"
        finally:
            if audio is not None:
                audio.close()

    def _report(self, job: Job, audio: AudioFile, work: tuple[int, int] | None) -> None:
        """Report how much of the file is there, and `work`, characters that are done and all of them."""
        name, format = PurePath(job.request["path"]).name, job.request["format"]
        event = {"t": "media", "index": 0, "name": name, "type": TYPES[format], "size": audio.output.size}
        step = Step()
        step.add_media(job.number, event)
        if work is not None:
            step.add_media(job.number, {"t": "work", "n": work})
        with self._lock:
            if not job.ended:
                job.milliseconds = audio.milliseconds
                self._pipe.write(step.frame)

    def _end(self, job: Job, reason: str) -> None:
        if job.ended:
            return
        step = Step()
        step.add_end(job.number, reason, (0, 0, 0, 0, job.milliseconds, 0, 0))
        self._close(job, step)

    def _fail(self, job: Job, code: str, message: str) -> None:
        with self._lock:
            if not job.ended:
                step = Step()
                step.add_error(job.number, code, message)
                self._close(job, step)

    def _close(self, job: Job, step: Step) -> None:
        job.ended = True
        self._running.pop(job.number, None)
        self._pipe.write(step.frame)


def _disk_problem(error: OSError) -> str:
    """The sentence for a file that cannot be written; the error itself goes to the log."""
    print(f"the audio: {error.strerror}", file=sys.stderr, flush=True)
    if error.errno == errno.ENOENT:
        return "the folder of the job is not on the worker: let it share data_dir with the API's processes"
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return "the disk of the folder of files is full"
    return "the audio could not be written"
