"""Grammars in llama.cpp's notation, as clients of llama-server send them."""

from __future__ import annotations

EXPONENTIAL = """
root ::= one root "b" | two root "c" | "d"
one ::= "a"
two ::= "a"
"""
"""Each further `a` doubles the number of readings: llama.cpp keeps a stack for each."""

JSON_GRAMMAR = r"""
# the form of llama.cpp's grammars/json.gbnf
root   ::= object
value  ::= object | array | string | number | ("true" | "false" | "null") ws

object ::= "{" ws (
    string ":" ws value ("," ws string ":" ws value)*
  )? "}" ws

array  ::= "[" ws ( value ("," ws value)* )? "]" ws

string ::= "\"" ( [^"\\\x7F\x00-\x1F] | "\\" (["\\bfnrt] | "u" [0-9a-fA-F]{4}) )* "\"" ws

number ::= ("-"? ([0-9] | [1-9] [0-9]{0,15})) ("." [0-9]+)? ([eE] [-+]? [0-9] [1-9]{0,15})? ws

ws ::= | " " | "\n" [ \t]{0,20}
"""
"""JSON whose white space is bounded."""
