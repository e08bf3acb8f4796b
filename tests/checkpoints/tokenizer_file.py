"""Converts the tokenizer of a GGUF file (byte-level BPE) to the files of `tokenizers` and transformers.

GGUF stores the tokens, their types and the merges; of the pre-tokenizer it stores only the name
(`tokenizer.ggml.pre`). llama.cpp does not normalize text, so these files have no normalizer.
"""

from __future__ import annotations

from typing import Any

from tests.checkpoints.gguf_file import GgufFile

NORMAL, CONTROL = 1, 3
# The pre-tokenizer "qwen2": the pattern of transformers' Qwen2 tokenizer and of llama.cpp's llama-vocab.cpp.
SPLIT_PATTERNS = {
    "qwen2": (
        r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*"
        r"|\s*[\r\n]+|\s+(?!\S)|\s+"
    )
}


def tokenizer_json(model: GgufFile) -> dict[str, Any]:
    """The content of `tokenizer.json`: the whole conversion from text to tokens."""
    tokens, types = _vocabulary(model)
    ids = {token: id for id, token in enumerate(tokens) if types[id] == NORMAL}
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": False, "use_regex": False}
    split = {
        "type": "Split",
        "pattern": {"Regex": SPLIT_PATTERNS[model.settings["tokenizer.ggml.pre"]]},
        "behavior": "Isolated",
        "invert": False,
    }
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [{"id": id, **added} for id, added in _added_tokens(model).items()],
        "normalizer": None,
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": [split, byte_level]},
        "post_processor": byte_level,
        "decoder": byte_level,
        "model": {
            "type": "BPE",
            "dropout": None,
            "unk_token": None,
            "continuing_subword_prefix": "",
            "end_of_word_suffix": "",
            "fuse_unk": False,
            "byte_fallback": False,
            "ignore_merges": False,
            "vocab": ids,
            "merges": [merge.split(" ") for merge in model.settings["tokenizer.ggml.merges"]],
        },
    }


def tokenizer_config(model: GgufFile) -> dict[str, Any]:
    """The content of `tokenizer_config.json`: the special tokens and the chat template.

    The class is the generic one: `Qwen2Tokenizer` would normalize text in spite of `tokenizer.json`.
    """
    settings = model.settings
    tokens, types = _vocabulary(model)
    return {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "added_tokens_decoder": {str(id): added for id, added in _added_tokens(model).items()},
        "eos_token": tokens[settings["tokenizer.ggml.eos_token_id"]],
        "pad_token": tokens[settings["tokenizer.ggml.padding_token_id"]],
        "bos_token": None,
        "unk_token": None,
        "additional_special_tokens": [
            token for token, type in zip(tokens, types, strict=True) if type == CONTROL
        ],
        "add_bos_token": settings["tokenizer.ggml.add_bos_token"],
        "add_prefix_space": False,
        "clean_up_tokenization_spaces": False,
        "split_special_tokens": False,
        "model_max_length": settings["qwen3.context_length"],
        "chat_template": settings["tokenizer.chat_template"],
    }


def _vocabulary(model: GgufFile) -> tuple[list[str], list[int]]:
    return model.settings["tokenizer.ggml.tokens"], model.settings["tokenizer.ggml.token_type"]


def _added_tokens(model: GgufFile) -> dict[int, dict[str, Any]]:
    """Tokens that are matched before the text is split. Engines hide special ones in their output."""
    flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False}
    return {
        id: {"content": token, **flags, "special": type == CONTROL}
        for id, (token, type) in enumerate(zip(*_vocabulary(model), strict=True))
        if type != NORMAL
    }
