"""Estimates of tokens, where no tokenizer is at hand."""

from __future__ import annotations

BYTES_PER_TOKEN = 4
"""Of a text."""

IMAGE_TOKENS = 256
"""Of an image. Engines resize images, so that the number of bytes is no measure."""

AUDIO_TOKENS_PER_S = 25
"""Of a second of a recording. Models make 6 tokens (Ultravox) to 25 (Qwen2-Audio)."""
