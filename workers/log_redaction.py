"""Hides secrets in what engines print: those of the configuration, and what looks like one."""

from __future__ import annotations

import re
from collections.abc import Sequence

from backends.catalogue import REDACTED, URL_CREDENTIALS
from telemetry.text import without_keys

MIN_CHARACTERS = 8
"""A shorter secret of the configuration is not looked for: it would occur in other words."""

_AUTHORIZATION = re.compile(
    r"""(authorization)
        ((?:["']?\s{0,3}[:=]|["'],)\s{0,3}\[?(?:b?["'])?
         (?P<scheme>(?:bearer|basic|digest|token|negotiate|ntlm|api-?key)\s{1,3})?)
        ([^\s"',;\])}]+(?(scheme)|(?:\s{1,3}[^\s"',;\])}]+)?))""",
    re.IGNORECASE | re.VERBOSE,
)
"""`Authorization: Basic ...`; of a scheme that is not named here, the scheme is hidden with the value."""

_SECRET_LIST = re.compile(
    r"""((?:api|access|auth|secret|private)[_-]?(?:key|token)s?|passwords?|secrets?)
        (["']?\s{0,3}[:=]\s{0,3}[\[(])
        ([^\])]+)""",
    re.IGNORECASE | re.VERBOSE,
)
"""`api_key=['...', '...']`."""

_KEY_FLAG = re.compile(
    r"""((?<![\w-])--?api[_-]key)()((?:["']?[\s,=]{1,3}["']?(?![\s"'-])[^\s"',\]]+){1,20})""", re.IGNORECASE
)
"""`--api-key ... ...`: vLLM takes several keys; words that follow them are hidden with them."""

_LIST_ITEM = re.compile(r"""[^\s"',=]+""")

_NAMED_SECRET = re.compile(
    r"""((?:api|access|auth|secret|private)[_-]?(?:key|token)|password|secret)
        (["']?\s{0,3}[:=]\s{0,3}\[?["']?)
        ([^\s"',;\])}]+)""",
    re.IGNORECASE | re.VERBOSE,
)
"""`api_key='...'`, `"password": "..."`."""

_SECRET_FLAG = re.compile(
    r"""((?<![\w-])--?[\w-]{0,40}(?:key|token|secret|password))
        (["']?[\s,=]{1,3}["']?)
        ([^\s"',\]]+)""",
    re.IGNORECASE | re.VERBOSE,
)
"""`--api-key ...`, also as two items of a list."""

_BEARER = re.compile(r"\b(bearer\s+)[^\s\"']{8,}", re.IGNORECASE)
_HUB_TOKEN = re.compile(r"\bhf_[A-Za-z0-9]{8,}")


class Redaction:
    """Hides the `secrets` of one model in the lines of its engines."""

    def __init__(self, secrets: Sequence[str] = ()) -> None:
        known = sorted({secret for secret in secrets if len(secret) >= MIN_CHARACTERS}, key=len, reverse=True)
        self.longest = len(known[0]) if known else 0
        """The length of the longest secret, in characters."""
        self._known = re.compile("|".join(map(re.escape, known))) if known else None

    def apply(self, line: str) -> str:
        """The line with `***` in place of each secret."""
        if self._known is not None:
            line = self._known.sub(REDACTED, line)
        line = URL_CREDENTIALS.sub(f"//{REDACTED}@", without_keys(line))
        line = _HUB_TOKEN.sub(REDACTED, line)
        line = _BEARER.sub(rf"\g<1>{REDACTED}", line)
        line = _KEY_FLAG.sub(_items_hidden, _SECRET_LIST.sub(_items_hidden, line))
        line = _AUTHORIZATION.sub(_hidden, line)
        return _SECRET_FLAG.sub(_hidden, _NAMED_SECRET.sub(_hidden, line))


def _hidden(match: re.Match[str]) -> str:
    groups = match.groups()
    return groups[0] + groups[1] + _shown_instead(groups[-1])


def _items_hidden(match: re.Match[str]) -> str:
    name, between, values = match.groups()
    return name + between + _LIST_ITEM.sub(lambda item: _shown_instead(item[0]), values)


def _shown_instead(value: str) -> str:
    return value if value in ("None", "null", REDACTED, "sk-...") else REDACTED
