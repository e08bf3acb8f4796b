"""The services of one API process, each found by its class: `services[Fleet]`.

`api/wiring.py` makes them. A view takes those that it uses (`service(Fleet)`), so that a folder depends on
these and not on all. Nothing connects and no thread starts before `AppServices.start`: the process that
serves the app calls it after the fork, since neither a connection nor a thread survives one.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from typing import Any, TypeVar, cast

from flask import current_app

logger = logging.getLogger("api")

EXTENSION = "stoker"
"""The key of the services in `app.extensions`."""

Service = TypeVar("Service")


class AppServices:
    """The services by class, and what runs from the start of the process to its end.

    `preparations` are called once by `start`, in its thread, before the first request. `background` are
    coroutine functions that run on the event loop from `start` to `stop`. `endings` are called once by
    `stop`, in its thread, after the background's end.
    """

    def __init__(self) -> None:
        self.created_at = time.monotonic()
        self.preparations: list[Callable[[], object]] = []
        self.background: list[Callable[[], Coroutine[Any, Any, None]]] = []
        self.endings: list[Callable[[], object]] = []
        self._by_class: dict[type, object] = {}
        self._tasks: list[Future[None]] = []
        self._loop: asyncio.AbstractEventLoop | None = None

    def add(self, *services: object) -> None:
        """Add services under their own classes."""
        for service in services:
            self._by_class[type(service)] = service

    def __setitem__(self, kind: type[Service], service: Service) -> None:
        """Add a service under the class that its users name, which it only has to behave like."""
        self._by_class[kind] = service

    def __getitem__(self, kind: type[Service]) -> Service:
        """Return the service of this class. Raises `KeyError` if the process has none."""
        return cast(Service, self._by_class[kind])

    @property
    def loop(self) -> asyncio.AbstractEventLoop:
        """The event loop that serves detached responses; set from `start` on."""
        if self._loop is None:
            raise RuntimeError("the services have not been started")
        return self._loop

    def start(self, loop: asyncio.AbstractEventLoop) -> None:
        """Start what runs in the background, on the server's loop. Called once, before the first request."""
        self._loop = loop
        for prepare in self.preparations:
            prepare()
        for run in self.background:
            task = asyncio.run_coroutine_threadsafe(run(), loop)
            task.add_done_callback(_report_failure)
            self._tasks.append(task)

    def stop(self) -> None:
        """Stop what `start` started, if it was called."""
        if self._loop is None:
            return
        for task in self._tasks:
            task.cancel()
        for end in self.endings:
            end()


def _report_failure(task: Future[None]) -> None:
    if not task.cancelled() and (error := task.exception()) is not None:
        logger.error("a task of the event loop has ended", exc_info=error)


def current_services() -> AppServices:
    """Return the services of the app that handles the current request."""
    return cast(AppServices, current_app.extensions[EXTENSION])


def service(kind: type[Service]) -> Service:
    """Return the service of this class, of the app that handles the current request."""
    return current_services()[kind]
