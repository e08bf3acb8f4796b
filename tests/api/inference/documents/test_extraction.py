"""The text of PDF files, extracted by a real child process within limits."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import replace

import pytest

from api.inference.documents.errors import DocumentRefused
from api.inference.documents.extraction import Budget, DocumentLimits, pdf_text
from tests.support import pdf_files
from tests.support.pdf_files import pdf
from tests.support.waiting import scaled

pytestmark = pytest.mark.slow

LIMITS = DocumentLimits(max_pages=50, max_text_bytes=100_000, cpu_s=20, max_memory_mib=256)
SHORT = replace(LIMITS, cpu_s=1)
"""Limits for files that reach them: others may take longer on a busy machine."""

RUNS_S = 8
"""The longest that a child of these limits may take, with its start on a busy machine."""


def text_of(data: bytes, limits: DocumentLimits = LIMITS) -> str:
    return asyncio.run(pdf_text(data, Budget(limits), "file"))


def refusal(data: bytes, limits: DocumentLimits = LIMITS) -> tuple[str, str]:
    with pytest.raises(DocumentRefused) as caught:
        text_of(data, limits)
    assert caught.value.param == "file"
    return caught.value.code, caught.value.message


def test_text_of_all_pages_is_extracted() -> None:
    assert text_of(pdf("Hello", "World")) == "Hello\n\nWorld"


@pytest.mark.parametrize(
    ("make", "code", "words"),
    [
        (lambda: b"%PDF-1.4 nothing", "document_unreadable", "not a readable PDF file"),
        (lambda: pdf("Hello")[:300], "document_unreadable", "not a readable PDF file"),
        (pdf_files.encrypted, "document_unreadable", "encrypted"),
        (lambda: pdf(" ", ""), "document_unreadable", "no text"),
        (lambda: pdf(*"x" * 51), "document_too_large", "51 pages"),
        (lambda: pdf("x" * 60_000, "y" * 60_000), "document_too_large", "100000 bytes of text"),
    ],
)
def test_file_is_refused_when_it_has_no_text_that_can_be_used(
    make: Callable[[], bytes], code: str, words: str
) -> None:
    found, message = refusal(make())
    assert found == code
    assert words in message


ATTACKS = {
    "bomb": lambda: pdf_files.bomb(200),
    "many pages": lambda: pdf_files.many_pages(9),
    "endless form": pdf_files.endless_form,
    "nested": lambda: pdf_files.nested(200_000),
}


@pytest.mark.parametrize(
    "make",
    [
        pytest.param(pdf_files.endless_tree, id="endless tree"),
        # each takes its second of CPU
        *(pytest.param(make, id=name, marks=pytest.mark.hostile) for name, make in ATTACKS.items()),
    ],
)
def test_hostile_file_ends_within_the_limits(make: Callable[[], bytes]) -> None:
    began = time.monotonic()
    code, _ = refusal(make(), SHORT)
    assert code in ("document_unreadable", "document_too_large")
    assert time.monotonic() - began < scaled(RUNS_S)


def test_stream_that_becomes_too_large_is_named() -> None:
    assert refusal(pdf_files.bomb(200), SHORT)[0] == "document_too_large"


def test_memory_of_the_child_is_bounded() -> None:
    code, message = refusal(pdf_files.bomb(70), replace(LIMITS, max_memory_mib=128, cpu_s=5))
    assert (code, "memory" in message) == ("document_too_large", True)


def test_budget_is_that_of_all_documents_of_a_request() -> None:
    async def read_two() -> None:
        budget = Budget(replace(LIMITS, max_text_bytes=1500))
        await pdf_text(pdf("x" * 1000), budget, "first")
        await pdf_text(pdf("y" * 1000), budget, "second")

    with pytest.raises(DocumentRefused) as caught:
        asyncio.run(read_two())
    assert (caught.value.param, caught.value.code) == ("second", "document_too_large")


def test_child_ends_when_its_reader_is_cancelled(monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[asyncio.subprocess.Process] = []
    real = asyncio.create_subprocess_exec

    async def recorded(*arguments: str, **options: object) -> asyncio.subprocess.Process:
        started.append(await real(*arguments, **options))  # type: ignore[arg-type]
        return started[0]

    monkeypatch.setattr(asyncio, "create_subprocess_exec", recorded)

    async def cancel_early() -> int | None:
        reading = asyncio.ensure_future(pdf_text(pdf_files.many_pages(9), Budget(SHORT), "file"))
        while not started:
            assert not reading.done(), reading.exception()
            await asyncio.sleep(0.001)
        reading.cancel()
        with pytest.raises(asyncio.CancelledError):
            await reading
        return started[0].returncode

    assert asyncio.run(cancel_early()) is not None
