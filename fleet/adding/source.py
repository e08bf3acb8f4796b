"""Parses the source of a model: what people write, or copy from a page of a hub.

- `owner/name`, `owner/name:Q4_K_M`, `owner/name@revision`: a repository of a hub, or a path below the folders
  of models, whichever there is
- `hf://owner/name`, with `@revision`, `/file` or `:QUANTIZATION`
- `https://huggingface.co/owner/name`, also with `/tree/<revision>`, `/blob/<revision>/<file>` or
  `/resolve/<revision>/<file>`; the hub may be the one that HF_ENDPOINT names
- a path of a file or folder
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from urllib.parse import unquote, urlsplit

from config.hub_artifact import DEFAULT_REVISION, SCHEME, HubArtifact, is_weight_file
from fleet.adding.errors import InvalidAddition
from fleet.hub_cache import REVISION, is_repository

MAX_SOURCE = 1024
MAX_DEPTH = 16
QUANTIZATION = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}", re.ASCII)
LATEST = "latest"
"""The tag that Ollama's names have where no quantization is named."""

HUB_HOSTS = ("huggingface.co", "www.huggingface.co", "hf.co")
PICKLES = (".bin", ".pt", ".pth", ".pkl", ".pickle", ".ckpt")
FORMS = "owner/name, owner/name:Q4_K_M, hf://owner/name/file.gguf, the address of a hub's page, or a path"


@dataclass(frozen=True, slots=True)
class Source:
    """Where a model is: on a hub (`repository`), in a folder of models (`path`), or in the one that has it.

    `file` is one of the repository's; `quantization` the label of one, as it was written. A `path` may be
    absolute.
    """

    path: str | None = None
    repository: str | None = None
    revision: str = DEFAULT_REVISION
    file: str | None = None
    quantization: str | None = None

    @property
    def artifact(self) -> HubArtifact:
        """The repository, or its file, as a path on a hub names it."""
        return HubArtifact(self.repository or "", self.revision, self.file)


def parse_source(text: str, environ: Mapping[str, str] = os.environ) -> Source:
    """The source that a text names; no file is looked for. Raises `InvalidAddition`."""
    text = text.strip()
    if not text:
        raise _refused(f"is empty: write {FORMS}")
    if len(text) > MAX_SOURCE:
        raise _refused(f"has more than {MAX_SOURCE} characters")
    if not text.isprintable() or "\\" in text:
        raise _refused("has characters that no path or address of a model has")
    if text.startswith(tuple(f"{host}/" for host in HUB_HOSTS)):
        text = f"https://{text}"  # as Ollama's names have it
    scheme, separator, _ = text.partition("://")
    if separator and f"{scheme}://" != SCHEME:
        return _of_url(text, environ)
    if text.startswith(SCHEME):
        return _of_hub_path(text.removeprefix(SCHEME))
    return _of_path(text)


def _of_path(text: str) -> Source:
    """A path, which may be a repository as well."""
    plain, quantization = _split_quantization(text)
    path = plain.removesuffix("/")
    parts = path.removeprefix("/").split("/")
    if ".." in parts or path.startswith("~"):
        raise _refused("leads out of the folders of models: name a path below model_base_path")
    parts = [part for part in parts if part not in ("", ".")]
    if not parts or len(parts) > MAX_DEPTH:
        raise _refused(f"is not the path of a model: write {FORMS}")
    clean = ("/" if path.startswith("/") else "") + "/".join(parts)
    repository, at, revision = clean.partition("@")
    source = Source(path=clean, quantization=quantization)
    if is_weight_file(clean) or not is_repository(repository):
        return source
    source = replace(source, repository=repository)
    return _with_revision(source, revision) if at else source


def _of_hub_path(text: str) -> Source:
    """What follows `hf://`."""
    plain, quantization = _split_quantization(text)
    owner, _, rest = plain.partition("/")
    name, _, file = rest.partition("/")
    name, _, revision = name.partition("@")
    source = Source(repository=_repository(f"{owner}/{name}"), quantization=quantization)
    return _with_file(_with_revision(source, revision), file)


def _of_url(text: str, environ: Mapping[str, str]) -> Source:
    try:
        url = urlsplit(text)
        host, path = url.netloc.lower(), unquote(url.path, errors="strict")
    except ValueError:
        raise _refused("is not an address") from None
    endpoint = urlsplit(environ.get("HF_ENDPOINT") or f"https://{HUB_HOSTS[0]}")
    is_endpoint = (url.scheme, host) == (endpoint.scheme, endpoint.netloc.lower())
    if not is_endpoint and not (url.scheme == "https" and host in HUB_HOSTS):
        shown = (host or url.scheme).rpartition("@")[2][:80]
        raise _refused(
            f"names {shown}: models are downloaded from {endpoint.netloc} only; put the files below"
            " model_base_path by other means, and name their path"
        )
    if not path.isprintable():
        raise _refused("has characters that no address of a model has")
    if is_endpoint:
        path = path.removeprefix(endpoint.path.rstrip("/"))
    owner, name, *rest = [*path.strip("/").split("/"), ""][: MAX_DEPTH + 5]
    rest = [part for part in rest if part]
    plain, quantization = _split_quantization(name)
    source = Source(repository=_repository(f"{owner}/{plain}"), quantization=quantization)
    if not rest:
        return source
    kind, revision, file = rest[0], "".join(rest[1:2]), "/".join(rest[2:])
    if kind not in ("tree", "blob", "resolve", "raw") or (kind == "tree" and file):
        raise _refused("is not the page of a model or of one of its files")
    return _with_file(_with_revision(source, revision), file)


def _split_quantization(text: str) -> tuple[str, str | None]:
    """A text, and the quantization after its last colon; None for `latest`."""
    plain, colon, quantization = text.rpartition(":")
    if not colon:
        return text, None
    if not QUANTIZATION.fullmatch(quantization):
        raise _refused(f"names {quantization[:40]!r}, which is not a quantization such as Q4_K_M")
    return plain, None if quantization.lower() == LATEST else quantization


def _repository(text: str) -> str:
    if not is_repository(text):
        raise _refused(f"names {text[:80]!r}, which is not a repository (owner/name)")
    return text


def _with_revision(source: Source, revision: str) -> Source:
    if revision and not REVISION.fullmatch(revision):
        raise _refused(f"names {revision[:80]!r}, which is not a branch, tag or commit")
    return replace(source, revision=revision or DEFAULT_REVISION)


def _with_file(source: Source, file: str) -> Source:
    """The source with a file of the repository. A file of safetensors stands for the whole repository."""
    parts = file.split("/")
    if not file or file.endswith((".safetensors", ".json")):
        return source
    if len(parts) > MAX_DEPTH or any(part in ("", ".", "..") for part in parts):
        raise _refused(f"names {file[:80]!r}, which is not a file of a repository")
    if file.lower().endswith(PICKLES):
        raise _refused(f"names {parts[-1][:80]}, a pickle file, which could run code: choose other weights")
    if not file.lower().endswith(".gguf"):
        raise _refused(f"names {parts[-1][:80]}, which has no weights: name the repository or a GGUF file")
    return replace(source, file=file)


def _refused(problem: str) -> InvalidAddition:
    return InvalidAddition(f"source {problem}", param="source")
