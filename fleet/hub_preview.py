"""Reads what a model on a hub is without downloading it: its configuration and the headers of its weights.

`preview` runs this module as a process of its own. It fills a temporary folder with the files of the model
that it chose in the repository, of which only the beginnings have content: `fleet.artifacts` reads them like
those of a model that is there.
"""

from __future__ import annotations

import hashlib
import os
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from config.hub_artifact import HubArtifact, parse
from fleet.adding.choice import Room
from fleet.adding.repository_choice import NO_CHOICE, RepositoryChoice, choose_files
from fleet.artifacts.errors import UnusableArtifact
from fleet.artifacts.gguf_header import read_gguf_header
from fleet.hub_listing import HubFailed, RemoteFile, attempt, list_repository
from fleet.hub_process import ask, hub_turn, serve

MIB = 1024 * 1024
MAX_TEXT_BYTES = 16 * MIB
SAFETENSORS_BYTES = 2 * MIB
GGUF_BYTES = 24 * MIB
"""The headers: the names of all tensors; of a GGUF file with its vocabulary."""

FIRST_BYTES = MIB
"""So many bytes of a GGUF file are enough for some headers; others are read on until they are complete."""

MAX_HEADS, MAX_BYTES = 500, 1024 * MIB
"""Of all headers together, and their bytes: those of 500 parts."""

TEXTS = ("config.json", "model.safetensors.index.json", "tokenizer_config.json", "chat_template.jinja")
HEADERS = {".safetensors": SAFETENSORS_BYTES, ".gguf": GGUF_BYTES, ".bin": 4096}


@dataclass(frozen=True, slots=True)
class Wanted:
    """What of a repository is looked at.

    `quantization` is the one that was asked for. With `decides`, one model is chosen in any case, with regard
    to the `room` in memory; without, several are shown where that does not decide.
    """

    artifact: HubArtifact
    quantization: str | None = None
    decides: bool = False
    room: Room | None = None


@dataclass(frozen=True, slots=True)
class Preview:
    """A repository at one commit: the folder with the beginnings of its files, and the digest of them all.

    `files` are all files of the repository, `choice` what was chosen of them.
    """

    folder: Path
    commit: str
    digest: str
    files: tuple[RemoteFile, ...] = ()
    choice: RepositoryChoice = NO_CHOICE


@contextmanager
def preview(wanted: Wanted) -> Iterator[Preview]:
    """The preview of a repository, until the block ends. Raises `HubFailed`."""
    with hub_turn(), tempfile.TemporaryDirectory(prefix="stoker-preview-") as folder:
        room = None if wanted.room is None else asdict(wanted.room)
        found = ask(
            "fleet.hub_preview",
            {
                "artifact": str(wanted.artifact),
                "quantization": wanted.quantization,
                "decides": wanted.decides,
                "room": room,
                "folder": folder,
            },
        )
        files = tuple(RemoteFile(*file) for file in found["files"])
        yield Preview(
            Path(folder), found["commit"], found["digest"], files, RepositoryChoice(**found["choice"])
        )


# ---- the process


def main() -> int:
    """Fill the folder that stdin names. Returns the exit status."""
    return serve(answer)


def answer(asked: Mapping[str, Any]) -> Mapping[str, Any]:
    """Fill the folder of a question of `preview`. Raises `HubFailed`."""
    artifact = parse(asked["artifact"])
    assert artifact is not None  # noqa: S101 - `preview` wrote it
    room = None if asked["room"] is None else Room(**asked["room"])
    return fill(Wanted(artifact, asked["quantization"], asked["decides"], room), Path(asked["folder"]))


def fill(wanted: Wanted, folder: Path) -> Mapping[str, Any]:
    """Write the beginnings of a model's files. Returns what `Preview` has. Raises `HubFailed`."""
    artifact = wanted.artifact
    commit, listed = list_repository(artifact)
    choice = choose_files(artifact, listed, wanted.quantization, decides=wanted.decides, room=wanted.room)
    files = [
        file
        for file in listed
        if file.name in {*choice.names, *filter(None, (choice.projector, choice.draft))}
    ]
    if len(files) > MAX_HEADS or sum(map(_bytes_of, files)) > MAX_BYTES:
        raise HubFailed("hub_refused", f"{artifact.repository} has too many files with weights")
    for file in files:
        place = folder / file.name
        place.parent.mkdir(parents=True, exist_ok=True)
        _write_head(artifact, commit, file, place)
        with place.open("ab") as output:
            output.truncate(file.size)  # without content: no space is taken
    digest = hashlib.sha256()
    for file in sorted(listed, key=lambda each: each.name):
        digest.update(f"{file.name}\0{file.size}\0{file.digest}\0".encode())
    return {
        "commit": commit,
        "digest": digest.hexdigest()[:32],
        "files": [[file.name, file.size, file.digest] for file in listed],
        "choice": asdict(choice),
    }


def _bytes_of(file: RemoteFile) -> int:
    """How many bytes from the beginning of a file are needed at most."""
    if file.name in TEXTS:
        return min(file.size, MAX_TEXT_BYTES)
    return min(file.size, HEADERS.get(Path(file.name).suffix.lower(), 0))


def _write_head(artifact: HubArtifact, commit: str, file: RemoteFile, place: Path) -> None:
    """Write the beginning of a file; of a GGUF file until its header can be read."""
    count = _bytes_of(file)

    def is_enough(received: bytes) -> bool:
        if not file.name.lower().endswith(".gguf"):
            return False
        place.write_bytes(received)
        try:
            return read_gguf_header(place).end > 0
        except (UnusableArtifact, OSError):
            return False

    place.write_bytes(_head(artifact, commit, file, count, is_enough) if count else b"")


def _head(
    artifact: HubArtifact, commit: str, file: RemoteFile, count: int, is_enough: Callable[[bytes], bool]
) -> bytes:
    from huggingface_hub import hf_hub_url  # noqa: PLC0415 - an optional library
    from huggingface_hub.utils._headers import build_hf_headers  # noqa: PLC0415
    from huggingface_hub.utils._http import get_session, hf_raise_for_status  # noqa: PLC0415

    endpoint = os.environ.get("HF_ENDPOINT")
    url = hf_hub_url(artifact.repository, file.name, revision=commit, endpoint=endpoint)
    headers = build_hf_headers() | {"Accept-Encoding": "identity", "Range": f"bytes=0-{count - 1}"}

    def once() -> bytes:
        received, checked_at = bytearray(), FIRST_BYTES
        with get_session().stream("GET", url, headers=headers, follow_redirects=True, timeout=10) as response:
            hf_raise_for_status(response)
            for piece in response.iter_bytes(64 * 1024):
                received += piece
                if len(received) >= count:
                    break
                if len(received) >= checked_at:
                    if is_enough(bytes(received)):
                        break
                    checked_at *= 2
        return bytes(received[:count])

    result: bytes = attempt(once)
    return result


if __name__ == "__main__":
    sys.exit(main())
