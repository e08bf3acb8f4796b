"""Which files are documents: PDF files, and texts in UTF-8."""

from __future__ import annotations

from api.http.errors import InvalidRequest
from api.inference.documents.errors import DocumentRefused

TEXT_TYPES = ("text/plain", "text/markdown", "text/csv", "application/json")
TEXT_ENDINGS = (".txt", ".md", ".markdown", ".csv", ".json")
PDF_TYPE, PDF_ENDING = "application/pdf", ".pdf"

_PDF_MAGIC = b"%PDF-"
_MAGIC_WITHIN = 1024  # bytes of other content that readers allow before it


def is_pdf(content: bytes, media_type: str | None, name: str) -> bool:
    """Whether a document counts as a PDF file: by its type, its name or its first bytes."""
    if media_type in TEXT_TYPES:
        return False
    if media_type == PDF_TYPE or name.lower().endswith(PDF_ENDING):
        return True
    return _PDF_MAGIC in content[:_MAGIC_WITHIN]


def text_of(content: bytes, media_type: str | None, name: str, param: str) -> str:
    """The text of a document that is no PDF file.

    Raises `InvalidRequest` (unsupported_input) for one of another type, `DocumentRefused` unless it is UTF-8.
    """
    ending = name.lower()[name.rfind(".") :] if "." in name else ""
    if media_type not in TEXT_TYPES and (media_type is not None or ending) and ending not in TEXT_ENDINGS:
        shown = media_type or ending
        raise InvalidRequest(
            f"a document must be a PDF file or a text ({', '.join(TEXT_TYPES)}), not {shown[:100]!r}",
            code="unsupported_input",
            param=param,
        )
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise DocumentRefused("the document is not UTF-8 text", param=param) from None


def add_heading(heading: str, text: str) -> str:
    """The text of a document below its heading, if it has one."""
    return f"{heading}\n{text}" if heading else text
