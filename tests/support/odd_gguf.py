"""Writes GGUF files that cannot be loaded, or that are easily loaded wrongly, each from a tiny model.

`FAULTS` and `SOUND` have their makers by name: each gets a folder, and returns the path that a model names.
`ENDLESS` are chat templates.
"""

from __future__ import annotations

import shutil
import struct
from array import array
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from tests.backends.llama_cpp import tiny_gguf
from tests.checkpoints import gguf_file
from tests.checkpoints.gguf_file import GgufFile, Tensor

TEMPLATE = "tokenizer.chat_template"
NEEDS_ARGUMENT = "{% if not mode is defined %}{{ raise_exception('mode must be set') }}{% endif %}"

_TEXTS = "{% for m in messages %}{{ m.content }}{% endfor %}"
_SQUARE = "{% for i in range(60000) %}{% for j in range(60000) %}{% endfor %}{% endfor %}"
ENDLESS: Mapping[str, str] = {
    name: beginning + _TEXTS
    for name, beginning in {
        "a loop over a billion numbers": "{% for i in range(1000000000) %}{% endfor %}",
        "a loop in a loop": _SQUARE,
        "gigabytes from loops": _SQUARE.replace("%}{% endfor %}{%", "%}" + "x" * 99 + "{% endfor %}{%"),
        "a text that doubles": "{% set n = namespace(x='x' ~ messages[0].content) %}"
        "{% for i in range(40) %}{% set n.x = n.x ~ n.x %}{% endfor %}{{ n.x }}",
        "a macro that calls itself twice": "{% macro f(n) %}{% if n > 0 %}{{ f(n - 1) }}{{ f(n - 1) }}"
        "{% endif %}{% endmacro %}{{ f(60) }}",
        "a text ten billion times": "{{ 'x' * 10000000000 }}",
        "a number with a billion digits": "{{ (10 ** (10 ** 9)) % 7 }}",
        "a wide text": "{{ messages[0].content | center(10000000000) }}",
    }.items()
}
"""Chat templates that never end or fill the memory, with any messages."""

ENDLESS_FOR_MANY = "{% if messages|length > 7 %}" + _SQUARE + "{% endif %}" + _TEXTS
"""One that never ends with more than seven messages."""


def plain(folder: Path, architecture: str = "qwen3", name: str = "odd.gguf") -> Path:
    """A model without faults."""
    return tiny_gguf.write(folder / name, architecture)


def changed(
    folder: Path,
    settings: Mapping[str, Any] | None = None,
    without: tuple[str, ...] = (),
    name: str = "odd.gguf",
) -> Path:
    """A model with other settings, and without the settings and tensors whose names begin with `without`."""
    path = plain(folder, name=name)
    file = gguf_file.read(path)
    kept = {key: value for key, value in file.settings.items() if not key.startswith(without or "\0")}
    tensors = {key: value for key, value in file.tensors.items() if not key.startswith(without or "\0")}
    path.write_bytes(gguf_file.encode(GgufFile({**kept, **(settings or {})}, tensors)))
    return path


def further_file(path: Path, kind: str) -> Path:
    """A file whose header says that it is an adapter or mmproj; it has one tensor."""
    tensor = Tensor((2, 32), array("f", [0.0] * 64))
    path.write_bytes(gguf_file.encode(GgufFile({"general.type": kind}, {"a": tensor})))
    return path


def with_template(template: str) -> Callable[[Path], Path]:
    """The maker of a model with this chat template."""
    return lambda folder: changed(folder, {TEMPLATE: template})


def with_bytes(data: bytes) -> Callable[[Path], Path]:
    """The maker of a file with this content, which is no model."""

    def make(folder: Path) -> Path:
        (folder / "odd.gguf").write_bytes(data)
        return folder / "odd.gguf"

    return make


def edited(edit: Callable[[bytes], bytes]) -> Callable[[Path], Path]:
    """The maker of a model whose bytes are changed."""

    def make(folder: Path) -> Path:
        path = plain(folder)
        path.write_bytes(edit(path.read_bytes()))
        return path

    return make


