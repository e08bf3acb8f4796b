"""Image input: the embeddings of images, computed by the vision part of a model."""

from __future__ import annotations

import hashlib
import io
from base64 import b64decode
from collections import OrderedDict
from collections.abc import Collection
from importlib import import_module
from typing import Any

MAX_CACHED_IMAGES = 32
"""Embeddings in the cache, the most recently used ones. With the same embedding an image has the same tokens,
so that the next turn of a conversation finds the prompt of the previous one in the cache of the engine. Each
belongs to a cache namespace."""


class ImageError(ValueError):
    """Raised when an image cannot be read."""


class ImageEmbeddings:
    """Computes and caches the embeddings of images; `vision` is the vision component of the model."""

    def __init__(self, vision: Any, tokenizer: Any) -> None:
        self._vision = vision
        self._tokenizer = tokenizer
        self._cached: OrderedDict[tuple[str, bytes], Any] = OrderedDict()

    def embedding(self, url: str, namespace: str | None) -> Any:
        """The embedding of the image in a data URL; its `text_alias` marks the place of the image in a
        prompt. With None for the namespace it is a new one.

        Raises `ImageError`.
        """
        if namespace is None:
            return self._embed(_decoded(url))
        key = namespace, hashlib.sha256(url.encode()).digest()
        if key not in self._cached:
            self._cached[key] = self._embed(_decoded(url))
            if len(self._cached) > MAX_CACHED_IMAGES:
                self._cached.popitem(last=False)
        self._cached.move_to_end(key)
        return self._cached[key]

    def forget(self, kept: Collection[str]) -> int:
        """Forget the images of all namespaces but these. Returns how many."""
        old = [key for key in self._cached if key[0] not in kept]
        for key in old:
            del self._cached[key]
        return len(old)

    def _embed(self, image: Any) -> Any:
        try:
            return self._vision.get_image_embeddings(tokenizer=self._tokenizer, image=image)
        except ValueError as error:  # each model has its own limits
            width, height = image.size
            sentence = f"an image of {width} x {height} pixels is too small or too narrow for this model"
            raise ImageError(sentence) from error

    def replace_images(
        self, messages: list[dict[str, Any]], namespace: str | None
    ) -> tuple[list[dict[str, Any]], list[Any]]:
        """The messages with an alias in place of each image, and the embeddings. Raises `ImageError`."""
        found: dict[str, Any] = {}
        replaced = []
        for message in messages:
            content = message.get("content")
            if isinstance(content, list) and any(part["type"] != "text" for part in content):
                text = "".join(self._text(part, found, namespace) for part in content)
                message = {**message, "content": text}  # noqa: PLW2901 - the replaced one
            replaced.append(message)
        return replaced, list(found.values())

    def _text(self, part: dict[str, Any], found: dict[str, Any], namespace: str | None) -> str:
        if part["type"] == "text":
            return str(part["text"])
        if part["type"] != "image_url":
            raise ImageError("this engine accepts texts and images only")
        embedding = self.embedding(part["image_url"]["url"], namespace)
        found[embedding.text_alias] = embedding
        return str(embedding.text_alias)


def _decoded(url: str) -> Any:
    """The image in a data URL, decoded with Pillow. Raises `ImageError`."""
    pillow: Any = import_module("PIL.Image")
    try:
        with pillow.open(io.BytesIO(b64decode(url.partition(",")[2]))) as image:
            return image.convert("RGB")
    except (OSError, ValueError, pillow.DecompressionBombError) as error:
        raise ImageError(f"an image cannot be read: {type(error).__name__}") from error
