"""Patterns beside formats, as zod 4 and pydantic 2 write them: which one is enforced, and what fits it."""

from __future__ import annotations

import re
from random import Random
from typing import Any

import jsonschema_rs
import pytest

from backends.shared.engine.formats import FORMATS as GRAMMARS
from backends.shared.engine.patterns import shortest_text
from generation.schemas.format_patterns import FORMAT_PATTERNS, format_patterns
from generation.schemas.output_schema import enforceable
from generation.schemas.pattern_automaton import automaton
from generation.schemas.pattern_form import fits_pattern
from generation.schemas.schema_form import OutputSchemaError
from generation.schemas.string_schema import FORMATS

DATE = (
    r"(?:(?:\d\d[2468][048]|\d\d[13579][26]|\d\d0[48]|[02468][048]00|[13579][26]00)-02-29"
    r"|\d{4}-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12]\d|3[01])|(?:0[469]|11)-(?:0[1-9]|[12]\d|30)"
    r"|(?:02)-(?:0[1-9]|1\d|2[0-8])))"
)
CLOCK = r"(?:[01]\d|2[0-3]):[0-5]\d(?::[0-5]\d(?:\.\d+)?)?"
HEX = "[0-9a-fA-F]"
BYTE = "(?:25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9][0-9]|[0-9])"
LABEL = r"[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?"
ZOD = {
    "date": ("date", f"^{DATE}$"),
    "datetime": ("date-time", f"^{DATE}T(?:{CLOCK}(?:Z))$"),
    "datetime with offset": ("date-time", rf"^{DATE}T(?:{CLOCK}(?:Z|([+-](?:[01]\d|2[0-3]):[0-5]\d)))$"),
    "time": ("time", f"^{CLOCK}$"),
    "uuid": (
        "uuid",
        f"^({HEX}{{8}}-{HEX}{{4}}-[1-8]{HEX}{{3}}-[89abAB]{HEX}{{3}}-{HEX}{{12}}"
        "|00000000-0000-0000-0000-000000000000|ffffffff-ffff-ffff-ffff-ffffffffffff)$",
    ),
    "guid": ("uuid", f"^({HEX}{{8}}-{HEX}{{4}}-{HEX}{{4}}-{HEX}{{4}}-{HEX}{{12}})$"),
    "ipv4": ("ipv4", rf"^(?:{BYTE}\.){{3}}{BYTE}$"),
    "cidrv4": (
        "cidrv4",
        rf"^({BYTE}\.){{3}}{BYTE}\/([0-9]|[1-2][0-9]|3[0-2])$",
    ),
    "email": (
        "email",
        r"^(?!\.)(?!.*\.\.)([A-Za-z0-9_'+\-\.]*)[A-Za-z0-9_+-]@([A-Za-z0-9][A-Za-z0-9\-]*\.)+[A-Za-z]{2,}$",
    ),
    "email without lookaheads": (
        "email",
        r"^[A-Za-z0-9_'+\-\.]*[A-Za-z0-9_+-]@([A-Za-z0-9][A-Za-z0-9\-]*\.)+[A-Za-z]{2,}$",
    ),
    "HTML's email": ("email", rf"^[a-zA-Z0-9.!#$%&'*+/=?^_`{{|}}~-]+@{LABEL}(?:\.{LABEL})*$"),
    "RFC 5322's email": (
        "email",
        r'^(([^<>()\[\]\\.,;:\s@"]+(\.[^<>()\[\]\\.,;:\s@"]+)*)|(".+"))'
        r"@((\[[0-9]{1,3}\.[0-9]{1,3}\.[0-9]{1,3}\.[0-9]{1,3}])|(([a-zA-Z\-0-9]+\.)+[a-zA-Z]{2,}))$",
    ),
    "Unicode email": ("email", r'^[^\s@"]{1,64}@[^\s@]{1,255}$'),
    "nanoid": ("nanoid", "^[a-zA-Z0-9_-]{21}$"),
    "ulid": ("ulid", "^[0-9A-HJKMNP-TV-Za-hjkmnp-tv-z]{26}$"),
    "e164": ("e164", r"^\+[1-9]\d{6,14}$"),
}


def text_of(pattern: str, random: Random) -> str:
    """A random text of a pattern in the form for engines, of at most a few dozen characters."""
    found, states, text = automaton(pattern[1:-1]), (None,), ""
    while True:
        following = [*found.following(states)]
        if found.accepts(states) and (not following or random.random() < 0.3):
            return text
        state = random.choice(following)
        mask = found.letters[state]
        text += random.choice([chr(code) for code in range(128) if mask >> code & 1])
        states = (state,)


@pytest.mark.parametrize(("name", "pattern"), ZOD.values(), ids=ZOD)
def test_a_string_with_a_pattern_and_a_format_is_enforced_as_zod_writes_it(name: str, pattern: str) -> None:
    schema = {"type": "string", "format": name, "pattern": pattern}
    form: dict[str, Any] = enforceable(schema)
    assert re.search(pattern, shortest_text(form["pattern"]))
    random = Random(3)
    for _ in range(200):
        assert re.search(pattern, text := text_of(form["pattern"], random)), text


def test_a_pattern_with_a_length_is_enforced_when_all_its_texts_have_such_a_length() -> None:
    pattern = ZOD["email"][1]
    schema = {"type": "string", "format": "email", "pattern": pattern, "maxLength": 254}
    with pytest.raises(OutputSchemaError):
        enforceable({**schema, "maxLength": 5})
    for part in (schema, {**schema, "pattern": ZOD["email without lookaheads"][1]}):
        form = enforceable(part)
        jsonschema_rs.validate(part, shortest_text(form["pattern"]))
        longest = automaton(form["pattern"][1:-1]).lengths()[1]
        assert longest is not None
        assert longest <= 254


def test_each_format_has_patterns_whose_texts_are_of_the_format() -> None:
    assert set(FORMATS) == GRAMMARS.keys()
    assert set(FORMATS) < FORMAT_PATTERNS.keys()
    random = Random(5)
    for name in FORMAT_PATTERNS.keys() - {"time", "date-time"}:
        schema = {"type": "string", "format": name}
        for pattern in format_patterns(name):
            for _ in range(200):
                jsonschema_rs.validator_for(schema, validate_formats=True).validate(text_of(pattern, random))


@pytest.mark.parametrize(
    ("pattern", "fits"),
    [
        ("^a*$", True),
        ("a", True),
        ("^a?$", False),
        ("^(?!b)a*$", True),
        ("^(?!a)a*$", False),
        ("^(?!aaaa$)a*$", True),
        ("^(?!aaa$)a*$", False),
        ("^(?=a{2})a*$", True),
        ("^(?=a{4})a*$", False),
        ("^(?=aaa$)a*$", True),
        (r"^(?!.*\.\.)[a-z]+", True),
        ("^(?!(a)", False),
        ("(?i)^a*$", False),
        ("^b|a*$", False),
    ],
)
def test_a_form_fits_a_pattern_when_all_its_texts_do(pattern: str, *, fits: bool) -> None:
    assert fits_pattern("^[a]{3}$", pattern) is fits
