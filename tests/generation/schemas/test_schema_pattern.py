"""The bounds of regular expressions in clients' schemas."""

from __future__ import annotations

import pytest

from generation.schemas.schema_pattern import PatternError, check_pattern, is_unambiguous


@pytest.mark.parametrize(
    "pattern",
    [
        r"^\d{4}-\d{2}-\d{2}$",
        "^[a-f0-9]{8}-([a-f0-9]{4}-){3}[a-f0-9]{12}$",
        r"^https?:\/\/[^\s]+$",
        r"^\+?[1-9]\d{1,14}$",
        r"^v?\d+(\.\d+){0,2}(-[\w.]+)?$",
        "^(red|green|blue)$",
        "^(?:[A-Z][a-z]*)$",
        r"^(?<year>\d{4})$",
        r"^[^\W_]+$",
        "^$",
        "",
        r"^\u00e9\x41[\]\-a-c]$",
        "^a{2000$",
    ],
)
def test_a_pattern_is_unambiguous_when_each_character_decides(pattern: str) -> None:
    check_pattern(pattern)
    assert is_unambiguous(pattern)


@pytest.mark.parametrize(
    "pattern",
    [
        r"^[A-Za-z0-9._-]+@[A-Za-z0-9.-]+\.[A-Za-z]{2,}$",
        "^.*.*$",
        "^(a|ab)$",
        "^(a|[a-c])*$",
        "^[A-Z]{1,3}B$",
        "^(a+)+$",
        r"^\w*\d$",
        "^(é|ü)$",
        "^(a?)?b$",
        "^a*?$",
        "^(a*|b*)$",
        "^[b-]*[+-9]*-$",
    ],
)
def test_a_pattern_is_accepted_and_ambiguous_when_a_character_fits_two_paths(pattern: str) -> None:
    check_pattern(pattern)
    assert not is_unambiguous(pattern)


@pytest.mark.parametrize(
    ("pattern", "why"),
    [
        ("^" + "(a?b?c?d?)?" * 100 + "$", "characters"),
        ("^" + "(a?b?c?d?)?" * 30 + "$", "32 paths"),
        ("^" + "a?" * 200 + "$", "32 paths"),
        ("^(a*)*$", "may be empty"),
        ("^(a?){2,5}$", "may be empty"),
        ("^(a{100}){100}$", "1000 positions"),
        ("^a{5000}$", "1000 positions"),
        ("^a{99999,}$", "1000 positions"),
        ("^a{5,2}$", "wrong order"),
        ("^(?!x)a$", "lookaround"),
        (r"^(a)\1$", "back reference"),
        ("(" * 17 + "a" + ")" * 17, "16 levels"),
        ("(a", "closing parenthesis"),
        ("a)", "closing parenthesis too many"),
        ("[a", "closing bracket"),
        ("*a", "with nothing before"),
        ("a\\", "escape"),
        ("[\\", "escape"),
        ("x" * 513, "512 characters"),
    ],
)
def test_a_pattern_is_refused_when_its_cost_is_not_bounded(pattern: str, why: str) -> None:
    with pytest.raises(PatternError, match=why):
        check_pattern(pattern)
    assert not is_unambiguous(pattern)
