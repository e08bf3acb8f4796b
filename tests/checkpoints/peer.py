"""Runs a model with another library, under the Python that has it.

    python -I peer.py ROLE PATH < questions.json > answers.json

ROLE is a function of this module, which gets the path of the model and the questions.
"""

from __future__ import annotations

import json
import sys
import urllib.request
from typing import Any


def llama_cpp(path: str, questions: dict[str, list[str]]) -> dict[str, list[Any]]:
    """The tokens of `texts` and the completions of `prompts`, by llama.cpp with its own tokenizer."""
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.verbosity = 0
    params.hostnames = ["127.0.0.1"]
    params.model.path = path
    params.n_ctx = 1024
    params.n_parallel = 1
    params.cpuparams.n_threads = 1
    server = xllamacpp.Server(params)  # it serves as long as this object exists

    def ask(endpoint: str, **body: Any) -> Any:
        request = urllib.request.Request(server.listening_address + endpoint, json.dumps(body).encode())
        with urllib.request.urlopen(request) as answer:
            return json.load(answer)

    return {
        "texts": [
            ask("/tokenize", content=text, parse_special=True)["tokens"] for text in questions["texts"]
        ],
        "prompts": [
            ask("/completion", prompt=text, temperature=0, n_predict=200)["content"]
            for text in questions["prompts"]
        ],
    }


def tokenizers(path: str, questions: list[str]) -> list[list[int]]:
    """The token ids of texts by tokenizer.json."""
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(path + "/tokenizer.json")
    return [tokenizer.encode(text, add_special_tokens=False).ids for text in questions]


def transformers(path: str, questions: list[dict[str, Any]]) -> dict[str, list[str]]:
    """The prompt of each conversation, and its completion."""
    from transformers import AutoModelForCausalLM, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(path)
    model = AutoModelForCausalLM.from_pretrained(path)
    prompts, answers = [], []
    for question in questions:
        prompts.append(tokenizer.apply_chat_template(**question, add_generation_prompt=True, tokenize=False))
        read = tokenizer(prompts[-1], return_tensors="pt", add_special_tokens=False)
        generated = model.generate(**read, max_new_tokens=200, do_sample=False)[0][read.input_ids.shape[1] :]
        answers.append(tokenizer.decode(generated, skip_special_tokens=True))
    return {"prompts": prompts, "answers": answers}


def ctranslate2(path: str, questions: list[str]) -> dict[str, list[str]]:
    """A generator's completions of prompts, by compute type."""
    import ctranslate2
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(path + "/tokenizer.json")
    prompts = [tokenizer.encode(text, add_special_tokens=False).tokens for text in questions]
    answers = {}
    for compute_type in ("float32", "int8"):
        generator = ctranslate2.Generator(path, compute_type=compute_type, intra_threads=1)
        results = generator.generate_batch(prompts, max_length=200, include_prompt_in_result=False)
        answers[compute_type] = [tokenizer.decode(result.sequences_ids[0]) for result in results]
    return answers


def tokens(path: str, questions: list[str]) -> list[list[str]]:
    """The tokens of texts by tokenizer.json, as strings."""
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(path + "/tokenizer.json")
    return [tokenizer.encode(text, add_special_tokens=False).tokens for text in questions]


def pieces(path: str, questions: list[str]) -> list[list[str]]:
    """The tokens of texts by a SentencePiece model, as strings."""
    from sentencepiece import SentencePieceProcessor

    return list(SentencePieceProcessor(model_file=path).encode(questions, out_type=str))


def translator(path: str, questions: list[dict[str, list[str]]]) -> list[list[str]]:
    """The translations of the tokens `source`, which begin with the tokens `prefix`."""
    import ctranslate2

    model = ctranslate2.Translator(path, intra_threads=1)
    results = model.translate_batch(
        [question["source"] for question in questions],
        target_prefix=[question["prefix"] for question in questions],
    )
    return [result.hypotheses[0] for result in results]


if __name__ == "__main__":
    role, path = sys.argv[1:]
    answers = globals()[role](path, json.load(sys.stdin))
    json.dump(answers, sys.stdout)
