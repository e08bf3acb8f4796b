"""The program of a child process that extracts the text of one PDF file.

It gets the file on its standard input, and its limits as JSON in its only argument: `cpu_s`, `wall_s`,
`memory_bytes`, `max_pages`, `max_text_bytes`. It writes one line, `ok` or an error code with a message, and
after `ok` the text in UTF-8. The kernel ends it when it exceeds a limit of time. The file may be
hostile: this program trusts no number in it, imports nothing of Stoker, and writes no file.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import resource
import signal
import sys
from typing import Any

UNREADABLE, TOO_LARGE = "document_unreadable", "document_too_large"
PAGE_BREAK = "\n\n"


class DocumentFault(Exception):
    """Raised for a document without a text that can be used; `code` is UNREADABLE or TOO_LARGE."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


def limit(limits: dict[str, Any]) -> None:
    """Bound what this process may use. The hard limit of time is a second later: SIGKILL."""
    resource.setrlimit(resource.RLIMIT_CPU, (limits["cpu_s"], limits["cpu_s"] + 1))
    resource.setrlimit(resource.RLIMIT_AS, (limits["memory_bytes"],) * 2)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    signal.setitimer(signal.ITIMER_REAL, limits["wall_s"])  # SIGALRM ends it
    os.nice(10)


def text_of(data: bytes, max_pages: int, max_text_bytes: int) -> bytes:
    """The text of all pages, in UTF-8. Raises `DocumentFault`."""
    from io import BytesIO  # noqa: PLC0415 - after `limit`, as all that reads the file

    from pypdf import PdfReader  # noqa: PLC0415
    from pypdf.errors import DependencyError, LimitReachedError, PyPdfError  # noqa: PLC0415

    try:
        reader = PdfReader(BytesIO(data))
        if reader.is_encrypted and not reader.decrypt(""):
            raise DocumentFault(UNREADABLE, "is encrypted: send it without a password")
        count = len(reader.pages)
        if count > max_pages:
            raise DocumentFault(TOO_LARGE, f"has {count} pages, more than {max_pages}")
        return _joined(reader, count, max_text_bytes)
    except DependencyError:
        raise DocumentFault(UNREADABLE, "is encrypted in a way that cannot be read") from None
    except LimitReachedError:
        raise DocumentFault(TOO_LARGE, "has a part that becomes too large when it is decompressed") from None
    except RecursionError:
        raise DocumentFault(UNREADABLE, "is nested too deeply") from None
    except PyPdfError as error:
        raise DocumentFault(UNREADABLE, f"is not a readable PDF file: {error}"[:300]) from None


def _joined(reader: Any, count: int, max_text_bytes: int) -> bytes:
    pages: list[bytes] = []
    size = 0
    for number in range(count):
        text = reader.pages[number].extract_text().replace("\0", "").strip()
        pages.append(text.encode("utf-8", "replace"))
        size += len(pages[-1]) + len(PAGE_BREAK)
        if size > max_text_bytes:
            raise DocumentFault(TOO_LARGE, f"has more than {max_text_bytes} bytes of text")
    joined = PAGE_BREAK.encode().join(pages)
    if not joined.strip():
        raise DocumentFault(UNREADABLE, "has no text; scanned pages are not read")
    return joined


def main() -> None:
    """Run the program."""
    limits = json.loads(sys.argv[1])
    data = sys.stdin.buffer.read()
    limit(limits)
    logging.disable()  # pypdf's warnings about broken files
    try:
        with contextlib.redirect_stdout(sys.stderr):
            text = text_of(data, limits["max_pages"], limits["max_text_bytes"])
    except DocumentFault as fault:
        answer = f"{fault.code} {fault}".replace("\n", " ").encode("utf-8", "replace") + b"\n"
    except MemoryError:
        answer = f"{TOO_LARGE} needs more memory than a document may use\n".encode()
    except Exception as error:
        answer = f"{UNREADABLE} is not a readable PDF file: {type(error).__name__}\n".encode()
    else:
        answer = b"ok\n" + text
    sys.stdout.buffer.write(answer)
    sys.stdout.buffer.flush()
    os._exit(0)  # a graph of objects as large as the limit need not be taken down one by one


if __name__ == "__main__":
    main()
