"""The nodes of the double of ComfyUI: their inputs, and what each does in place of a computation."""

from __future__ import annotations

import hashlib
import struct
import time
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

STEP_S = 0.02  # of 64 x 64 pixels; the others in proportion
CHECKPOINT_S = 0.3

LINK = "LINK"
NODES: dict[str, tuple[bool, dict[str, Any]]] = {
    "CheckpointLoaderSimple": (False, {"ckpt_name": str}),
    "CLIPTextEncode": (False, {"text": str, "clip": LINK}),
    "EmptyLatentImage": (False, {"width": (16, 16384), "height": (16, 16384), "batch_size": (1, 4096)}),
    "KSampler": (
        False,
        {
            **{"model": LINK, "positive": LINK, "negative": LINK, "latent_image": LINK, "seed": (0, 1 << 64)},
            **{
                "steps": (1, 10000),
                "cfg": (0, 100),
                "sampler_name": str,
                "scheduler": str,
                "denoise": (0, 1),
            },
        },
    ),
    "VAEDecode": (False, {"samples": LINK, "vae": LINK}),
    "VAEEncode": (False, {"pixels": LINK, "vae": LINK}),
    "ImageScale": (
        False,
        {"image": LINK, "upscale_method": str, "width": (0, 16384), "height": (0, 16384), "crop": str},
    ),
    "LoadImage": (False, {"image": str}),
    "SaveImage": (True, {"images": LINK, "filename_prefix": str}),
    "FailWithoutMemory": (False, {"images": LINK}),
}
"""The classes of nodes: whether one is an output, and its inputs: links, texts, or bounds of numbers."""


class Interrupted(Exception):
    """Raised between two steps of an interrupted prompt."""


def png(width: int, height: int, colour: bytes) -> bytes:
    """A PNG of one colour."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    rows = zlib.compress((b"\0" + colour * width) * height)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", rows) + chunk(b"IEND", b"")


class NodeRunner:
    """Runs the nodes of one server. The result of a node with an image is [width, height, batch, colour]."""

    def __init__(self, input_folder: Path, output_folder: Path) -> None:
        self.input_folder = input_folder
        self.output_folder = output_folder
        self.interrupted = False
        self.loaded: set[str] = set()

    def run(
        self,
        content: Any,
        given: Callable[[str], Any],
        signature: str,
        send_step: Callable[[int, int], None],
    ) -> Any:
        """Compute a node; `given` returns the result that an input is linked to.

        `send_step` is called after each step of a sampler.
        """
        kind, inputs = content["class_type"], content["inputs"]
        functions: dict[str, Callable[[], Any]] = {
            "CheckpointLoaderSimple": lambda: self._load_checkpoint(inputs["ckpt_name"]),
            "EmptyLatentImage": lambda: [inputs["width"], inputs["height"], inputs["batch_size"], "000000"],
            "LoadImage": lambda: self._load_image(inputs["image"]),
            "ImageScale": lambda: [inputs["width"], inputs["height"], *given("image")[2:]],
            "VAEEncode": lambda: given("pixels"),
            "VAEDecode": lambda: given("samples"),
            "KSampler": lambda: self._sample(inputs["steps"], given("latent_image"), signature, send_step),
            "SaveImage": lambda: self._save(given("images"), inputs["filename_prefix"]),
            "FailWithoutMemory": self._fail,
        }
        return functions.get(kind, lambda: True)()

    def _fail(self) -> None:
        raise MemoryError

    def _load_checkpoint(self, name: str) -> str:
        if name not in self.loaded:
            time.sleep(CHECKPOINT_S)  # silence
            self.loaded.add(name)
        return name

    def _load_image(self, name: str) -> Any:
        data = (self.input_folder / name).read_bytes()
        return [*struct.unpack(">II", data[16:24]), 1, hashlib.sha256(data).hexdigest()[:6]]

    def _sample(self, steps: int, latent: Any, signature: str, send_step: Callable[[int, int], None]) -> Any:
        width, height, batch, _ = latent
        for step in range(steps):
            if self.interrupted:
                raise Interrupted
            time.sleep(STEP_S * width * height * batch / 4096)
            send_step(step + 1, steps)
        if self.interrupted:
            raise Interrupted
        return [width, height, batch, signature[:6]]

    def _save(self, image: Any, prefix: str) -> Any:
        width, height, batch, colour = image
        images = []
        for number in range(1, batch + 1):
            name = f"{prefix}_{number:05}_.png"
            (self.output_folder / name).write_bytes(png(width, height, bytes.fromhex(colour)))
            images.append({"filename": name, "subfolder": "", "type": "output"})
        return {"images": images}
