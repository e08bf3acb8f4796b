"""Lets the windows of several requests share one call of the library.

`WhisperModel` calls `encode`, `generate`, `align` and `detect_language` of CTranslate2's model for one window
of 30 s at a time. `SharedModel` stands between them. With batches, `encode` only notes the window, and
`generate` merges the calls of the requests' threads that wait at the same time. The library runs rows of
different requests, languages and tasks together, if their options and the lengths of their prompts are equal.
"""

from __future__ import annotations

import os
import sys
import threading
import time
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, Protocol

from .errors import RequestCancelled

np: Any = import_module("numpy")

MAX_ROWS = 16
MAX_RUNNING = 2
"""Batches that run side by side: one computes while the other one's results are taken."""


class Cancellable(Protocol):
    """A request, as far as the model looks at it."""

    cancelled: bool

    def begin_window(self) -> None:
        """Called before each window is computed."""
        ...


class Window:
    """A window whose features have been computed; its encoding is kept once it was computed alone."""

    def __init__(self, features: Any) -> None:
        self.features = features
        self._encoded: Any = None

    def encoded(self, model: Any) -> Any:
        """The encoding of the window alone."""
        if self._encoded is None:
            self._encoded = model.encode(_storage(self.features))
        return self._encoded


@dataclass(eq=False)
class Row:
    """A call of `generate` that waits for its batch."""

    window: Window
    prompt: Sequence[int]
    key: tuple[Any, ...]
    options: dict[str, Any]
    request: Cancellable | None
    queued_at: float = field(default_factory=time.monotonic)
    done: bool = False
    result: Any = None
    error: Exception | None = None


def next_rows(waiting: Sequence[Row], requests: int, wait_s: float, now: float) -> tuple[list[Row], float]:
    """The rows of the next batch; or none, and the seconds until it is due.

    The oldest row waits `wait_s` for others, unless all of the `requests` that run are waiting already.
    """
    oldest = waiting[0]
    left = oldest.queued_at + wait_s - now
    if left > 0 and len(waiting) < requests:
        return [], left
    return [row for row in waiting if row.key == oldest.key][:MAX_ROWS], 0.0


class SharedModel:
    """Stands in for `ctranslate2.models.Whisper` in a `WhisperModel`; its methods run in requests' threads.

    `wait_s` is how long a window waits for others; None calls the library at once, for each window alone.
    """

    def __init__(self, model: Any, wait_s: float | None) -> None:
        self._model = model
        self._wait_s = wait_s
        self._current = threading.local()
        self._changed = threading.Condition()
        self._waiting: list[Row] = []
        self._requests = 0
        if wait_s is not None:
            for _ in range(MAX_RUNNING):
                threading.Thread(target=self._run_batches, daemon=True).start()

    def __getattr__(self, name: str) -> Any:
        """All else is the library's."""
        return getattr(self._model, name)

    @contextmanager
    def serving(self, request: Cancellable) -> Iterator[None]:
        """The calls of this thread inside the block belong to a request."""
        self._current.request = request
        with self._changed:
            self._requests += 1
        try:
            yield
        finally:
            self._current.request = None
            with self._changed:
                self._requests -= 1
                self._changed.notify_all()

    def wake(self) -> None:
        """Let waiting calls notice that their request was cancelled."""
        with self._changed:
            self._changed.notify_all()

    def encode(self, features: Any, to_cpu: bool = False) -> Any:
        """Compute the encoding of a window, with batches later. Raises `RequestCancelled`."""
        request = self._request()
        if request is not None:
            request.begin_window()
        if self._wait_s is None:
            return self._model.encode(features, to_cpu=to_cpu)
        return Window(np.array(features))

    def detect_language(self, encoded: Any) -> Any:
        """Return the probabilities of the languages of a window. Raises `RequestCancelled`."""
        return self._model.detect_language(self._encoded(encoded))

    def align(self, encoded: Any, *arguments: Any, **options: Any) -> Any:
        """Return the times of the tokens of a window. Raises `RequestCancelled`."""
        return self._model.align(self._encoded(encoded), *arguments, **options)

    def generate(self, encoded: Any, prompts: Sequence[Sequence[int]], **options: Any) -> Any:
        """Return the result for the one window and prompt of a call. Raises `RequestCancelled`."""
        request = self._request()
        if self._wait_s is None:
            return self._model.generate(encoded, prompts, **options)
        key = (len(prompts[0]), *sorted((name, _hashable(value)) for name, value in options.items()))
        row = Row(encoded, prompts[0], key, options, request)
        with self._changed:
            self._waiting.append(row)
            self._changed.notify_all()
            while not row.done:
                self._changed.wait()
                if request is not None and request.cancelled and row in self._waiting:
                    self._waiting.remove(row)
                    raise RequestCancelled
        if row.error is not None:
            raise row.error
        return [row.result]

    def _request(self) -> Cancellable | None:
        request: Cancellable | None = getattr(self._current, "request", None)
        if request is not None and request.cancelled:
            raise RequestCancelled
        return request

    def _encoded(self, encoded: Any) -> Any:
        self._request()
        return encoded.encoded(self._model) if isinstance(encoded, Window) else encoded

    def _run_batches(self) -> None:
        while True:
            rows = self._take()
            self._run(rows)
            with self._changed:
                for row in rows:
                    row.done = True
                self._changed.notify_all()

    def _take(self) -> list[Row]:
        """Wait for the next batch and remove its rows from those that wait."""
        assert self._wait_s is not None  # noqa: S101 - these threads run with batches only
        with self._changed:
            while True:
                if not self._waiting:
                    self._changed.wait()
                    continue
                rows, left = next_rows(self._waiting, self._requests, self._wait_s, time.monotonic())
                if rows:
                    self._waiting = [row for row in self._waiting if row not in rows]
                    return rows
                self._changed.wait(left)

    def _run(self, rows: Sequence[Row]) -> None:
        try:
            for row, result in zip(rows, self._generate(rows), strict=True):
                row.result = result
        except Exception as error:  # the library raises bare exceptions
            exit_if_device_is_lost(error)
            if len(rows) == 1:
                rows[0].error = error
                return
            traceback.print_exc()
            for row in rows:  # one row may have been too much for the library
                self._run([row])

    def _generate(self, rows: Sequence[Row]) -> Sequence[Any]:
        if len(rows) == 1:
            encoded = rows[0].window.encoded(self._model)
        else:
            encoded = self._model.encode(_storage(np.concatenate([row.window.features for row in rows])))
        found: Sequence[Any] = self._model.generate(encoded, [row.prompt for row in rows], **rows[0].options)
        return found


def exit_if_device_is_lost(error: Exception) -> None:
    """End the process after an error of the GPU, which persists: the worker starts a new one."""
    if "CUDA" in str(error) and "out of memory" not in str(error):
        traceback.print_exc()
        sys.stderr.flush()
        os._exit(1)


def _storage(features: Any) -> Any:
    return import_module("ctranslate2").StorageView.from_array(np.ascontiguousarray(features))


def _hashable(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value
