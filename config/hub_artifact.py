"""Models on a Hugging Face hub, as `model_path` names them.

`hf://org/name`, with `@revision` (a branch, a tag or a commit) and `/file` where they are needed, as
Hugging Face's own file system writes it: `hf://org/name@v1/model-Q4_K_M.gguf`. Backends that take the ids of
a hub also take `org/name` alone.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

SCHEME = "hf://"
DEFAULT_REVISION = "main"

_PART = r"[A-Za-z0-9_](?:[A-Za-z0-9._-]{0,94}[A-Za-z0-9_])?"
REPOSITORY = re.compile(rf"{_PART}(?:/{_PART})?", re.ASCII)
_REVISION = r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}"
_URL = re.compile(
    rf"hf://(?P<repository>{_PART}/{_PART})(?:@(?P<revision>{_REVISION}))?(?:/(?P<file>[^/\x00-\x1f][^\x00-\x1f]*))?",
    re.ASCII,
)
WEIGHT_SUFFIXES = (".gguf", ".safetensors", ".bin", ".pt", ".pth")
COMMIT = re.compile(r"[0-9a-f]{40}")


@dataclass(frozen=True, slots=True)
class HubArtifact:
    """A repository of a hub at a revision, and the file of it that is the model; None: all of its files."""

    repository: str
    revision: str = DEFAULT_REVISION
    file: str | None = None

    def __str__(self) -> str:
        """The artifact as `parse` reads it."""
        revision = "" if self.revision == DEFAULT_REVISION else f"@{self.revision}"
        file = "" if self.file is None else f"/{self.file}"
        return f"{SCHEME}{self.repository}{revision}{file}"

    @property
    def is_pinned(self) -> bool:
        """Whether the revision is a commit, so that the files can never change."""
        return COMMIT.fullmatch(self.revision) is not None


def is_weight_file(path: str) -> bool:
    """Whether a path names a file with weights, so that without `hf://` it is no repository of a hub."""
    return path.lower().endswith(WEIGHT_SUFFIXES)


def parse(path: str | None, *, takes_ids: bool = False) -> HubArtifact | None:
    """The artifact that a `model_path` names; None for a path of files.

    With `takes_ids`, a value without a scheme that is no absolute path or file is a repository's id. Raises
    `ValueError` for a malformed `hf://` path.
    """
    if path is None:
        return None
    if path.startswith(SCHEME):
        match = _URL.fullmatch(path)
        if match is None or ".." in path:
            raise ValueError(
                f"{path} is not a path on a hub: write hf://org/name, hf://org/name@revision or "
                "hf://org/name@revision/file.gguf"
            )
        return HubArtifact(match["repository"], match["revision"] or DEFAULT_REVISION, match["file"])
    if (
        takes_ids
        and not path.startswith("/")
        and not is_weight_file(path)
        and REPOSITORY.fullmatch(path)
        and ".." not in path
    ):
        return HubArtifact(path)
    return None
