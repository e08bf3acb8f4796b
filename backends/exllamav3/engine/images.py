"""Images as a model sees them: embeddings in place of tokens, made by its vision part."""

from __future__ import annotations

import hashlib
import io
from base64 import b64decode
from collections import OrderedDict
from importlib import import_module
from typing import Any

KEPT = 32
"""Embeddings that are kept, the last used. The same image has the same tokens then, so that a conversation
that goes on finds what it began with in the cache."""


class ImageError(ValueError):
    """Raised when an image cannot be read."""


class Images:
    """One model's; `vision` is its component of that name."""

    def __init__(self, vision: Any, tokenizer: Any) -> None:
        self._vision = vision
        self._tokenizer = tokenizer
        self._kept: OrderedDict[bytes, Any] = OrderedDict()

    def embedding(self, url: str) -> Any:
        """The embedding of a data URL; where its `text_alias` stands in a prompt, there is the image.

        Raises `ImageError`.
        """
        key = hashlib.sha256(url.encode()).digest()
        if key not in self._kept:
            self._kept[key] = self._made(_decoded(url))
            if len(self._kept) > KEPT:
                self._kept.popitem(last=False)
        self._kept.move_to_end(key)
        return self._kept[key]

    def _made(self, image: Any) -> Any:
        try:
            return self._vision.get_image_embeddings(tokenizer=self._tokenizer, image=image)
        except ValueError as error:  # each model has bounds of its own
            width, height = image.size
            sentence = f"an image of {width} x {height} pixels is too small or too narrow for this model"
            raise ImageError(sentence) from error

    def placed(self, messages: list[dict[str, Any]]) -> tuple[list[dict[str, Any]], list[Any]]:
        """The messages with text in place of images, and what that text stands for. Raises `ImageError`."""
        found: dict[str, Any] = {}
        told = []
        for message in messages:
            content = message.get("content")
            if isinstance(content, list) and any(part["type"] == "image_url" for part in content):
                message = {**message, "content": "".join(self._text(part, found) for part in content)}  # noqa: PLW2901 - what it has become
            told.append(message)
        return told, list(found.values())

    def _text(self, part: dict[str, Any], found: dict[str, Any]) -> str:
        if part["type"] != "image_url":
            return str(part["text"])
        embedding = self.embedding(part["image_url"]["url"])
        found[embedding.text_alias] = embedding
        return str(embedding.text_alias)


def _decoded(url: str) -> Any:
    """A picture of Pillow's from a data URL. Raises `ImageError`."""
    pillow: Any = import_module("PIL.Image")
    try:
        with pillow.open(io.BytesIO(b64decode(url.partition(",")[2]))) as image:
            return image.convert("RGB")
    except (OSError, ValueError, pillow.DecompressionBombError) as error:
        raise ImageError(f"an image cannot be read: {type(error).__name__}") from error
