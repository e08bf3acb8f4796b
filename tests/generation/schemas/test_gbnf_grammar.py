"""Grammars of clients: what is read, what is refused, and the text that engines get."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from generation.schemas.gbnf_checks import safe_grammar
from generation.schemas.gbnf_choices import MAX_RANGES
from generation.schemas.gbnf_grammar import GbnfGrammar, GrammarRefused
from generation.schemas.gbnf_parser import (
    MAX_BYTES,
    MAX_COUNT,
    MAX_DEPTH,
    MAX_RULES,
    Parser,
    parse_grammar,
)
from tests.support.grammars import EXPONENTIAL, JSON_GRAMMAR

RULES = ("root", "item", "ws", "end")


def written(*rules: str) -> str:
    return "".join(f"g{number} ::= {rule}\n" for number, rule in enumerate(rules))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('root ::= "ab" [c]', written('"abc"')),
        ('# a comment\nroot ::= # another\n  "a" # and one\n\n', written('"a"')),
        ('root::="a"|\n"b"\r\nroot2 ::= "c"', written('"a" | "b"')),
        ("root ::= [a-cx] [^a] . [-a] [a-]", None),
        (r'root ::= "\x41\u0042\U00000043\n\r\t\\\"\[\]"', written(r'"ABC\x0A\x0D\x09\x5C\x22\x5B\x5D"')),
        (r"root ::= [\x41\]\-\\z]", written(r"[\x2DA\x5C-\x5Dz]")),
        ("root ::= [a-cb-d]", written("[a-d]")),
        ("root ::= [^b]", written(r"[\x01-ac-\uD7FF\uE000-\U0010FFFF]")),
        (
            'root ::= [a]* "b"+ [c]? "d"{2} [e]{3,} [f]{4,5}',
            written("[a]* [b]+ [c]? [d]{2,2} [e]{3,} [f]{4,5}"),
        ),
        ('root ::= "ab"{2}', written("g1{2,2}", '"ab"')),
        ('root ::= ("a" |\n "b"\n)* "c"', written('g1* "c"', '"a" | "b"')),
        ('root ::= | "a" item\nitem ::= "b"', written('"a" g1 | ""', '"b"')),
        ('root ::= ""', written('""')),
        ('root ::= "ü日😀"', written(r'"\xFC\u65E5\U0001F600"')),
        ('root ::= "red" | "reddish" | "rod"', written('"r" g1', '"ed" g2 | "od"', '"" | "dish"')),
        ("root ::= [0-9] | [1-9] [0-9]{0,15}", written('"0" | [1-9] g1', "[0-9]{0,15}")),
        ('root ::= ws? "a"\nws ::= [ ]*', written('g1 "a"', "[ ]*")),
        ('root ::= "a" root "b" | "a" root "c" | "d"', written('"a" g0 g1 | "d"', '"b" | "c"')),
    ],
)
def test_a_grammar_is_written_again_in_one_form(text: str, expected: str | None) -> None:
    again = safe_grammar(text)
    assert expected is None or again.splitlines() == expected.splitlines() or _same(again, expected)
    assert safe_grammar(again, "g0") == again


def _same(text: str, expected: str) -> bool:
    """Whether two grammars are the same but for the order of alternatives."""

    def form(of: str) -> list[tuple[str, list[str]]]:
        lines = (line.split(" ::= ") for line in of.splitlines())
        return [(name, sorted(body.split(" | "))) for name, body in lines]

    return form(text) == form(expected)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "no rule root"),
        ('start ::= "a"', "no rule root"),
        ("root ::= item", "rule item is not defined"),
        ('root ::= "a"\nroot ::= "b"', "rule root, it is defined twice"),
        ('root = "a"', "::= is expected in line 1"),
        ('root ::= "a\n', "a character is missing or malformed"),
        ('root ::= "\\q"', "a character is missing or malformed"),
        ('root ::= "\\x4"', "a character is missing or malformed"),
        ("root ::= [a", "a character is missing or malformed"),
        ("root ::= [a-", "a character is missing or malformed"),
        ('root ::= ("a"', "its end is missing"),
        ('root ::= "a")', "a name is expected"),
        ('root ::= "a"\n| "b"', "a name is expected in line 2"),
        ("root ::= *", "nothing is repeated"),
        ('root ::= "a"**', "nothing is repeated"),
        ('root ::= ""?', "nothing is repeated"),
        ('root ::= "a"{x}', "a repetition is malformed"),
        ('root ::= "a"{,3}', "a repetition is malformed"),
        ('root ::= "a"{3,2}', "exclude each other"),
        ('root ::= "a"{0}', "exclude each other"),
        ("root ::= []", "no character fits"),
        ("root ::= [z-a]", "ends before it begins"),
        (r"root ::= [\uD800-\uDFFF]", "no character fits"),
        (r'root ::= "\U00110000"', "no character fits"),
        ('root ::= "\x00"', "no character fits"),
        ("root ::= <think>", "it names a token"),
        ("root ::= !<[12]>", "it names a token"),
        ('root ::= root "a" | "b"', "rule root begins with itself"),
        ('root ::= ws root "a" | "b"\nws ::= " "?', "rule root begins with itself"),
        ('root ::= "a" root', "rule root never ends"),
        ('root ::= "a" | item\nitem ::= "b" item', "rule item never ends"),
        ('root ::= item "a" | ws "b"\nitem ::= "x"\nws ::= [x-z]', "rule root, two alternatives may begin"),
        ('root ::= "a"* "a"', "rule root, a repeated or optional part begins"),
        ('root ::= item "a"\nitem ::= "b" "a"?', "rule item, a repeated or optional part begins"),
        ('root ::= "b"* | "c"*', "rule root, several alternatives may be empty"),
        ('root ::= item*\nitem ::= "b"?', "rule root, a repeated part may be empty"),
        (EXPONENTIAL, "rule root, two alternatives may begin with the same character"),
    ],
)
def test_a_grammar_is_refused_with_the_rule_and_the_reason(text: str, reason: str) -> None:
    with pytest.raises(GrammarRefused, match=re.escape(reason)):
        safe_grammar(text)


@pytest.mark.parametrize(
    ("most", "text", "reason"),
    [
        (MAX_BYTES - 12, lambda n: f'root ::= "a"#{"x" * (n - 1)}', "bytes"),
        (MAX_RULES, lambda n: 'root ::= "a"\n' + "".join(f'r{i}::="a"\n' for i in range(n - 1)), "rules"),
        (MAX_DEPTH, lambda n: f'root ::= {"(" * n}"a"{")" * n}', "nested"),
        (MAX_COUNT, lambda n: f"root ::= [a]{{0,{n}}}", "more than 1000 times"),
        (19, lambda n: "root ::= " + " ".join(f"[{chr(97 + i)}]{{1000}}" for i in range(n)), "elements"),
        (MAX_RANGES, lambda n: "root ::= [" + "".join(chr(0x4E00 + 2 * i) for i in range(n)) + "]", "ranges"),
    ],
    ids=["bytes", "rules", "depth", "count", "elements", "ranges"],
)
def test_a_grammar_at_a_bound_is_taken_and_refused_above_it(
    most: int, text: Callable[[int], str], reason: str
) -> None:
    assert safe_grammar(text(most))
    with pytest.raises(GrammarRefused, match=reason):
        safe_grammar(text(most + 1))


def classes_in_a_row(count: int) -> str:
    """Any text, whose letters are in so many classes."""
    rules = [
        f"r{i} ::= [{''.join(chr(97 + i + j) for j in range(0, 26 - i, count))}]\n" for i in range(count)
    ]
    return f"root ::= ({' | '.join(f'r{i}' for i in range(count))})+\n{''.join(rules)}"


def test_classes_that_may_come_in_a_row_are_bounded() -> None:
    assert safe_grammar(classes_in_a_row(4))
    with pytest.raises(
        GrammarRefused, match="in the rule r0, too many characters or classes may come in a row"
    ):
        safe_grammar(classes_in_a_row(8))
    once = " | ".join(f'"{chr(97 + i)}." [a-z]*' for i in range(26))
    assert safe_grammar(f"root ::= {once}"), "at the begin they cost nothing for each token"


def test_the_grammar_of_json_is_taken() -> None:
    assert safe_grammar(JSON_GRAMMAR).startswith("g0 ::= g1\n")


@pytest.mark.parametrize(
    "text",
    [
        "root ::= " + "(" * 100_000,
        "root ::= " + '"a" | ' * 5_000 + '"a"',
        "root ::= " + "[a-b] " * 10_000,
        "".join(f'r{i} ::= r{i + 1} "x" | r{i + 1} "y"\n' for i in range(900)) + 'r900 ::= "z"\nroot ::= r0',
        "root ::= " + " | ".join(f"[{chr(97)}-{chr(0x1000 + i)}]" for i in range(4_000)),
        "root ::= " + '"' + "a" * 60_000 + '"',
    ],
    ids=["open", "alike", "long", "doubling", "nested ranges", "literal"],
)
def test_the_parser_takes_a_step_for_a_character_at_most(text: str) -> None:
    parser = Parser(text)
    with suppress(GrammarRefused):
        parser.parse("root")
    assert parser.steps <= len(text) + 2


letters = st.sampled_from(["a", "b", "\\x63", "\\u0064", "ü", "\\n", " ", "1"])
literals = st.lists(letters, min_size=1, max_size=3).map(lambda found: f'"{"".join(found)}"')
classes = st.tuples(st.sampled_from(["", "^"]), st.lists(letters, min_size=1, max_size=3)).map(
    lambda found: f"[{found[0]}{''.join(found[1])}]"
)
atoms = literals | classes | st.sampled_from([*RULES, "."])
counts = st.sampled_from(["", "", "", "*", "+", "?", "{2}", "{1,}", "{0,3}"])


def sequences(of: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    items = st.tuples(of, counts).map("".join)
    alternatives = st.lists(items, max_size=3).map(" ".join)
    return st.lists(alternatives, min_size=1, max_size=3).map(" | ".join)


bodies = sequences(st.recursive(atoms, lambda inner: sequences(inner).map("({})".format), max_leaves=6))


def _form(grammar: GbnfGrammar) -> Sequence[object]:
    return grammar.text().splitlines()


@given(st.tuples(*(bodies for _ in RULES)))
def test_the_text_of_a_grammar_is_parsed_to_the_same_form(found: tuple[str, ...]) -> None:
    text = "\n".join(f"{name} ::= ({body})" for name, body in zip(RULES, found, strict=True))
    parsed = parse_grammar(text)
    assert _form(parse_grammar(parsed.text(), "g0")) == _form(parsed)
    try:
        safe = safe_grammar(text)
    except GrammarRefused:
        return
    assert safe_grammar(safe, "g0") == safe
