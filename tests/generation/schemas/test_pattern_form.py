"""The form of regular expressions that engines enforce, and what has none."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backends.shared.engine.patterns import positions, shortest_text
from generation.schemas.pattern_form import pattern_form
from generation.schemas.schema_pattern import PatternError, positions_of

ATOMS = st.sampled_from(
    ["a", r"\d", r"\w", r"\s", r"\S", "[b-d]", r"[^x\n]", ".", r"\.", "-", r"\x41", "[-z]"]
)
COUNTS = st.sampled_from(["", "", "?", "*", "+", "{2}", "{1,3}", "{2,}", "+?"])
PIECES = st.builds(str.__add__, ATOMS, COUNTS)
SEQUENCES = st.lists(PIECES, min_size=1, max_size=4).map("".join)
GROUPS = st.builds("({}|{}){}".format, SEQUENCES, SEQUENCES, st.sampled_from(["", "?", "*", "+"]))
PATTERNS = st.lists(PIECES | GROUPS, min_size=1, max_size=4).map(lambda parts: f"^{''.join(parts)}$")


@given(PATTERNS, st.data())
def test_a_text_that_fits_the_form_fits_the_expression(pattern: str, data: st.DataObject) -> None:
    try:
        form = pattern_form(pattern)
    except PatternError:
        return
    assert pattern_form(form) == form
    assert positions(form) == positions_of(form)
    for text in (shortest_text(form), data.draw(st.from_regex(form, fullmatch=True))):
        assert re.fullmatch(form[1:-1], text)
        assert re.search(pattern, text), (pattern, form, text)
        assert text.isascii()
        assert text.isprintable()


@pytest.mark.parametrize(
    ("pattern", "reason"),
    [
        ("abc", "several ways"),
        ("a|b", "in a group"),
        ("^a|b$", "in a group"),
        ("^$", "empty alternative"),
        ("^(a|)$", "empty alternative"),
        ("^(?=a)a$", "special group"),
        ("^(?P<x>a)$", "wrong place"),
        ("^a{2}{3}$", "after another"),
        ("^(a-a-a-a-a-){90}$", "counts expanded"),
        ("^((((a{9}){9}){9}){9}){9}$", "counts expanded|positions"),
        ("^a^b$", "anchor"),
        ("^ä$", "ASCII"),
        (r"^\"$", "quote"),
        (r"^[\n]$", "ASCII"),
        (r"^[a-\d]$", "range"),
        ("^[z-a]$", "without"),
        (r"^\p{L}$", "escape"),
        ("^.*@.*$", "several ways"),
        ("^(a|[a-z]|ab|[a-b])*$", "several ways"),
        ("^(a*)*$", "empty"),
        ("^a{1001}$", "positions"),
    ],
)
def test_an_expression_that_engines_cannot_follow_is_refused(pattern: str, reason: str) -> None:
    with pytest.raises(PatternError, match=reason):
        pattern_form(pattern)
