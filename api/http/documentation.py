"""The page `/docs`: with relative addresses, and a policy by which Swagger UI runs and nothing else."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Callable
from typing import Any

from flask import Response, make_response

_INLINE_SCRIPT = re.compile(rb"<script>(.*?)</script>", re.DOTALL)

POLICY = (
    "default-src 'none'; script-src 'self' {scripts}; style-src 'self' 'unsafe-inline'; img-src 'self' data:;"
    " connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
"""Swagger UI sets style attributes, and its style sheet has images of its own. Its page starts it with an
inline script, which the policy names by its digest."""


def with_policy(view: Callable[[], Any]) -> Callable[[], Response]:
    """The view of the documentation's page, whose answer carries the policy."""

    def answer() -> Response:
        response = make_response(view())
        page = response.get_data().replace(b'url: "/', b'url: "')  # the document beside the page
        response.set_data(page)
        scripts = " ".join(map(_source_of, _INLINE_SCRIPT.findall(page)))
        response.headers["Content-Security-Policy"] = POLICY.format(scripts=scripts)
        response.headers["Referrer-Policy"] = "no-referrer"
        response.headers["X-Frame-Options"] = "DENY"  # for browsers without frame-ancestors
        return response

    return answer


def _source_of(script: bytes) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(script).digest()).decode()}'"
