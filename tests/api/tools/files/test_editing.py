"""Replacements of exact texts."""

from __future__ import annotations

import pytest

from api.tools.files.confined_folder import ToolFault
from api.tools.files.editing import edited


def edits(*pairs: tuple[str, str]) -> list[dict[str, str]]:
    return [{"old_text": old, "new_text": new} for old, new in pairs]


def test_edits_are_matched_against_the_original_text() -> None:
    changed = edited("line1\nline2\nline3\n", edits(("line3\n", "line3\nline1\n"), ("line2", "two")))
    assert changed == "line1\ntwo\nline3\nline1\n"


def test_an_edit_matches_in_spite_of_white_space_and_typographic_signs() -> None:
    text = "a  \n\u201cquoted\u201d \u2014 text\t\nlast \u2019 \n"
    assert edited(text, edits(('"quoted" - text\n', "new\n"))) == "a  \nnew\nlast \u2019 \n"


def test_a_loose_edit_over_several_lines_keeps_the_others() -> None:
    text = "one \ntwo \nthree \nfour \n"
    assert edited(text, edits(("two\nthree", "2\n3"), ("four\n", "4\n"))) == "one \n2\n3\n4\n"


@pytest.mark.parametrize(
    ("text", "pairs", "message"),
    [
        ("dup\ndup\n", [("dup", "x")], "found 2 occurrences of edits\\[0\\].old_text, it must be unique"),
        ("a \na\t\n", [("a \n", "x")], "must be unique"),
        ("line1\nline2\n", [("line1\nline2", "a"), ("line2", "b")], "edits\\[0\\] and edits\\[1\\] overlap"),
        ("a", [("", "x")], "must not be empty"),
        ("a", [("b", "x")], "could not find edits\\[0\\].old_text"),
        ("a\nb", [("b", "c"), ("  ", "x")], "could not find edits\\[1\\].old_text"),
        ("a", [("a", "a")], "no changes made"),
    ],
)
def test_an_edit_that_cannot_be_made_is_refused(
    text: str, pairs: list[tuple[str, str]], message: str
) -> None:
    with pytest.raises(ToolFault, match=message):
        edited(text, edits(*pairs))
