"""Models in files of this machine, for a platform that runs on it.

The platform reads models below `model_base_path`, and through links in `models` in its data folder. For files
elsewhere a link to their folder is made there: nothing is copied, and what lies beside a file (its parts,
a projector, a draft) is found.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from itertools import count
from pathlib import Path

from config.settings import Settings
from fleet.dynamic_model import link_folder
from stoker.client import ApiClientError
from stoker.data_folder import read_run

PATH_BEGINNINGS = ("/", "~", "../")
"""How a source begins that can only be a path of this machine; others may lie below `model_base_path`."""


@dataclass(frozen=True)
class LocalSource:
    """A source as the API takes it. `made` is the link that was made for it, None without."""

    source: str
    made: Path | None = None

    def drop(self) -> None:
        """Remove the link again, as no model was added."""
        if self.made is not None:
            self.made.unlink(missing_ok=True)


def local_source(text: str, settings: Settings, url: str) -> LocalSource:
    """Return the source for what a person wrote; the folder of a path that exists here is linked if need be.

    `url` is the address of the API that is asked. Raises `ApiClientError` if the files are out of its reach,
    or a path of this machine, where the API runs, leads to nothing.
    """
    plain, colon, quantization = text.rpartition(":")
    for written, suffix in ((text, ""), (plain, f"{colon}{quantization}")):
        path = Path(written).expanduser()
        if written and "://" not in written and path.exists():
            return _of_path(path.absolute(), suffix, settings, url)
    if text.startswith(PATH_BEGINNINGS) and _runs_here(settings, url):
        raise ApiClientError(
            f"there is no file or folder {text} on this machine; a model on a hub is written owner/name"
        )
    return LocalSource(text)


def _runs_here(settings: Settings, url: str) -> bool:
    return bool(read_run(settings.data_dir).get("url") == url)


def _of_path(path: Path, suffix: str, settings: Settings, url: str) -> LocalSource:
    links = link_folder(settings).absolute()
    for folder in (settings.model_base_path, links):
        if folder is not None and path.is_relative_to(folder.absolute()):
            return LocalSource(f"{path}{suffix}")
    if not _runs_here(settings, url):
        where = f", {settings.model_base_path}" if settings.model_base_path else ""
        raise ApiClientError(
            f"{path} is out of the reach of the platform at {url}, whose data folder is not on this machine: "
            f"put the files below its model_base_path{where}"
        )
    folder = path if path.is_dir() else path.parent
    try:
        links.mkdir(exist_ok=True)
        link, made = _link_to(folder, links)
    except OSError as error:
        raise ApiClientError(f"{links} cannot have a link to {folder}: {error.strerror}") from error
    return LocalSource(f"{link / path.relative_to(folder)}{suffix}", link if made else None)


def _link_to(folder: Path, links: Path) -> tuple[Path, bool]:
    """Return a link to the folder, and whether it was made now. Raises `OSError`."""
    name = folder.name or "root"
    for number in count(1):
        link = links / (name if number == 1 else f"{name}-{number}")
        if link.is_symlink() and link.readlink() == folder:
            return link, False
        with suppress(FileExistsError):
            link.symlink_to(folder)
            return link, True
    raise AssertionError  # pragma: no cover - the numbers do not end


def drop_unused_link(model_path: str, others: Iterable[str], settings: Settings) -> None:
    """Remove the link of a removed model, unless other models have paths through it."""
    links, path = link_folder(settings).absolute(), Path(model_path)
    if not path.is_relative_to(links) or path == links:
        return
    link = links / path.relative_to(links).parts[0]
    if link.is_symlink() and not any(Path(other).is_relative_to(link) for other in others):
        link.unlink(missing_ok=True)
