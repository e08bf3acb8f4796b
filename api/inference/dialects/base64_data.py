"""Base64 as clients write it: in lines (RFC 2045), and without padding (RFC 4648, 3.2)."""

from __future__ import annotations

import re
from binascii import Error, a2b_base64

_SPACE = re.compile(r"[ \t\r\n\f]+")


def decode_base64(text: str) -> tuple[bytes, str]:
    """The bytes of a text in base64, and the text without white space and with its padding.

    As the WHATWG's "forgiving-base64 decode". Raises `ValueError`.
    """
    try:
        return a2b_base64(text, strict_mode=True), text
    except Error:
        plain = _SPACE.sub("", text)
        plain += "=" * (-len(plain) % 4)
        if plain == text:
            raise
        return a2b_base64(plain, strict_mode=True), plain
