"""Answers with content that was prepared before: compressed if the client accepts it, with an ETag."""

from __future__ import annotations

import gzip
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from flask import Response, request


@dataclass(frozen=True)
class PreparedAnswer:
    """Content that many clients read. `is_compressible`: gzip makes it smaller."""

    content: bytes = field(repr=False)
    content_type: str
    is_compressible: bool = True

    @cached_property
    def etag(self) -> str:
        """The first 128 bits of the content's SHA-256 digest."""
        return hashlib.sha256(self.content).hexdigest()[:32]

    @cached_property
    def gzipped(self) -> bytes | None:
        """The compressed content; None for a type that does not become smaller."""
        return gzip.compress(self.content, mtime=0) if self.is_compressible else None

    def answer(self, headers: Mapping[str, str]) -> Response:
        """The answer to the current request: the content, or 304 if the client has it (RFC 9110, 13.1.2)."""
        gzipped = self.gzipped if request.accept_encodings.quality("gzip") > 0 else None
        response = Response(self.content if gzipped is None else gzipped, content_type=self.content_type)
        response.headers.update(headers)
        if gzipped is not None:
            response.headers["Content-Encoding"] = "gzip"
        response.set_etag(self.etag if gzipped is None else f"{self.etag}-gzip")
        response.make_conditional(request)
        return response
