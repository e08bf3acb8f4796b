"""Texts that run a script where a page takes a text for HTML, an attribute, an address or a template.

The classical vectors of OWASP's cheat sheet, PortSwigger's and html5sec's: each calls `alert`.
"""

from __future__ import annotations

import json
import re
from typing import Any

MARK = "zqx"
"""A text of each vector: where a page shows it, the page has shown the vector."""

VECTORS = [
    f"{MARK}{index}{vector}"
    for index, vector in enumerate(
        (
            "<script>alert(1)</script>",
            "<img src=x onerror=alert(1)>",
            '"><img src=x onerror=alert(1)>',
            "'><svg onload=alert(1)>",
            "<svg><animate onbegin=alert(1) attributeName=x dur=1s>",
            "<iframe srcdoc='<script>parent.alert(1)</script>'>",
            "<iframe src=javascript:alert(1)>",
            "<body onload=alert(1)>",
            "<details open ontoggle=alert(1)>",
            "<video><source onerror=alert(1)></video>",
            "<audio src=x onerror=alert(1)>",
            "<input autofocus onfocus=alert(1)>",
            "<select autofocus onfocus=alert(1)>",
            "<marquee onstart=alert(1)>x</marquee>",
            "<object data=javascript:alert(1)>",
            "<embed src=javascript:alert(1)>",
            "<math><mi xlink:href='javascript:alert(1)'>x</mi></math>",
            "<a href=javascript:alert(1) autofocus onfocus=alert(1)>x</a>",
            "<form action=javascript:alert(1)><button autofocus onfocus=alert(1)>x</button></form>",
            "<base href=//evil.example/>",
            "<meta http-equiv=refresh content='0;url=javascript:alert(1)'>",
            "<link rel=stylesheet href=//evil.example/x.css>",
            "<style>@import '//evil.example/x.css'</style>",
            '" onmouseover=alert(1) autofocus onfocus=alert(1) x="',
            "`;alert(1);//",
            "</script><script>alert(1)</script>",
            "</textarea></title></style><img src=x onerror=alert(1)>",
            "<noscript><p title='</noscript><img src=x onerror=alert(1)>'>",
            "<svg><style><img src=x onerror=alert(1)></style></svg>",
            "{{constructor.constructor('alert(1)')()}}${alert(1)}{@html '<img src=x onerror=alert(1)>'}",
            "<template><img src=x onerror=alert(1)></template><slot onslotchange=alert(1)>",
            "\u202e<scr\u2028ipt>alert(1)</scr\u2028ipt>&lt;img src=x onerror=alert(1)&gt;",
            "javascript:alert(1)//",
            "data:text/html,<script>alert(1)</script>",
        )
    )
]

FREE_TEXTS = re.compile(
    r"(.*_)?(name|names|model|models|tenant|tenants|label|error|message|text|stage|reason|reasons|subject|actor|authority"
    r"|detail|line|lines|worker|workers|host|driver|version|description|artifact|path|backend|id|key|action"
    r"|tag|tags|gpu|device|explanation|words|title|summary|value|unit|prefix|note|url|code)"
)
"""The keys whose texts the attack changes; of others a page reads states and kinds."""

KEPT = re.compile(
    r"(next_after|operation_id|celery_task_id|last_id|first_id|after|object|type|status|runtime_state|kind)"
)


class Poison:
    """Appends a vector to the texts of the API's answers; a text always gets the same one."""

    def __init__(self) -> None:
        self.given: dict[str, str] = {}
        """The changed text of each text."""

    def of(self, text: str) -> str:
        """The text with its vector."""
        if text not in self.given:
            self.given[text] = text + VECTORS[len(self.given) % len(VECTORS)]
        return self.given[text]

    def document(self, value: Any, key: str = "") -> Any:
        """A JSON document with a vector in each free text."""
        if isinstance(value, dict):
            return {name: self.document(item, str(name)) for name, item in value.items()}
        if isinstance(value, list):
            return [self.document(item, key) for item in value]
        if isinstance(value, str) and FREE_TEXTS.fullmatch(key) and not KEPT.fullmatch(key):
            return self.of(value)
        return value

    def stream(self, text: str) -> str:
        """Server-sent events, likewise."""
        lines = []
        for line in text.split("\n"):
            name, _, data = line.partition(": ")
            changed = name == "data" and data.startswith("{")
            lines.append(f"data: {json.dumps(self.document(json.loads(data)))}" if changed else line)
        return "\n".join(lines)
