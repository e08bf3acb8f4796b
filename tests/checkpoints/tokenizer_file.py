"""The tokenizer within a GGUF file, as files that `tokenizers` and transformers read: byte-level BPE.

GGUF stores tokens, their types and the merges, and of the cutting only the name of its rule
(`tokenizer.ggml.pre`). llama.cpp normalizes nothing, so neither does what is written here.
"""

from __future__ import annotations

from typing import Any

from tests.checkpoints.gguf_file import GgufFile

NORMAL, CONTROL = 1, 3
# The rule named "qwen2": what transformers' Qwen2 tokenizer and llama.cpp's llama-vocab.cpp cut by.
CUTS = {
    "qwen2": (
        r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*"
        r"|\s*[\r\n]+|\s+(?!\S)|\s+"
    )
}


def tokenizer_json(model: GgufFile) -> dict[str, Any]:
    """The file `tokenizer.json`, which holds all that turns text into tokens."""
    tokens, types = _vocabulary(model)
    ids = {token: id for id, token in enumerate(tokens) if types[id] == NORMAL}
    in_bytes = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": False, "use_regex": False}
    cut = {
        "type": "Split",
        "pattern": {"Regex": CUTS[model.settings["tokenizer.ggml.pre"]]},
        "behavior": "Isolated",
        "invert": False,
    }
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [{"id": id, **added} for id, added in _added(model).items()],
        "normalizer": None,
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": [cut, in_bytes]},
        "post_processor": in_bytes,
        "decoder": in_bytes,
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
    """The file `tokenizer_config.json`: the tokens with a part in a conversation, and the chat template.

    The class is the plain one: `Qwen2Tokenizer` would normalize text, whatever `tokenizer.json` says.
    """
    said = model.settings
    tokens, types = _vocabulary(model)
    return {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "added_tokens_decoder": {str(id): added for id, added in _added(model).items()},
        "eos_token": tokens[said["tokenizer.ggml.eos_token_id"]],
        "pad_token": tokens[said["tokenizer.ggml.padding_token_id"]],
        "bos_token": None,
        "unk_token": None,
        "additional_special_tokens": [
            token for token, type in zip(tokens, types, strict=True) if type == CONTROL
        ],
        "add_bos_token": said["tokenizer.ggml.add_bos_token"],
        "add_prefix_space": False,
        "clean_up_tokenization_spaces": False,
        "split_special_tokens": False,
        "model_max_length": said["qwen3.context_length"],
        "chat_template": said["tokenizer.chat_template"],
    }


def _vocabulary(model: GgufFile) -> tuple[list[str], list[int]]:
    return model.settings["tokenizer.ggml.tokens"], model.settings["tokenizer.ggml.token_type"]


def _added(model: GgufFile) -> dict[int, dict[str, Any]]:
    """Tokens that are found whole, before anything is cut. Engines hide the special ones, not the others."""
    flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False}
    return {
        id: {"content": token, **flags, "special": type == CONTROL}
        for id, (token, type) in enumerate(zip(*_vocabulary(model), strict=True))
        if type != NORMAL
    }
