"""Models in files of this machine, for a platform that runs on it.

The platform reads models below `model_base_path`, and below `models` in its data folder. For files elsewhere
a folder with symbolic links is made there: nothing is copied.
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

from config.settings import Settings
from fleet.hub_cache import SHARD, parts
from stoker.client import ApiClientError
from stoker.data_folder import read_run

LINKS = "models"
"""The folder of the links, in the data folder."""

COMPANIONS = ("mmproj", "mtp", "draft")
"""Words in the names of files that belong to a model beside them: a projector for images, a draft."""

MAX_NAMES = 1000


@dataclass(frozen=True)
class LocalSource:
    """A source as the API takes it. `made` is the folder of links that was made for it, None without."""

    source: str
    made: Path | None = None

    def drop(self) -> None:
        """Remove the links again, as no model was added."""
        if self.made is not None:
            shutil.rmtree(self.made, ignore_errors=True)


def local_source(text: str, settings: Settings, url: str) -> LocalSource:
    """Return the source for what a person wrote; a path that exists here is linked if need be.

    `url` is the address of the API that is asked. Raises `ApiClientError` if the files are out of its reach.
    """
    plain, colon, quantization = text.rpartition(":")
    for path, suffix in ((Path(text), ""), (Path(plain), f"{colon}{quantization}")):
        if str(path) != "." and "://" not in text and path.expanduser().exists():
            return _of_path(path.expanduser().absolute(), suffix, settings, url)
    return LocalSource(text)


def _of_path(path: Path, suffix: str, settings: Settings, url: str) -> LocalSource:
    links = settings.data_dir.absolute() / LINKS
    for folder in (settings.model_base_path, links):
        if folder is not None and path.resolve().is_relative_to(folder.resolve()):
            return LocalSource(f"{path}{suffix}")
    if read_run(settings.data_dir).get("url") != url:
        where = f", {settings.model_base_path}" if settings.model_base_path else ""
        raise ApiClientError(
            f"{path} is out of the reach of the platform at {url}, whose data folder is not on this machine: "
            f"put the files below its model_base_path{where}"
        )
    try:
        return _linked(path, suffix, links)
    except OSError as error:
        raise ApiClientError(f"{links} cannot have a link to {path}: {error.strerror}") from error


def _linked(path: Path, suffix: str, links: Path) -> LocalSource:
    """Make a folder of links to a file with what belongs to it, or to a folder; or find an earlier one."""
    match = SHARD.fullmatch(path.name)
    stem = match["stem"].rstrip("-") if match else path.stem if path.is_file() else path.name
    for number in range(1, MAX_NAMES):
        folder = links / (stem if number == 1 else f"{stem}-{number}")
        link = folder / path.name
        if link.is_symlink() and link.readlink() == path:
            return LocalSource(f"{link}{suffix}")
        if not folder.exists():
            break
    folder.mkdir(parents=True)
    for file in _files(path):
        (folder / file.name).symlink_to(file)
    return LocalSource(f"{link}{suffix}", folder)


def _files(path: Path) -> list[Path]:
    """The file or folder, its other parts, and the files beside it that belong to it."""
    if not path.is_file() or path.suffix.lower() != ".gguf":
        return [path]
    own = [path.with_name(name) for name in parts(path.name)]
    beside = [
        file
        for file in sorted(path.parent.glob("*.gguf"))
        if file not in own and any(word in file.name.lower() for word in COMPANIONS)
    ]
    return [file for file in own if file.exists()] + beside