def part(folder: Path, number: int, count: int, name: str) -> Path:
    """Part `number`, from 1, of a model in `count` parts; each part has some of the tensors."""
    whole = gguf_file.read(plain(folder, name="whole.gguf"))
    names = sorted(whole.tensors)[number - 1 :: count]
    settings = {"split.no": number - 1, "split.count": count, "split.tensors.count": len(whole.tensors)}
    tensors = {name: whole.tensors[name] for name in names}
    path = folder / name
    path.write_bytes(
        gguf_file.encode(replace(whole, settings={**whole.settings, **settings}, tensors=tensors))
    )
    return path


def without_a_part(folder: Path) -> Path:
    """The first of three parts, beside the third."""
    part(folder, 3, 3, "odd-00003-of-00003.gguf")
    return part(folder, 1, 3, "odd-00001-of-00003.gguf")


def with_a_short_part(folder: Path) -> Path:
    """The first of two parts, of which the second is cut."""
    second = part(folder, 2, 2, "odd-00002-of-00002.gguf")
    second.write_bytes(second.read_bytes()[:-100])
    return part(folder, 1, 2, "odd-00001-of-00002.gguf")


def joined_parts(folder: Path) -> Path:
    """Two parts in one file, one behind the other."""
    parts = [part(folder, at, 2, f"part{at}") for at in (1, 2)]
    (folder / "odd.gguf").write_bytes(b"".join(each.read_bytes() for each in parts))
    return folder / "odd.gguf"


def linked(target: str) -> Callable[[Path], Path]:
    """The maker of a link to `target`."""

    def make(folder: Path) -> Path:
        (folder / "odd.gguf").symlink_to(target)
        return folder / "odd.gguf"

    return make


def folder_of_models(folder: Path) -> Path:
    """A folder with a model in it."""
    plain(folder, name="inside.gguf")
    return folder


def with_strange_name(folder: Path) -> Path:
    """A model whose path has spaces and letters beyond ASCII."""
    inner = folder / "a folder" / "\u00fcn\u00ef \u6a21\u578b"
    inner.mkdir(parents=True)
    return Path(shutil.copy(plain(folder), inner / "my, model (v1) 100%.gguf"))


def _big_endian(data: bytes) -> bytes:
    return data[:4] + struct.pack(">I", 3) + data[8:]


