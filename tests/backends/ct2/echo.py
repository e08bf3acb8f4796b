"""Run by the tests under ct2's Python: takes a text as a model would say it, token by token.

    python ct2_echo.py TOKENIZER_JSON

Reads the text from standard input, and prints the pieces that would leave as JSON.
"""

from __future__ import annotations

import json
import sys
from importlib import import_module
from pathlib import Path


def main(tokenizer: str, text: str) -> None:
    module = import_module("backends.ct2.engine.tokens")
    tokens = module.JsonTokens(Path(tokenizer))
    letters = module.Letters(tokens)
    pieces = [letters.take(token) for token in tokens.split(text)]
    print(json.dumps([piece for piece in (*pieces, letters.rest()) if piece]))


if __name__ == "__main__":
    package = type(sys)("backends")
    package.__path__ = [str(Path(__file__).parents[3] / "backends")]
    sys.modules["backends"] = package
    main(sys.argv[1], sys.stdin.read())
