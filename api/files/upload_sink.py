"""The uploads of one API process that arrive: each passes its body from the event loop to a thread.

A thread works for one upload at a time. Its connection is not read while `MAX_BUFFERED_BYTES` wait for that.
So memory has the same bound for a file of any size, and a slow disk slows down uploads only.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial

from flask import request

from api.access.caller import current_caller
from api.files.errors import TooManyUploads
from api.files.form import FORM_BYTES, FormRules, UploadForm, boundary_of, read_whole
from api.files.store import FileStore
from api.http.errors import ApiError
from api.http.server.body_sink import SINK, BodyFlow
from api.services import AppServices
from config.settings import FileSettings
from store.errors import StokerError

logger = logging.getLogger("api")

MAX_BUFFERED_BYTES = 512 * 1024
MAX_UPLOADS = 64
"""Uploads of all tenants that may arrive at a process at a time."""

MAX_UPLOADS_PER_TENANT = 4
"""Of these, those of one tenant, which must not take the room of the others."""

THREADS = 8


class Uploads:
    """Begins uploads. For the event loop's thread only; its threads start with the first upload."""

    def __init__(self, store: FileStore, settings: FileSettings) -> None:
        self.store = store
        self.settings = settings
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="api-uploads")
        self._arriving: Counter[str] = Counter()
        self._sinks: set[UploadSink] = set()

    def begin(
        self, tenant: str, rules: FormRules, content_type: str | None, length: int | None, flow: BodyFlow
    ) -> UploadSink:
        """A sink for the body of an upload; `length` is that of the body, None if it is not known.

        Raises `ApiError` (unsupported_media_type, request_too_large, server_busy) and `TooManyUploads`.
        """
        boundary = boundary_of(content_type)
        if length is not None and length > rules.max_body_bytes:
            raise rules.too_large()
        if self._arriving[tenant] >= MAX_UPLOADS_PER_TENANT:
            raise TooManyUploads(
                f"the tenant's limit of {MAX_UPLOADS_PER_TENANT} uploads at once is reached: "
                "wait until one ends",
                retry_after_s=2,
            )
        if self._arriving.total() >= MAX_UPLOADS:
            raise ApiError(
                "the server is receiving too many files at once", code="server_busy", retry_after_s=2
            )
        self._arriving[tenant] += 1

        def open_form() -> UploadForm:
            begin = partial(self.store.begin, tenant)
            return UploadForm(boundary, rules, begin, max(0, (length or 0) - FORM_BYTES))

        sink = UploadSink(self, tenant, rules.max_body_bytes, open_form, flow)
        self._sinks.add(sink)
        return sink

    def submit(self, work: Callable[[], None]) -> bool:
        """Let a thread do this; False when the process ends."""
        try:
            self._threads.submit(work)
        except RuntimeError:
            return False
        return True

    def forget(self, sink: UploadSink, tenant: str) -> None:
        """An upload of the tenant has arrived, or was dropped."""
        self._sinks.discard(sink)
        self._arriving[tenant] -= 1
        if not self._arriving[tenant]:
            del self._arriving[tenant]

    def stop(self) -> None:
        """Begin nothing more. What was not stored is removed by the next process.

        A disk may be so slow that the loop has ended before a thread: no view waits for that.
        """
        self._threads.shutdown(wait=False, cancel_futures=True)
        for sink in self._sinks:
            sink.stop()


class UploadSink:
    """The sink of one upload; see `BodySink`. `result` is for the view's thread."""

    def __init__(
        self,
        uploads: Uploads,
        tenant: str,
        max_bytes: int,
        open_form: Callable[[], UploadForm],
        flow: BodyFlow,
    ) -> None:
        self.max_bytes = max_bytes
        self.timeout_s = uploads.settings.upload_timeout_s
        self._uploads = uploads
        self._tenant = tenant
        self._open_form = open_form
        self._flow = flow
        self._loop = asyncio.get_running_loop()
        self._buffer = bytearray()
        self._form: UploadForm | None = None
        self._arrived: Future[None] = Future()
        self._is_working = self._is_paused = self._has_ended = self._is_closed = False
        self._pause()
        self._work()

    def write(self, data: bytes) -> None:
        """Take a part of the body; pause the body while too much waits to be written."""
        self._buffer += data
        if not self._is_working:
            self._work()
        elif len(self._buffer) >= MAX_BUFFERED_BYTES:
            self._pause()

    def end(self) -> None:
        """Finish the upload: the body is complete."""
        self._has_ended = True
        if not self._is_working:
            self._work()

    def close(self) -> None:
        """Remove what was not stored. May be called again."""
        if not self._is_closed:
            self._is_closed = True
            self._buffer.clear()
            self._uploads.forget(self, self._tenant)
            self._resume()
            if not self._is_working:
                self._uploads.submit(self._close)

    def stop(self) -> None:
        """The process ends: the view gets an error if the body is not on disk yet."""
        if not self._arrived.done():
            self._arrived.set_exception(_ending())

    def result(self) -> UploadForm:
        """Wait until the body is on disk, and return its form. Raises what `UploadForm` raises."""
        self._arrived.result()
        assert self._form is not None  # noqa: S101 - it was opened before its end
        self._form.end()
        return self._form

    def _pause(self) -> None:
        if not self._is_paused and not self._has_ended:
            self._is_paused = True
            self._flow.pause_body()

    def _work(self) -> None:
        data, self._buffer = self._buffer, bytearray()
        self._is_working = self._uploads.submit(lambda: self._take(data))
        if self._is_working:
            return
        self.stop()
        if not self._has_ended:
            self._flow.refuse_body(_ending())

    def _take(self, data: bytearray) -> None:
        """In a thread."""
        error: StokerError | None = None
        try:
            if self._form is None:
                self._form = self._open_form()
            self._form.feed(data)
        except StokerError as raised:
            error = raised
        except Exception:
            logger.exception("an upload failed")
            error = ApiError("an internal error; the platform's log has the details", code="internal_error")
        self._loop.call_soon_threadsafe(self._taken, error)

    def _taken(self, error: StokerError | None) -> None:
        self._is_working = False
        if self._is_closed:
            self._uploads.submit(self._close)
        elif error is not None and not self._has_ended:
            self._flow.refuse_body(error)
        elif not self._arrived.done():
            if error is not None:
                self._arrived.set_exception(error)
            elif self._buffer:
                self._work()
            elif self._has_ended:
                self._arrived.set_result(None)
            self._resume()

    def _resume(self) -> None:
        if self._is_paused:
            self._is_paused = False
            self._flow.resume_body()

    def _close(self) -> None:
        """In a thread."""
        if self._form is not None:
            self._form.close()


@contextmanager
def read_form(services: AppServices, rules: FormRules) -> Iterator[UploadForm]:
    """The form of the current request, in the view's thread; files that are not placed are removed.

    Raises what `UploadForm` raises.
    """
    sink: UploadSink | None = request.environ.get(SINK)
    if sink is not None:
        yield sink.result()  # the server closes it
        return
    # the body of a request with a session, or behind another one, is in memory
    form = read_whole(request, rules, partial(services[FileStore].begin, current_caller().tenant.name))
    try:
        yield form
    finally:
        form.close()


def _ending() -> ApiError:
    return ApiError("this server is shutting down", code="server_busy", retry_after_s=2)
