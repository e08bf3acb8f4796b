"""The `encrypted_content` of reasoning, which clients send back in place of its text (`store: false`).

It is the text in base64: the text stands beside it in the answer, so that there is nothing to hide.
"""

from __future__ import annotations

from base64 import urlsafe_b64decode, urlsafe_b64encode

from api.http.errors import InvalidRequest

PREFIX = "text.v1."


def packed(text: str) -> str:
    """Return the `encrypted_content` of a text."""
    return PREFIX + urlsafe_b64encode(text.encode()).decode()


def unpacked(content: str | None, param: str) -> str:
    """Return the text of an `encrypted_content` at the path `param`; "" for that of another server.

    Raises `InvalidRequest`.
    """
    if content is None or not content.startswith(PREFIX):
        return ""
    try:
        return urlsafe_b64decode(content.removeprefix(PREFIX)).decode()
    except ValueError:  # broken base64, or no UTF-8
        message = "this reasoning was modified"
        raise InvalidRequest(message, code="invalid_encrypted_content", param=param) from None
