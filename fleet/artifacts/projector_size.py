"""What a projector for images or audio (mmproj) takes: its inputs, and its memory.

The memory is that of its weights, and of the buffers that llama.cpp reserves for it.

llama.cpp reserves them for one image when it loads the projector (tools/mtmd/clip.cpp, `warmup`). A larger
image in a request takes more.
"""

from __future__ import annotations

from math import isqrt
from pathlib import Path

from fleet.artifacts.gguf_header import GgufHeader, read_gguf_header

WARMUP_TOKENS = {
    "pixtral": 16 * 16,
    **dict.fromkeys(("qwen2vl_merger", "qwen2.5vl_merger", "qwen3vl_merger"), 46 * 46),
}
"""The tokens of the image for which the buffers of a projector for images of any size are reserved, by its
type (clip.cpp, `set_warmup_n_tokens`). The images of other types all have the size in the header."""


ENCODERS = {"image": "clip.has_vision_encoder", "audio": "clip.has_audio_encoder"}


def projector_inputs(path: Path) -> tuple[str, ...]:
    """The input types of a projector: image, audio. Raises `UnusableArtifact`, `OSError`."""
    settings = read_gguf_header(path).settings
    return tuple(kind for kind, name in ENCODERS.items() if settings.get(name) == 1) or ("image",)


def projector_bytes(path: Path) -> int:
    """The memory of a projector. Raises `UnusableArtifact`, `OSError`."""
    header = read_gguf_header(path)
    return sum(tensor.bytes for tensor in header.tensors) + _buffer_bytes(header)


def _buffer_bytes(header: GgufHeader) -> int:
    """The buffers, in 32-bit numbers: of the image and its patches as rows (in 16 bits), or of a layer.

    A layer has the hidden numbers of each patch three times (gate, up and their product), and its width
    twice. It reuses the place of the image, unless its parts are larger than the image.
    """
    patch, merge = _number(header, "patch_size"), _number(header, "spatial_merge_size") or 1
    kind = str(
        header.settings.get("clip.vision.projector_type") or header.settings.get("clip.projector_type")
    )
    tokens = WARMUP_TOKENS.get(kind)
    side = _number(header, "image_size") if tokens is None else isqrt(tokens) * patch * merge
    if not patch:
        return 0
    patches, image = (side // patch) ** 2, 4 * 3 * side**2
    hidden = 4 * patches * _number(header, "feed_forward_length")
    width = 4 * patches * _number(header, "embedding_length")
    return max(image * 3 // 2, 3 * hidden + max(2 * width, image if hidden > image else 0))


def _number(header: GgufHeader, name: str) -> int:
    value = header.settings.get(f"clip.vision.{name}")
    return value if isinstance(value, int) and 0 < value < 1 << 20 else 0