FAULTS: Mapping[str, tuple[Callable[[Path], Path], str]] = {
    "an empty file": (with_bytes(b""), "odd.gguf is empty: download it again"),
    "a text": (with_bytes(b"hello"), "odd.gguf is not a GGUF file: correct model_path"),
    "a pointer of Git LFS": (
        with_bytes(b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 4683073184\n"),
        "odd.gguf is a pointer of Git LFS, not the file itself: run `git lfs pull`",
    ),
    "a web page": (with_bytes(b"<!DOCTYPE html><html>"), "odd.gguf is a web page, not a model"),
    "a zip archive": (
        with_bytes(b"PK\x03\x04 and more"),
        "odd.gguf is a zip archive or",
    ),
    "a safetensors file": (
        with_bytes(struct.pack("<Q", 40) + b'{"a": {"dtype": "F32"}}'),
        "odd.gguf is a safetensors file, not a GGUF file",
    ),
    "the older format": (edited(lambda data: b"ggjt" + data[4:]), "used before GGUF"),
    "magic only": (with_bytes(b"GGUF"), "damaged or incomplete (the header in its 4 bytes is incomplete)"),
    "half of a header": (edited(lambda data: data[:300]), "the header in its 300 bytes is incomplete"),
    "a huge count": (
        edited(lambda data: data[:8] + struct.pack("<QQ", 1 << 60, 1 << 60) + data[24:]),
        "its header has 1152921504606846976 tensors",
    ),
    "half of the tensors": (
        edited(lambda data: data[: len(data) * 2 // 3]),
        "odd.gguf is incomplete: it has",
    ),
    "one byte less": (edited(lambda data: data[:-33]), "odd.gguf is incomplete"),
    "a newer version": (
        edited(lambda data: data[:4] + struct.pack("<I", 99) + data[8:]),
        "has GGUF version 99, and this llama.cpp reads up to 3",
    ),
    "the first version": (
        edited(lambda data: data[:4] + struct.pack("<I", 1) + data[8:]),
        "odd.gguf has GGUF version 1, which llama.cpp does not read any more",
    ),
    "big-endian": (edited(_big_endian), "odd.gguf is in big-endian byte order"),
    "a missing part": (without_a_part, "odd-00002-of-00003.gguf is missing, of the 3 parts of the model"),
    "a short part": (with_a_short_part, "odd-00002-of-00002.gguf, a part of the model, is damaged"),
    "the second part": (
        lambda folder: part(folder, 2, 3, "odd-00002-of-00003.gguf"),
        "odd-00002-of-00003.gguf is part 2 of the 3 files of a model: model_path must name the first one,"
        " odd-00001-of-00003.gguf",
    ),
    "a renamed part": (
        lambda folder: part(folder, 1, 2, "odd.gguf"),
        "odd.gguf is the first of 2 parts of a model and was renamed",
    ),
    "joined parts": (joined_parts, "odd.gguf is 2 parts of a model joined to one file"),
    "a folder": (folder_of_models, "is a folder: name a file in it (inside.gguf)"),
    "a broken link": (linked("/nonexistent/x.gguf"), "odd.gguf is a link to /nonexistent/x.gguf, which does"),
    "a link to itself": (linked("odd.gguf"), "odd.gguf is a link that leads to itself"),
    "no file": (lambda folder: folder / "odd.gguf", "odd.gguf does not exist: put the file there"),
    "a vocabulary only": (
        lambda folder: changed(folder, without=("blk.", "output", "token_embd")),
        "odd.gguf has no weights, only a vocabulary",
    ),
    "a projector": (
        lambda folder: changed(folder, {"general.architecture": "clip"}),
        "odd.gguf is a projector for images (mmproj), not a model",
    ),
    "a LoRA adapter": (
        lambda folder: changed(folder, {"general.type": "adapter"}),
        "odd.gguf is a LoRA adapter, not a model",
    ),
    "an encoder": (
        lambda folder: plain(folder, "bert"),
        "odd.gguf is an encoder (bert), which",
    ),
    "a missing tensor": (
        lambda folder: changed(folder, without=("blk.1.attn_q.weight",)),
        "does not contain the tensor blk.1.attn_q.weight: use another conversion of the model (llama.cpp: ",
    ),
    "an unknown architecture": (
        lambda folder: changed(folder, {"general.architecture": "quux9"}),
        "(quux9): ",
    ),
    "an unknown tokenizer": (
        lambda folder: changed(folder, {"tokenizer.ggml.pre": "some-new-pre"}),
        "(some-new-pre): ",
    ),
    "no vocabulary": (
        lambda folder: changed(folder, without=("tokenizer.",)),
        "does not have the setting tokenizer.ggml.model, which llama.cpp needs",
    ),
    "no context": (
        lambda folder: changed(folder, without=("qwen3.context_length",)),
        "key not found in model: qwen3.context_length)",
    ),
    "other shapes": (
        lambda folder: changed(folder, {"qwen3.feed_forward_length": 96}),
        "another shape than llama.cpp expects",
    ),
    "an invalid template": (
        with_template("{% for m in messages %}{{ m.content "),
        "the chat template in the model's file cannot be read",
    ),
    "an unknown filter": (with_template("{{ messages[0].content | frobnicate }}"), "frobnicate"),
}
"""Files that no backend can load: how each is made, and a part of the sentence that says why."""

SOUND: Mapping[str, Callable[[Path], Path]] = {
    "no template": lambda folder: changed(folder, without=(TEMPLATE,)),
    "a blank template": with_template(" \n"),
    "a template that begins with a byte order mark": with_template("\ufeff{{ messages[0].content }}"),
    "a strange name": with_strange_name,
    "bytes behind the tensors": edited(lambda data: data + bytes(4096)),
    "a small context": lambda folder: changed(folder, {"qwen3.context_length": 64}),
    "an enormous context": lambda folder: changed(folder, {"qwen3.context_length": 1 << 30}),
    "no end token": lambda folder: changed(folder, without=("tokenizer.ggml.eos_token_id",)),
    "an end token beyond the vocabulary": lambda folder: changed(
        folder, {"tokenizer.ggml.eos_token_id": 999_999}
    ),
    "a strange description": lambda folder: changed(folder, {"general.name": "na\x1b[31mme\nwith\u202e odd"}),
}
"""Files that look odd and can be loaded."""
