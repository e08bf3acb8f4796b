"""Grammar expressions of the string formats of JSON Schema, narrower than their definitions.

Sources: RFC 3339 (dates), RFC 9562 (UUIDs), RFC 5321 (email addresses). Days are up to 28, so that each date
exists.
"""

from __future__ import annotations

from collections.abc import Mapping

_HEX = "[0-9a-f]"
_BYTE = '("25" [0-5] | "2" [0-4] [0-9] | "1" [0-9] [0-9] | [1-9]? [0-9])'
_DATE = '[0-9]{4} "-" ("0" [1-9] | "1" [0-2]) "-" ("0" [1-9] | "1" [0-9] | "2" [0-8])'
_CLOCK = '([01] [0-9] | "2" [0-3]) ":" [0-5] [0-9]'
_TIME = f'{_CLOCK} ":" [0-5] [0-9] ("." [0-9]{{1,6}})? ("Z" | [-+] {_CLOCK})'
_LABEL = "[a-z] [a-z0-9]{0,20}"
_WORD = "[a-zA-Z0-9_+-]"

FORMATS: Mapping[str, str] = {
    "date": _DATE,
    "time": _TIME,
    "date-time": f'{_DATE} "T" {_TIME}',
    "uuid": f'{_HEX}{{8}} "-" {_HEX}{{4}} "-" {_HEX}{{4}} "-" {_HEX}{{4}} "-" {_HEX}{{12}}',
    "ipv4": f'{_BYTE} "." {_BYTE} "." {_BYTE} "." {_BYTE}',
    "email": f'{_WORD}{{1,30}} ("." {_WORD}{{1,20}}){{0,2}} "@" {_LABEL} ("." {_LABEL}){{1,3}}',
}
"""The formats of `generation.output_schema`."""
