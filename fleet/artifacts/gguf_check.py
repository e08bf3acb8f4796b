"""Why a GGUF file cannot be loaded, in one sentence with the cause and what to do.

Only what is certain without llama.cpp is refused: files that are something else, incomplete ones, missing
parts. Of all others llama.cpp itself says what it does not support.
"""

from __future__ import annotations

import errno
import os
import struct
from pathlib import Path

from fleet.artifacts.errors import UnusableArtifact
from fleet.artifacts.gguf_header import MAGIC, GgufHeader, read_gguf_header
from fleet.artifacts.gguf_weights import PART

HEAD_BYTES = 512
NEWEST_VERSION = 3
MAX_NAMED = 3

OTHER_FORMATS = (
    (b"version https://git-lfs", "is a pointer of Git LFS, not the file itself: run `git lfs pull` for it"),
    (b"PK\x03\x04", "is a zip archive or a PyTorch checkpoint, not a GGUF file: unpack or convert it"),
    (b"\x1f\x8b", "is compressed with gzip: unpack it"),
    (b"(\xb5/\xfd", "is compressed with zstd: unpack it"),
    (b"\xfd7zXZ", "is compressed with xz: unpack it"),
    *(
        (name, "has the format that llama.cpp used before GGUF: use a conversion to GGUF of the same model")
        for name in (b"ggml", b"ggmf", b"ggjt", b"ggla", b"lmgg", b"fmgg", b"tjgg", b"algg")
    ),
)
"""How other files begin that are taken for models, and what to do."""


def check_gguf(path: Path, *, kind: str = "model") -> GgufHeader | None:
    """Return the header of a file with the content `kind` (model, adapter or mmproj).

    None if only llama.cpp can tell whether it reads the file's version. Raises `UnusableArtifact`.
    """
    try:
        return _checked(path, kind)
    except OSError as error:
        raise UnusableArtifact(_unreadable(path, error)) from error


def _checked(path: Path, kind: str) -> GgufHeader | None:
    if path.is_dir():
        raise UnusableArtifact(_folder(path))
    with path.open("rb") as file:
        head = file.read(HEAD_BYTES)
    size = path.stat().st_size
    if not head.startswith(MAGIC):
        raise UnusableArtifact(f"{path.name} {_other_format(head)}")
    version = int.from_bytes(head[4:8].ljust(4, b"\0"), "little")
    if len(head) >= 8:
        _check_version(path, version)
        if version > NEWEST_VERSION:
            return None
    try:
        header = read_gguf_header(path)
    except UnusableArtifact as error:
        message = error.args[0].replace("the GGUF header", "its header").replace("the file has", "it has")
        if message.startswith(path.name):
            message = f"the header in its {size} bytes is incomplete"
        raise UnusableArtifact(
            f"{path.name} is damaged or incomplete ({message}): download it again"
        ) from None
    _check_content(path, header, kind)
    _check_parts(path, header, size)
    if header.end > size:
        raise UnusableArtifact(
            f"{path.name} is incomplete: it has {size} of {header.end} bytes: download it again"
        )
    return header


def _check_version(path: Path, version: int) -> None:
    swapped = struct.unpack(">I", struct.pack("<I", version))[0]
    if 1 <= swapped <= 0xFFFF < version:
        raise UnusableArtifact(
            f"{path.name} is in big-endian byte order, which this machine cannot load: use a conversion in"
            " little-endian order"
        )
    if version == 1:
        raise UnusableArtifact(
            f"{path.name} has GGUF version 1, which llama.cpp does not read any more: use a newer"
            " conversion of the model"
        )


def _check_content(path: Path, header: GgufHeader, kind: str) -> None:
    found = str(header.settings.get("general.type", "model"))
    if header.architecture == "clip":
        found = "mmproj"
    names = {"mmproj": "a projector for images (mmproj)", "adapter": "a LoRA adapter", "model": "a model"}
    if found != kind and found in names:
        raise UnusableArtifact(
            f"{path.name} is {names[found]}, not {names[kind]}: name the file of {names[kind]}"
        )
    if found == "imatrix":
        raise UnusableArtifact(f"{path.name} is an importance matrix, not a model: name the model's file")
    if not header.tensors and header.settings.get("split.count", 1) == 1:
        raise UnusableArtifact(
            f"{path.name} has no weights, only a vocabulary: use the file with the model's weights"
        )


