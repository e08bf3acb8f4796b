"""Keeps cache namespaces apart in ExLlamaV3's cache, which knows none.

Its page table finds the pages of a prompt by a chain of hashes over their tokens, and copies the beginning of
any first page with the same tokens. So a job of this module begins the chain with its namespace, and sees the
first pages of its own namespace only. Source: `exllamav3/generator/pagetable.py` and `job.py` of version 1.6.
A version in which that has no effect is refused when the model is loaded.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

PAGE = 256  # tokens of a page, the unit in which the cache is reserved
HASHED_TOKENS = 600  # more than two pages
METHODS = ("prepare_for_queue", "hash_completed_page", "prefill", "deallocate_pages")


class _Root:
    """What the hash chains of the current job begin with; the library runs in one thread."""

    def __init__(self) -> None:
        self.digest = b""

    @contextmanager
    def of(self, digest: bytes) -> Iterator[None]:
        self.digest = digest
        try:
            yield
        finally:
            self.digest = os.urandom(16)


def digest_of(namespace: str) -> bytes:
    """What the hash chains of a namespace begin with."""
    return hashlib.blake2b(namespace.encode(), digest_size=16).digest()


def clear_pages(pagetable: Any, kept: Collection[bytes]) -> int:
    """Clear the pages with the content of any namespace but these (digests). Returns how many were cleared.

    What running jobs have written is left; see `NamespacedJob.leave`. A page that a job has reserved and not
    written yet has its old content again at the job's end, unless it is forbidden here.
    """
    cleared = 0
    for page in pagetable.all_pages:
        namespace = getattr(page, "namespace", None)
        if namespace is None or namespace in kept:
            continue
        if page.ref_count == 0:
            page.clear()
        elif page.can_revert:
            page.can_revert = False
        else:
            continue
        page.namespace = None
        cleared += 1
    return cleared


class NamespaceView:
    """A page table as a job sees it: of all pages, it can copy from those of its own namespace only."""

    def __init__(self, pagetable: Any, namespace: bytes) -> None:
        self._pagetable = pagetable
        self._namespace = namespace

    def __getattr__(self, name: str) -> Any:
        """All else is the page table's."""
        return getattr(self._pagetable, name)

    @property
    def all_pages(self) -> list[Any]:
        """The pages whose content is of the namespace."""
        return [
            page for page in self._pagetable.all_pages if getattr(page, "namespace", None) == self._namespace
        ]


def job_class() -> Any:
    """A subclass of the library's `Job` with the attribute `namespace`, to be set before it is enqueued.

    Raises `AttributeError` or `ImportError` if the library has not the parts that it builds on.
    """
    pagetable: Any = import_module("exllamav3.generator.pagetable")
    jobs: Any = import_module("exllamav3.generator.job")
    checksum, root = pagetable.tensor_hash_checksum, _Root()
    library_job = jobs.Job
    for method in METHODS:
        getattr(library_job, method)

    def salted_checksum(tensor: Any, previous: bytes | None) -> bytes:
        digest: bytes = checksum(tensor, root.digest if previous is None else previous)
        return digest

    pagetable.tensor_hash_checksum = jobs.tensor_hash_checksum = salted_checksum

    class NamespacedJob(library_job):  # type: ignore[misc, valid-type]
        """A job in a namespace; None is one that no other job is in. A preempted job keeps its own."""

        _namespace = b""
        _alone = False

        def join(self, namespace: str | None) -> None:
            """Put the job into a namespace."""
            self._alone = namespace is None
            self._namespace = os.urandom(16) if namespace is None else digest_of(namespace)

        def leave(self, kept: Collection[bytes]) -> None:
            """Clear the pages at the end, unless the namespace is one of these (digests)."""
            self._alone = self._alone or self._namespace not in kept

        def prepare_for_queue(self, generator: Any, *arguments: Any, **named: Any) -> None:
            with root.of(self._namespace):
                super().prepare_for_queue(generator, *arguments, **named)
            self.pagetable = NamespaceView(generator.pagetable, self._namespace)

        def hash_completed_page(self, sequence: Any, index: int) -> None:
            page = sequence.allocated_pages[index]
            page.namespace = self._namespace
            with root.of(self._namespace):
                super().hash_completed_page(sequence, index)
            if self._alone and page.ref_count == 0:
                page.clear()  # the job goes on with the equal page of another one

        def prefill(self, *arguments: Any) -> Any:
            result = super().prefill(*arguments)
            self._mark_pages()
            return result

        def deallocate_pages(self) -> None:
            self._mark_pages()
            pages = [page for sequence in self.sequences for page in sequence.allocated_pages or ()]
            super().deallocate_pages()
            for page in pages if self._alone else ():
                if page.ref_count == 0 and getattr(page, "namespace", None) == self._namespace:
                    page.clear()  # no other job can find it, and it is free for the next one
                    page.namespace = None

        def _mark_pages(self) -> None:
            """Mark the pages that the job has written or found; the others still have their old content."""
            for sequence in self.sequences:
                for page in sequence.allocated_pages or ():
                    if not page.can_revert:
                        page.namespace = self._namespace

    return NamespacedJob


def keeps_namespaces_apart(job_class: Any, generator: Any) -> bool:
    """Whether the hashes of a prompt's pages depend on the namespace, and on nothing else but its tokens.

    In a cache of one page no prompt has a page with a hash.
    """
    torch: Any = import_module("torch")
    pages_of_cache = int(generator.pagetable.max_pages)
    tokens = min(HASHED_TOKENS, pages_of_cache * PAGE - 2)  # and the answer
    if pages_of_cache == 1:
        return True

    def hashes(namespace: str | None) -> list[bytes]:
        job = job_class(input_ids=torch.zeros((1, tokens), dtype=torch.long), max_new_tokens=1)
        job.join(namespace)
        job.prepare_for_queue(generator, 0)
        return list(job.sequences[0].page_hashes)

    found = [hashes(namespace) for namespace in ("a", "a", "b", None, None)]
    pages = {digest for chain in found for digest in chain}
    return len(found[0]) > 0 and found[0] == found[1] and len(pages) == 4 * len(found[0])
