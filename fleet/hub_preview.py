"""Reads what a model on a hub is without downloading it: its configuration and the headers of its weights.

`preview` runs this module as a process of its own (`python -m fleet.hub_preview`), since the library of the
hub is heavy and the hub may be slow. It fills a temporary folder with the files of the repository, of which
only the beginnings have content: `fleet.artifacts` reads them like those of a model that is there.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from config.hub_artifact import HubArtifact, parse
from config.settings import ROOT
from fleet.hub_cache import parts
from fleet.hub_environment import hub_environment
from fleet.hub_listing import HubFailed, RemoteFile, attempt, bound_memory, list_repository

TIMEOUT_S = 30.0
MAX_AT_ONCE = 2
"""Previews of one process at a time; each costs a process and a thread that waits. Others are refused."""

MIB = 1024 * 1024
MAX_TEXT_BYTES = 16 * MIB
SAFETENSORS_BYTES = 2 * MIB
GGUF_BYTES = 24 * MIB
"""The headers: the names of all tensors; of a GGUF file with its vocabulary."""

MAX_GGUF_HEADERS = 4
MAX_BYTES = 1024 * MIB
"""Of all headers together: those of 500 parts."""

TEXTS = ("config.json", "model.safetensors.index.json")
HEADERS = {".safetensors": SAFETENSORS_BYTES, ".gguf": GGUF_BYTES, ".bin": 4096}

_slots = threading.BoundedSemaphore(MAX_AT_ONCE)


@dataclass(frozen=True, slots=True)
class Preview:
    """A repository at one commit: the folder with the beginnings of its files, and the digest of them all."""

    folder: Path
    commit: str
    digest: str


@contextmanager
def preview(artifact: HubArtifact, quantization: str | None = None) -> Iterator[Preview]:
    """The preview of a repository, until the block ends. Raises `HubFailed`.

    Of a repository with several GGUF files those named after `quantization` are read.
    """
    if not _slots.acquire(blocking=False):  # to wait would hold threads, which other requests need
        raise HubFailed("hub_busy", "several models on the hub are being looked at: try again in a moment")
    try:
        with tempfile.TemporaryDirectory(prefix="stoker-preview-") as folder:
            found = _run({"artifact": str(artifact), "folder": folder, "quantization": quantization})
            yield Preview(Path(folder), found["commit"], found["digest"])
    finally:
        _slots.release()


def _run(asked: Mapping[str, Any]) -> Mapping[str, Any]:
    try:
        done = subprocess.run(
            [sys.executable, "-m", "fleet.hub_preview"],
            cwd=ROOT,
            env=hub_environment(),
            input=orjson.dumps(asked),
            capture_output=True,
            timeout=TIMEOUT_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise HubFailed("hub_unreachable", f"the hub did not answer within {TIMEOUT_S:g} s") from None
    lines = done.stdout.splitlines()
    found: Mapping[str, Any] = orjson.loads(lines[-1]) if lines else {}
    if "code" in found:
        raise HubFailed(found["code"], found["message"])
    if "commit" not in found:
        raise HubFailed("hub_unreachable", f"the hub could not be asked: exit code {done.returncode}")
    return found


# ---- the process


def main() -> int:
    """Fill the folder that stdin names. Returns the exit status."""
    asked = orjson.loads(sys.stdin.buffer.read())
    bound_memory()
    artifact = parse(asked["artifact"])
    assert artifact is not None  # noqa: S101 - `preview` wrote it
    try:
        answer: Mapping[str, Any] = fill(artifact, Path(asked["folder"]), asked["quantization"])
    except HubFailed as error:
        answer = {"code": error.code, "message": str(error)}
    sys.stdout.buffer.write(orjson.dumps(answer) + b"\n")
    return 1 if "code" in answer else 0


def fill(artifact: HubArtifact, folder: Path, quantization: str | None) -> Mapping[str, str]:
    """Write the beginnings of a repository's files. Returns its commit and digest. Raises `HubFailed`."""
    commit, listed = list_repository(artifact)
    named = None if artifact.file is None else set(parts(artifact.file))
    files = [file for file in listed if "/" not in file.name and (named is None or file.name in named)]
    files = _shown(files, quantization)
    if sum(map(_bytes_of, files)) > MAX_BYTES:
        raise HubFailed("hub_refused", f"{artifact.repository} has too many files with weights")
    for file in files:
        count = _bytes_of(file)
        head = _head(artifact, commit, file, count) if count else b""
        with (folder / file.name).open("wb") as output:
            output.write(head)
            output.truncate(file.size)  # without content: no space is taken
    digest = hashlib.sha256()
    for file in sorted(listed, key=lambda each: each.name):
        digest.update(f"{file.name}\0{file.size}\0{file.digest}\0".encode())
    return {"commit": commit, "digest": digest.hexdigest()[:32]}


def _shown(files: Sequence[RemoteFile], quantization: str | None) -> list[RemoteFile]:
    """All files, of several GGUF models only those named after the quantization, if there are such."""
    models = [file for file in files if file.name.endswith(".gguf")]
    wanted = [file for file in models if quantization and _names(file.name, quantization)]
    if len(models) > 1 and wanted:
        return [file for file in files if file not in models or file in wanted[:MAX_GGUF_HEADERS]]
    if len(models) > MAX_GGUF_HEADERS:
        raise HubFailed(
            "hub_refused",
            f"the repository has {len(models)} GGUF files: choose one by `quantization` (Q4_K_M)",
        )
    return list(files)


def _names(file: str, quantization: str) -> bool:
    plain = quantization.lower().replace("-", "_")
    return plain in file.lower().replace("-", "_")


def _bytes_of(file: RemoteFile) -> int:
    """How many bytes from the beginning of a file are needed."""
    if file.name in TEXTS:
        return min(file.size, MAX_TEXT_BYTES)
    return min(file.size, HEADERS.get(Path(file.name).suffix, 0))


def _head(artifact: HubArtifact, commit: str, file: RemoteFile, count: int) -> bytes:
    from huggingface_hub import hf_hub_url  # noqa: PLC0415 - an optional library
    from huggingface_hub.utils._headers import build_hf_headers  # noqa: PLC0415
    from huggingface_hub.utils._http import get_session, hf_raise_for_status  # noqa: PLC0415

    endpoint = os.environ.get("HF_ENDPOINT")
    url = hf_hub_url(artifact.repository, file.name, revision=commit, endpoint=endpoint)
    headers = build_hf_headers() | {"Accept-Encoding": "identity", "Range": f"bytes=0-{count - 1}"}

    def once() -> bytes:
        received = b""
        with get_session().stream("GET", url, headers=headers, follow_redirects=True, timeout=10) as response:
            hf_raise_for_status(response)
            for piece in response.iter_bytes(64 * 1024):
                received += piece
                if len(received) >= count:
                    break
        return received[:count]

    result: bytes = attempt(once)
    return result


if __name__ == "__main__":
    sys.exit(main())
