"""The files of the UI (`api/static/ui/`, made by `make ui`), each with the headers of its answer.

They are read once per process, at the first request for one of them, and compressed once each.
"""

from __future__ import annotations

import base64
import hashlib
import mimetypes
import re
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from pathlib import Path

from api.http.prepared_answer import PreparedAnswer

FOLDER = Path(__file__).parents[1] / "static" / "ui"

POLICY = (
    "default-src 'none'; script-src 'self' {scripts}; style-src 'self'; img-src 'self' data: blob:;"
    " font-src 'self'; connect-src 'self'; media-src 'self' blob:; worker-src 'self'; manifest-src 'self';"
    " base-uri 'none'; form-action 'self'; frame-ancestors 'none'; require-trusted-types-for 'script';"
    " trusted-types svelte-trusted-html stoker-worker"
)
"""The Content Security Policy of each page. Its inline script is named by its digest; a text becomes HTML
only by Svelte's own policy for Trusted Types, which its templates use, and the address of a worker by
`stoker-worker`, which takes addresses of the page's origin."""

POLICY_OF_SCRIPTS = "default-src 'none'; script-src 'self'; connect-src 'self'"
"""The policy that a worker gets from its script: one that reads a hostile file can reach no other origin."""

HEADERS_OF_PAGES = {
    "Cross-Origin-Opener-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=(self)",
    "Referrer-Policy": "no-referrer",
    "X-Frame-Options": "DENY",  # for browsers without frame-ancestors
}
HEADERS_OF_FILES = {"Cross-Origin-Resource-Policy": "same-origin", "Vary": "Accept-Encoding"}

HASHED = "_app/immutable/"
"""The folder of files whose names contain a digest of their content."""

SCRIPTS = (".js", ".mjs")

_INLINE_SCRIPT = re.compile(rb"<script>(.*?)</script>", re.DOTALL)
_COMPRESSED = (*SCRIPTS, ".css", ".html", ".json", ".svg", ".txt")


@dataclass(frozen=True)
class UiFile:
    """One file: its content, its type, and the headers that it is served with."""

    name: str
    content: bytes = field(repr=False)

    @property
    def content_type(self) -> str:
        """The type, with the charset of texts."""
        if self.name.endswith(SCRIPTS):  # some systems have another type for it
            return "text/javascript; charset=utf-8"
        found = mimetypes.guess_type(self.name)[0] or "application/octet-stream"
        return f"{found}; charset=utf-8" if found.startswith("text/") else found

    @cached_property
    def prepared(self) -> PreparedAnswer:
        """The content as it is sent."""
        return PreparedAnswer(
            self.content, self.content_type, is_compressible=self.name.endswith(_COMPRESSED)
        )

    @cached_property
    def headers(self) -> dict[str, str]:
        """The headers of an answer with this file."""
        if self.name.startswith(HASHED):
            headers = {**HEADERS_OF_FILES, "Cache-Control": "public, max-age=31536000, immutable"}
            if self.name.endswith(SCRIPTS):
                headers["Content-Security-Policy"] = POLICY_OF_SCRIPTS
            return headers
        headers = {**HEADERS_OF_FILES, "Cache-Control": "no-cache"}
        if self.name.endswith(".html"):
            scripts = " ".join(map(_source_of, _INLINE_SCRIPT.findall(self.content)))
            headers |= HEADERS_OF_PAGES | {"Content-Security-Policy": POLICY.format(scripts=scripts)}
        elif self.name.endswith(".svg"):  # opened as a page, an image could run a script
            headers["Content-Security-Policy"] = "default-src 'none'; style-src 'unsafe-inline'"
        return headers


@lru_cache(4)
def ui_files(folder: Path = FOLDER) -> dict[str, UiFile]:
    """All files by their paths below `/ui/`: a page has the path of its file without `.html`."""
    files = (path for path in sorted(folder.rglob("*")) if path.is_file())
    found = [UiFile(path.relative_to(folder).as_posix(), path.read_bytes()) for path in files]
    return {_path_of(file.name): file for file in found}


def _path_of(name: str) -> str:
    return "" if name == "index.html" else name.removesuffix(".html")


def _source_of(script: bytes) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(script).digest()).decode()}'"
