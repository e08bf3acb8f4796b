"""The summaries of compacted conversations: sealed in answers, and read where a request has one."""

from __future__ import annotations

from dataclasses import replace

from api.http.errors import InvalidRequest
from api.inference.dialects.attachments import Attachments, add_texts
from api.inference.dialects.base import ParsedRequest
from governance.cache_namespaces import CacheNamespaces
from governance.sealed_texts import UnreadableError, seal, unseal
from store.errors import StorageUnavailable

PURPOSE = b"stoker-compaction-v1\n"
INVALID = "invalid_encrypted_content"

HEADING = "Summary of the conversation so far:"
"""Stands above a summary in the prompt."""


class SummarySeal:
    """Seals the summaries of one tenant's conversations, and reads them again."""

    def __init__(self, namespaces: CacheNamespaces, tenant: str) -> None:
        self._namespaces = namespaces
        self._owner = tenant.encode()

    def seal(self, summary: str) -> str:
        """Return the `encrypted_content` of a summary. Raises `StorageUnavailable`."""
        return seal(self._key(), self._owner, summary)

    def opened(self, parsed: ParsedRequest) -> ParsedRequest:
        """The request with the texts of its summaries.

        Raises `InvalidRequest` (invalid_encrypted_content), `StorageUnavailable`.
        """
        texts = {id(summary.part): self._text(summary.content, summary.param) for summary in parsed.summaries}
        messages = add_texts(parsed.generation.messages, texts)
        return replace(parsed, generation=replace(parsed.generation, messages=messages), summaries=())

    def check(self, attachments: Attachments) -> None:
        """Check the summaries among items that are stored now and read later. Raises what `opened` does."""
        for summary in attachments.summaries:
            self._text(summary.content, summary.param)

    def _text(self, content: str, param: str) -> str:
        try:
            return f"{HEADING}\n\n{unseal(self._key(), self._owner, content)}"
        except UnreadableError:
            message = "this compaction item was modified, or it comes from another tenant or platform"
            raise InvalidRequest(message, code=INVALID, param=param) from None

    def _key(self) -> bytes:
        key = self._namespaces.derived_key(PURPOSE)
        if key is None:
            raise StorageUnavailable("the platform's secret could not be read yet", retry_after_s=2)
        return key
