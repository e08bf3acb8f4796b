"""The errors of stored files."""

from __future__ import annotations

from api.http.errors import ApiError


class FileQuotaExceeded(ApiError):
    """Raised when a tenant's files take as many bytes, or are as many, as they may."""

    default_code = "file_quota_exceeded"


class TooManyUploads(ApiError):
    """Raised when a tenant uploads as many files at a time as it may."""

    default_code = "too_many_uploads"
