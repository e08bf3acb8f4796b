"""JSON that two parsers could read differently is refused, and so is JSON that is costly to parse."""

from __future__ import annotations

import pytest

from governance.op_tokens.strict_json import InvalidJson, Member, parse, parse_members


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"", "not valid JSON"),
        (b"{", "not valid JSON"),
        (b"[" * 100_000, "more than 16384 bytes"),
        (b"[" * 16_000, "nested deeper than 8 levels"),
        (b'{"a":' * 3000 + b"1" + b"}" * 3000, "more than 16384 bytes"),
        (b'{"a":' * 2000 + b"1" + b"}" * 2000, "nested deeper"),
        (b'["' + b"[" * 9 + b'", [[[[[[[[1]]]]]]]]]', "nested deeper"),
        (b'["\\"", [[[[[[[[1]]]]]]]]]', "nested deeper"),
        (b"NaN", "NaN or an infinity"),
        (b"-Infinity", "NaN or an infinity"),
        (b"1e400", "a number that is not an integer"),
        (b"1.0", "a number that is not an integer"),
        (b"1" * 5000, "an integer of more than 64 bits"),
        (b"18446744073709551616", "an integer of more than 64 bits"),
        (b'{"a": 1, "a": 2}', "a key appears twice"),
        (b'{"a": 1, "\\u0061": 2}', "a key appears twice"),
        (b'[{"a": {"b": 1, "b": 1}}]', "a key appears twice"),
        (b'"\\ud800"', "a lone surrogate"),
        (b'{"\\udc00": 1}', "a lone surrogate"),
        (b'[{"a": ["\\ud800\\ud800"]}]', "a lone surrogate"),
        (b'"\xed\xa0\x80"', "not UTF-8"),
        (b'"\xff"', "not UTF-8"),
        ('"a"'.encode("utf-16"), "not UTF-8"),
        (b"\xef\xbb\xbf1", "not valid JSON"),
        (b"1 2", "unexpected text"),
        (b'"\x00"', "not valid JSON"),
        (b'{"a": 1,}', "not valid JSON"),
        (b"{'a': 1}", "not valid JSON"),
        (b"01", "unexpected text"),
    ],
)
def test_a_text_that_is_ambiguous_or_costly_is_refused(data: bytes, expected: str) -> None:
    with pytest.raises(InvalidJson, match=expected):
        parse(data)


@pytest.mark.parametrize(
    "data",
    [
        *(b"{", b"[]", b"{}{}", b'{"a"}', b'{"a":}', b'{"a":1,}', b'{,"a":1}', b"{1:1}", b'{"a":1 "b":1}'),
        *(b'{"a":1,"a":1}', b'{"a":1,"\\u0061":1}', b'{"\\ud800":1}', b'{"a":1}x', b'{"a":1}}', b'{"a":1.0}'),
    ],
)
def test_the_members_of_an_invalid_object_are_refused(data: bytes) -> None:
    with pytest.raises(InvalidJson):
        parse_members(data)


def test_values_are_parsed_within_the_bounds() -> None:
    assert parse(b' [1, -2, true, null, "\\ud83d\\ude00", {"a": [[[[[1]]]]]}] ') == [
        *(1, -2, True, None, "😀", {"a": [[[[[1]]]]]})
    ]
    assert parse(b"[0.5, 1e3]", fractions=True) == [0.5, 1000.0]
    with pytest.raises(InvalidJson, match="too large"):
        parse(b"1e400", fractions=True)
    assert parse(b"[" * 40 + b"]" * 40, max_depth=40)
    assert parse(b'["' + b"[" * 40 + b'\\"{{"]') == ["[" * 40 + '"{{'], "brackets of a text are no levels"


@pytest.mark.parametrize(
    "data",
    [b'"' + b'\\"' * 500_000, b'\\"' * 500_000, b'"' * 1_000_000, b'"a' * 500_000, b'"\\' * 500_000],
)
def test_the_depth_of_a_long_text_is_found_in_one_pass(data: bytes) -> None:
    # a second pass for each quotation mark would take hours
    with pytest.raises(InvalidJson, match=r"not valid JSON|unexpected text"):
        parse(data, max_bytes=2**21)


def test_each_member_has_its_bytes() -> None:
    data = '{ "a" :  {"x" : [1, 2 ]}\n, "é": "ü" , "n":12}'.encode()

    assert parse_members(data) == {
        "a": Member({"x": [1, 2]}, b'{"x" : [1, 2 ]}'),
        "é": Member("ü", '"ü"'.encode()),
        "n": Member(12, b"12"),
    }
    assert parse_members(b" { } ") == {}
