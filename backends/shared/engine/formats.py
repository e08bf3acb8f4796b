"""Grammar expressions of the string formats of JSON Schema, narrower than their definitions.

Sources: RFC 3339 (dates), RFC 9562 (UUIDs), RFC 5321 (email addresses). Each date exists, in any year.
"""

from __future__ import annotations

from collections.abc import Mapping

_HEX = "[0-9a-f]"
_BYTE = '("25" [0-5] | "2" [0-4] [0-9] | "1" [0-9] [0-9] | [1-9]? [0-9])'
_DAYS = [
    '("0" [1-9] | "1" [0-2]) "-" ("0" [1-9] | "1" [0-9] | "2" [0-8])',
    '("0" [13-9] | "1" [0-2]) "-" ("29" | "30")',
    '("0" [13578] | "1" [02]) "-31"',
]
_DATE = f'[0-9]{{4}} "-" ({" | ".join(_DAYS)})'
_CLOCK = '([01] [0-9] | "2" [0-3]) ":" [0-5] [0-9]'
_TIME = f'{_CLOCK} ":" [0-5] [0-9] ("." [0-9]{{1,6}})? ("Z" | [-+] {_CLOCK})'
_LABEL = "[a-z] [a-z0-9]{0,20}"
_END = '"." [a-z]{2,12}'
_WORD = "[a-zA-Z0-9_+-]"

FORMATS: Mapping[str, str] = {
    "date": _DATE,
    "time": _TIME,
    "date-time": f'{_DATE} "T" {_TIME}',
    "uuid": f'{_HEX}{{8}} "-" {_HEX}{{4}} "-" {_HEX}{{4}} "-" {_HEX}{{4}} "-" {_HEX}{{12}}',
    "ipv4": f'{_BYTE} "." {_BYTE} "." {_BYTE} "." {_BYTE}',
    "email": f'{_WORD}{{1,30}} ("." {_WORD}{{1,20}}){{0,2}} "@" {_LABEL} ("." {_LABEL}){{0,2}} {_END}',
}
"""The formats of `generation.schemas.output_schema`."""
