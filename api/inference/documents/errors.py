"""The errors of documents in requests."""

from __future__ import annotations

from api.http.errors import ApiError, InvalidRequest


class DocumentRefused(InvalidRequest):
    """Raised for a document whose text cannot be used.

    Codes: document_unreadable (broken, encrypted, without text), document_too_large (pages, text, time or
    memory).
    """

    default_code = "document_unreadable"


class TooManyDocuments(ApiError):
    """Raised when a tenant has as many requests with documents that wait as it may, or all tenants have."""

    default_code = "too_many_documents"
