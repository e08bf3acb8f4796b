"""Puts the text of a request's documents into its prompt, before the request is admitted."""

from __future__ import annotations

import asyncio
from dataclasses import replace

from api.files.store import FileStore, no_such_file
from api.http.errors import ApiError, NotFound
from api.http.fair_semaphore import FairSemaphore, Limit
from api.inference.dialects.attachments import PendingDocument, add_texts
from api.inference.dialects.base import ParsedRequest
from api.inference.documents.errors import DocumentRefused, TooManyDocuments
from api.inference.documents.extraction import INSTALL, Budget, is_installed, pdf_text
from api.inference.documents.kinds import is_pdf, text_of
from config.settings import Settings

MIB = 1024 * 1024
MAX_RUNNING_PER_TENANT, MAX_RUNNING = 2, 4
"""The most child processes for one tenant, and of one API process, which needs its processors for streams."""

MAX_REQUESTS_PER_TENANT, MAX_REQUESTS = 16, 256
"""The most requests of a tenant, and of all, whose documents one API process reads or will read."""

MAX_BYTES_PER_TENANT, MAX_BYTES = 64 * MIB, 256 * MIB
"""The most bytes of their files."""

RETRY_S = 5


def document_turns() -> FairSemaphore:
    """The turns to read documents. Refuses with `TooManyDocuments`."""
    return FairSemaphore(
        Limit(MAX_RUNNING_PER_TENANT, MAX_REQUESTS_PER_TENANT, MAX_BYTES_PER_TENANT),
        Limit(MAX_RUNNING, MAX_REQUESTS, MAX_BYTES),
        lambda _: TooManyDocuments(
            "too many requests are waiting for the text of their documents", retry_after_s=RETRY_S
        ),
    )


class StoredTexts:
    """Bounds the texts of stored files in one request: together they are as large as a body at most.

    A short request may name one file sixteen times, and its job has the text of each.
    """

    def __init__(self, most: int) -> None:
        self._most = self._left = most

    def take(self, size: int, param: str) -> None:
        """Count a text. Raises `DocumentRefused`."""
        self._left -= size
        if self._left < 0:
            raise DocumentRefused(
                f"the stored texts of the request are larger than {self._most} bytes",
                code="document_too_large",
                param=param,
            )


class DocumentReader:
    """Reads the documents of requests. For the event loop's thread only."""

    def __init__(self, settings: Settings, files: FileStore) -> None:
        self._settings = settings
        self._files = files
        self._turns = document_turns()

    async def complete(self, parsed: ParsedRequest, tenant: str) -> ParsedRequest:
        """The request with the texts of its documents. A cancellation ends the child processes.

        Raises `ApiError`: `DocumentRefused`, `TooManyDocuments`, `NotFound` for a file of another tenant,
        `InvalidRequest` (unsupported_input) for one that is no document.
        """
        size = sum(len(document.data) for document in parsed.documents)
        async with self._turns.hold(tenant, size):
            budget = Budget()
            stored = StoredTexts(self._settings.api.max_body_bytes)
            texts = {
                id(document.part): await self._text(document, tenant, budget, stored)
                for document in parsed.documents
            }
        messages = add_texts(parsed.generation.messages, texts)
        return replace(parsed, generation=replace(parsed.generation, messages=messages), documents=())

    async def _text(self, document: PendingDocument, tenant: str, budget: Budget, stored: StoredTexts) -> str:
        param, content, name = document.param, document.data, ""
        if document.file_id is not None:
            content, name = await asyncio.to_thread(self._read, tenant, document.file_id, param)
            if not is_pdf(content, None, name):
                stored.take(len(content), param)
                return text_of(content, None, name, param)
        if not is_installed():
            raise ApiError(
                f"this platform cannot read PDF files: its operator must install {INSTALL}",
                code="unsupported_input",
                param=param,
            )
        return await pdf_text(content, budget, param)

    def _read(self, tenant: str, id: str, param: str) -> tuple[bytes, str]:
        """The content and the name of a stored file."""
        try:
            record = self._files.get(tenant, id)
            if record.size > self._settings.api.max_body_bytes:
                raise DocumentRefused(
                    f"the document is larger than {self._settings.api.max_body_bytes} bytes",
                    code="document_too_large",
                    param=param,
                )
            return self._files.read(tenant, id), record.filename
        except NotFound:
            raise no_such_file(param) from None