def _check_parts(path: Path, header: GgufHeader, size: int) -> None:
    """Check that a part of a split model is the first one, under its name, and beside all others."""
    count, number = header.settings.get("split.count", 0), header.settings.get("split.no", 0)
    if not isinstance(count, int) or not isinstance(number, int) or count <= 1:
        return
    match = PART.fullmatch(path.name)
    stem = match["stem"] if match else "NAME"
    first = f"{stem}-00001-of-{count:05}.gguf"
    if number != 0:
        raise UnusableArtifact(
            f"{path.name} is part {number + 1} of the {count} files of a model: model_path must name the"
            f" first one, {first}"
        )
    if match is None and header.end + HEAD_BYTES < size:
        raise UnusableArtifact(
            f"{path.name} is {count} parts of a model joined to one file, which llama.cpp cannot read: use"
            " the separate parts, or join them with `llama-gguf-split --merge`"
        )
    if match is None or int(match["number"]) != 1 or int(match["count"]) != count:
        raise UnusableArtifact(
            f"{path.name} is the first of {count} parts of a model and was renamed: name it {first} again,"
            " like the others"
        )
    names = [f"{stem}-{at:05}-of-{count:05}.gguf" for at in range(2, min(count, 10_000) + 1)]
    missing = [name for name in names if not path.with_name(name).is_file()]
    if missing:
        more = f" and {len(missing) - MAX_NAMED} more" if len(missing) > MAX_NAMED else ""
        raise UnusableArtifact(
            f"{', '.join(missing[:MAX_NAMED])}{more} is missing, of the {count} parts of the model: put all"
            f" parts beside {path.name}"
        )
    for name in names:
        _check_part(path.with_name(name))


def _check_part(path: Path) -> None:
    size = path.stat().st_size
    try:
        end = read_gguf_header(path).end
    except UnusableArtifact:
        end = size + 1
    if end > size:
        raise UnusableArtifact(
            f"{path.name}, a part of the model, is damaged or incomplete: download it again"
        )


def _other_format(head: bytes) -> str:
    if not head:
        return "is empty: download it again"
    for begin, sentence in OTHER_FORMATS:
        if head.startswith(begin):
            return sentence
    if head.lstrip()[:5].lower() in (b"<!doc", b"<html"):
        return "is a web page, not a model: download the file itself, perhaps after signing in"
    if head[8:9] == b"{" and head[4:8] == bytes(4):
        return "is a safetensors file, not a GGUF file: use a conversion to GGUF, or a backend for its folder"
    return "is not a GGUF file: correct model_path"


def _folder(path: Path) -> str:
    files = sorted(file.name for file in path.glob("*.gguf"))
    if not files:
        return f"{path} is a folder without GGUF files: name a GGUF file"
    more = " ..." if len(files) > MAX_NAMED else ""
    return f"{path} is a folder: name a file in it ({', '.join(files[:MAX_NAMED])}{more})"


def _unreadable(path: Path, error: OSError) -> str:
    if error.errno == errno.ELOOP:
        return f"{path} is a link that leads to itself: correct the link, or model_path"
    if error.errno in (errno.ENOENT, errno.ENOTDIR):
        if path.is_symlink():
            target = path.readlink()
            return (
                f"{path} is a link to {target}, which does not exist: put the file there, or correct the link"
            )
        return f"{path} does not exist: put the file there, or correct model_path"
    if error.errno == errno.EACCES:
        return f"{path} cannot be read (Permission denied): let the worker's user read it"
    return f"{path} cannot be read ({os.strerror(error.errno or 0)}): check the disk, or copy the file again"
