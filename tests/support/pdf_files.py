"""PDF files for tests, written by hand (ISO 32000-1), among them hostile ones."""

from __future__ import annotations

import zlib
from base64 import b64encode
from collections.abc import Sequence

CATALOG = b"<< /Type /Catalog /Pages 2 0 R >>"
FONT = b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>"
PAGE = b"<< /Type /Page /Parent 2 0 R /Resources << /Font << /F1 3 0 R >> >> /Contents %d 0 R >>"


def written(objects: Sequence[bytes], trailer: bytes = b"") -> bytes:
    """A file of these objects, numbered from 1: the first is the catalogue."""
    out, offsets = b"%PDF-1.4\n", []
    for number, content in enumerate(objects, 1):
        offsets.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, content)
    start, size = len(out), len(objects) + 1
    out += b"xref\n0 %d\n0000000000 65535 f \n" % size
    out += b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    return out + b"trailer << /Size %d /Root 1 0 R %s>>\nstartxref\n%d\n%%%%EOF\n" % (size, trailer, start)


def stream(content: bytes, extra: bytes = b"") -> bytes:
    """A stream object."""
    return b"<< /Length %d %s>>\nstream\n%s\nendstream" % (len(content), extra, content)


def deflated(content: bytes) -> bytes:
    """A compressed stream object."""
    return stream(zlib.compress(content, 9), b"/Filter /FlateDecode ")


def shown(text: str) -> bytes:
    """The content of a page with this text."""
    return b"BT /F1 12 Tf 72 720 Td (%s) Tj ET" % text.encode("latin-1")


def pages(contents: Sequence[bytes]) -> bytes:
    """A file with a page for each of these stream objects."""
    kids = b" ".join(b"%d 0 R" % (4 + 2 * index) for index in range(len(contents)))
    objects = [CATALOG, b"<< /Type /Pages /Kids [%s] /Count %d >>" % (kids, len(contents)), FONT]
    for index, content in enumerate(contents):
        objects += [PAGE % (5 + 2 * index), content]
    return written(objects)


def pdf(*texts: str) -> bytes:
    """A file with a page for each text."""
    return pages([stream(shown(text)) for text in texts])


def encrypted() -> bytes:
    """A file that needs a password."""
    objects = [CATALOG, b"<< /Type /Pages /Kids [] /Count 0 >>"]
    key = b"00" * 32
    lock = b"/Encrypt << /Filter /Standard /V 1 /R 2 /P -4 /O <%s> /U <%s> >> /ID [<00> <00>] " % (key, key)
    return written(objects, lock)


def bomb(mebibytes: int) -> bytes:
    """A page whose compressed content becomes so large."""
    return pages([deflated(shown("x" * 1024) * (mebibytes * 1024))])


def many_pages(levels: int) -> bytes:
    """A tree of pages with ten branches at each level, all of which are the same."""
    objects = [CATALOG]
    for level in range(levels):
        kids = b"%d 0 R " % (level + 3) * 10
        objects.append(b"<< /Type /Pages /Kids [%s] /Count %d >>" % (kids, 10 ** (levels - level)))
    objects.append(b"<< /Type /Page /Parent 2 0 R >>")
    return written(objects)


def endless_tree() -> bytes:
    """A tree of pages that contains itself."""
    return written([CATALOG, b"<< /Type /Pages /Kids [2 0 R 2 0 R] /Count 2 >>"])


def nested(levels: int) -> bytes:
    """A page whose content is an array in an array, and so on."""
    return pages([stream(b"[" * levels + b"]" * levels + b" TJ")])


def endless_form() -> bytes:
    """A page that draws a form that draws itself, twice."""
    form = stream(b"/X Do /X Do", b"/Type /XObject /Subtype /Form /Resources << /XObject << /X 5 0 R >> >> ")
    page = b"<< /Type /Page /Parent 2 0 R /Resources << /XObject << /X 5 0 R >> >> /Contents 4 0 R >>"
    kids = b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>"
    return written([CATALOG, kids, page, stream(b"/X Do"), form])


def data_url_of(content: bytes, media_type: str = "application/pdf") -> str:
    """The file as a data: URL."""
    return f"data:{media_type};base64,{b64encode(content).decode()}"
