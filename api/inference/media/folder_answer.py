"""Answers a request whose job has a folder, which is tidied when the answer has ended."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from typing import Any

from flask import Response

from api.files.form import UploadForm
from api.files.job_folders import UPLOAD, JobFolders
from api.files.new_file import NewFile
from api.http.detached import DetachedResponse
from api.http.request_body import FORM_DIGEST
from api.http.server.client_connection import ClientConnection
from api.http.stoker_flask import current_request
from api.inference.dialects.base import Dialect
from api.inference.exchange import GenerationExchange, LoadObject, MakeReader, make_exchange
from api.services import current_services
from scheduler.job import Job
from store.errors import StokerError

logger = logging.getLogger("api")

PAUSES_S = (0.5, 2.0, 8.0)
"""Between the looks at a job whose client has left; later ones are those of the sweep."""

_tidying: set[asyncio.Task[None]] = set()
"""The loop holds tasks weakly."""


def answer_form(
    dialect: Dialect,
    form: UploadForm,
    body: dict[str, Any],
    load_object: LoadObject | None = None,
    make_reader: MakeReader | None = None,
) -> Response:
    """Answer the request of a form that is complete: its files become those of the job.

    There they are `in-0`, `in-1` ..., in their order. Raises `StokerError` when the request is refused.
    """
    current_request().environ[FORM_DIGEST] = form.digest
    uploads = {f"{UPLOAD}{index}": file.content for index, file in enumerate(form.files)}
    return answer_with_folder(dialect, uploads, body, load_object, make_reader)


def answer_with_folder(
    dialect: Dialect,
    uploads: Mapping[str, NewFile],
    body: dict[str, Any],
    load_object: LoadObject | None = None,
    make_reader: MakeReader | None = None,
) -> Response:
    """Check the request, make the folder of its job with these uploads, and detach. Raises `StokerError`."""
    folders = current_services()[JobFolders]
    exchange, job = make_exchange(dialect, body, load_object, make_reader)
    folders.add(job.tenant, job.id, uploads)
    return DetachedResponse(MediaAnswer(exchange, job, folders).answer)


class MediaAnswer:
    """The answer to a request whose job has a folder."""

    def __init__(self, exchange: GenerationExchange, job: Job, folders: JobFolders) -> None:
        self._exchange = exchange
        self._tenant, self._id = job.tenant, job.id
        self._folders = folders

    async def answer(self, connection: ClientConnection) -> None:
        """Answer, then remove what the job needs no more."""
        try:
            await self._exchange.answer(connection)
        finally:
            if not await self._tidy():  # its client has left, and its engine is about to notice
                task = asyncio.get_running_loop().create_task(self._tidy_later())
                _tidying.add(task)
                task.add_done_callback(_tidying.discard)

    async def _tidy_later(self) -> None:
        for pause_s in PAUSES_S:
            await asyncio.sleep(pause_s)
            if await self._tidy():
                return

    async def _tidy(self) -> bool:
        """Return whether nothing is left to do here; what cannot be removed is left to the sweep."""
        try:
            return await asyncio.to_thread(self._folders.tidy, self._tenant, self._id)
        except (OSError, StokerError) as error:
            logger.warning("the folder of a job is left to the sweep: %s", error)
            return True
