"""Run by the tests with ct2's Python: decodes the tokens of a text one by one, as if a model generated them.

    python ct2_echo.py TOKENIZER_JSON

Reads the text from standard input, and prints the decoded pieces as JSON.
"""

from __future__ import annotations

import json
import sys
from importlib import import_module
from pathlib import Path


def main(tokenizer: str, text: str) -> None:
    module = import_module("backends.ct2.engine.tokens")
    json_tokenizer = module.JsonTokenizer(Path(tokenizer))
    decoder = module.IncrementalDecoder(json_tokenizer)
    pieces = [decoder.add(token) for token in json_tokenizer.split(text)]
    print(json.dumps([piece for piece in (*pieces, decoder.flush()) if piece]))


if __name__ == "__main__":
    package = type(sys)("backends")
    package.__path__ = [str(Path(__file__).parents[3] / "backends")]
    sys.modules["backends"] = package
    main(sys.argv[1], sys.stdin.read())
