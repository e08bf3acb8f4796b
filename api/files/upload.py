"""What the form of POST /v1/files has beside its file: the purpose, and how long the file is kept."""

from __future__ import annotations

from api.files.form import FormRules, UploadForm
from api.files.record import BATCH_LIFETIME_S, PURPOSES, FileRecord
from api.files.store import FileStore
from api.http.errors import InvalidRequest
from api.http.parameters import integer_text
from config.settings import FileSettings

MIN_LIFETIME_S = 3600
MAX_LIFETIME_S = 30 * 86_400


def file_rules(settings: FileSettings) -> FormRules:
    """The rules of the form."""
    return FormRules({"file": 1}, settings.max_file_bytes, "files.max_file_bytes")


def store_file(form: UploadForm, store: FileStore) -> FileRecord:
    """Make a stored file of a form that is complete. Raises `InvalidRequest`, `StorageFull`."""
    purpose = form.text("purpose")
    if purpose is None:
        raise InvalidRequest("purpose is required", param="purpose")
    if purpose not in PURPOSES:
        raise InvalidRequest(f"purpose must be one of {', '.join(PURPOSES)}", param="purpose")
    file = form.file("file")
    return store.commit(file.content, file.filename, purpose, _lifetime_s(form, purpose))


def _lifetime_s(form: UploadForm, purpose: str) -> int | None:
    anchor, seconds = form.text("expires_after[anchor]"), form.text("expires_after[seconds]")
    if anchor is None and seconds is None:
        return BATCH_LIFETIME_S if purpose == "batch" else None
    if anchor != "created_at":
        raise InvalidRequest("expires_after[anchor] must be created_at", param="expires_after[anchor]")
    return integer_text("expires_after[seconds]", seconds or "", MIN_LIFETIME_S, MAX_LIFETIME_S)
