"""Finds a model's files and reads what they are: in the folders of models, in the cache of a hub, on it.

A name of a governed load and a source of an addition go this way. No file outside of the folders is read,
whatever links there are; what a hub says is read in a process of its own (`fleet.hub_preview`).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

from backends.load_parameters import Weights
from backends.model_shape import ModelShape
from backends.parameter_rules import canonical
from config.hub_artifact import COMMIT, HubArtifact
from config.settings import Settings
from fleet.adding.choice import Room, is_mtp
from fleet.adding.repository_choice import NO_CHOICE, RepositoryChoice, choose_files
from fleet.artifacts.errors import UnusableArtifact
from fleet.artifacts.gguf_shape import read_gguf_shape
from fleet.artifacts.projector_size import projector_bytes, projector_inputs
from fleet.artifacts.read import MAX_FILES, Artifact, check_within, is_within, read_artifact
from fleet.dynamic_model import LINKED, Origin, link_folder
from fleet.errors import HubBusy, HubRefused, NotDownloaded
from fleet.hub_cache import cached_commit, parts, repository_folder, snapshot_folder
from fleet.hub_listing import HubFailed, RemoteFile
from fleet.hub_preview import Wanted, preview

MAX_VOCABULARY_DIFFERENCE = 128
"""Tokens by which the vocabularies of a model and its draft may differ (llama.cpp's speculative.cpp)."""

FOLDER_DEPTH = 3
"""How deep the GGUF files of a snapshot may lie."""


@dataclass(frozen=True, slots=True)
class FoundFile:
    """A file of the repository or folder. `is_here`: its content is on this host.

    `is_linked`: so is its name. Content that only another name or commit has may go with a model of that one.
    """

    name: str
    size: int
    is_here: bool = True
    is_linked: bool = True


@dataclass(frozen=True, slots=True)
class Companion:
    """A projector or draft beside a model: its name, and its path as a configuration has it.

    Of a projector `bytes` is the memory and `inputs` are the input types that it takes, of a draft `shape` is
    given. `problem` says why it cannot be used.
    """

    name: str
    path: str
    bytes: int = 0
    inputs: tuple[str, ...] = ()
    shape: ModelShape | None = None
    problem: str | None = None

    @property
    def is_mtp(self) -> bool:
        """Whether it is a draft that predicts several tokens at once."""
        return is_mtp(self.name)


@dataclass(frozen=True, slots=True)
class FoundModel:
    """A model's files, and what they say.

    `artifact.path` is valid for files of this host only: of a model on a hub it was that of a preview.
    `files` are all of the repository or folder, `choice` those of the model.
    """

    artifact: Artifact
    origin: Origin
    files: tuple[FoundFile, ...] = ()
    choice: RepositoryChoice = NO_CHOICE
    projector: Companion | None = None
    draft: Companion | None = None

    @property
    def weights(self) -> Weights:
        """What the headers of the weights say."""
        return self.artifact.weights


# ---- files below the folders of models


@dataclass(frozen=True, slots=True)
class LocalPath:
    """A file or folder of this host, the folder that it may not leave, and its origin."""

    path: Path
    within: Path
    origin: Origin


def local_path(text: str, settings: Settings) -> LocalPath | None:
    """The place of a path as a source names it; None if nothing is there.

    An absolute path has to lie below `model_base_path` or among the links of the data folder. A link there
    was made by someone with access to this host, so what it leads to is the folder.
    """
    links = link_folder(settings)
    for folder in filter(None, (settings.model_base_path, _real(settings.model_base_path))):
        relative = _below(text, folder)
        if relative is not None and os.path.lexists(folder / relative):
            base = settings.model_base_path or folder
            return LocalPath(base / relative, base, Origin("path", relative))
    relative = _below(text, links)
    if relative in (None, "", ".") or not os.path.lexists(links / relative):
        return None
    top = links / Path(relative).parts[0]
    target = Path(os.path.realpath(top))
    if COMMIT.fullmatch(target.name) and target.parent.name == "snapshots":
        within = target.parent.parent  # of the cache of a hub, whose files are links to `blobs`
    else:
        within = target if target.is_dir() else target.parent
    return LocalPath(links / relative, within, Origin(LINKED, relative))


def read_local(path: Path, within: Path, origin: Origin, quantization: str | None) -> FoundModel:
    """A file or folder as a governed load takes it. Raises `UnusableArtifact`, `OSError`."""
    artifact = read_artifact(path, within, quantization)
    file = _relative(artifact.path, path) if artifact.path != path else ""
    chosen = "/".join(filter(None, (origin.file, file)))
    return FoundModel(artifact, replace(origin, file=chosen, files=artifact.digest))


def choose_local(
    place: LocalPath, quantization: str | None, room: Room | None, settings: Settings
) -> FoundModel:
    """A file or folder with the companions beside it. Raises `UnusableArtifact`, `OSError`."""
    path, within, origin = place.path, place.within, place.origin
    check_within(path, within)
    folder, named = (path, None) if path.is_dir() else (path.parent, path.name)
    entries = [file for file in _beside(folder, named) if is_within(file, within)]
    files = [FoundFile(file.name, file.stat().st_size) for file in entries]
    choice = _chosen(folder.name, named, files, quantization, room)
    artifact = read_artifact(folder / choice.model if choice.model else path, within, quantization)
    above = origin.file if named is None else origin.file.rpartition("/")[0]

    def configured(name: str) -> str:
        below = "/".join(filter(None, (above, name)))
        return below if origin.kind == "path" else str(link_folder(settings) / below)

    # without the digest of a load that was approved: the files of an added model may be replaced
    origin = replace(origin, file="/".join(filter(None, (above, choice.model))))
    found = FoundModel(artifact, origin, tuple(files))
    return _with_companions(found, choice, folder, configured, within)


def _chosen(
    where: str, named: str | None, files: list[FoundFile], quantization: str | None, room: Room | None
) -> RepositoryChoice:
    """The choice among local files. Raises `UnusableArtifact` with its reason."""
    if named is not None and not named.lower().endswith(".gguf"):
        return RepositoryChoice(names=(named,))
    try:
        return choose_files(HubArtifact(where, file=named), files, quantization, decides=True, room=room)
    except HubFailed as error:
        raise UnusableArtifact(str(error)) from None


def _beside(folder: Path, named: str | None) -> list[Path]:
    """The files of a folder; of one with too many only those of the model that was named."""
    try:
        return _entries(folder, depth=1)
    except UnusableArtifact:
        if named is None:
            raise
        return [file for part in parts(named) if (file := folder / part).is_file()]


def _entries(folder: Path, depth: int) -> list[Path]:
    """The files of a folder, without hidden ones, and of the folders in it down to a depth."""
    found: list[Path] = []

    def walk(place: Path, left: int) -> Iterator[Path]:
        for entry in sorted(islice(place.iterdir(), MAX_FILES + 1)):
            if entry.name.startswith("."):
                continue
            if entry.is_file():
                yield entry
            elif left > 1 and entry.is_dir():
                yield from walk(entry, left - 1)

    for file in walk(folder, depth):
        found.append(file)
        if len(found) > MAX_FILES:
            raise UnusableArtifact(f"{folder.name} has more than {MAX_FILES} entries")
    return found


def _with_companions(
    found: FoundModel,
    choice: RepositoryChoice,
    folder: Path,
    configured: Callable[[str], str],
    within: Path,
) -> FoundModel:
    """Add what the headers of the projector and the draft say."""

    def companion(name: str, *, is_draft: bool) -> Companion:
        place = folder / name
        try:
            check_within(place, within)
            if is_draft:
                shape = read_gguf_shape(place)
                _check_vocabulary(shape, found.artifact.shape)
                return Companion(name, configured(name), shape=shape)
            return Companion(
                name, configured(name), bytes=projector_bytes(place), inputs=projector_inputs(place)
            )
        except (OSError, UnusableArtifact) as error:
            return Companion(name, configured(name), problem=f"{name} beside it cannot be used: {error}")

    return replace(
        found,
        choice=choice,
        projector=None if choice.projector is None else companion(choice.projector, is_draft=False),
        draft=None if choice.draft is None else companion(choice.draft, is_draft=True),
    )


def _check_vocabulary(draft: ModelShape, model: ModelShape | None) -> None:
    """Raise `UnusableArtifact` if a draft has other tokens than the model, as llama.cpp checks it."""
    sizes = draft.vocabulary, 0 if model is None else model.vocabulary
    if all(sizes) and abs(sizes[0] - sizes[1]) > MAX_VOCABULARY_DIFFERENCE:
        raise UnusableArtifact(f"it has {sizes[0]} tokens, and the model {sizes[1]}")


# ---- repositories


def find_repository(
    name: str, revision: str, settings: Settings, quantization: str | None, param: str
) -> FoundModel | None:
    """A repository as a governed load takes it: what the cache has, else what the hub says.

    None: neither has it. Raises `UnusableArtifact`, `OSError`, `NotDownloaded`, `HubRefused`, `HubBusy`.
    """
    commit = cached_commit(name, revision)
    if commit is None:
        return ask_hub(Wanted(HubArtifact(name, revision), quantization), settings, param)
    problem, found = None, None
    snapshot = snapshot_folder(name, commit)
    try:
        # its files are links to `blobs`
        artifact = read_artifact(snapshot, snapshot.parent.parent, quantization)
        found = FoundModel(artifact, Origin("hub", _relative(artifact.path, snapshot), name, commit))
        if _is_wanted(artifact.weights, quantization):
            return found
    except UnusableArtifact as error:
        problem = error
    # the snapshot has what was downloaded, and the repository may have more
    with suppress(NotDownloaded, UnusableArtifact):
        try:
            return ask_hub(Wanted(HubArtifact(name, commit), quantization), settings, param)
        except HubBusy:
            raise
        except HubRefused:
            pass
    if found is None and problem is not None:
        raise problem
    return found


def choose_in_repository(wanted: Wanted, settings: Settings, param: str) -> FoundModel:
    """The model of a repository that is added: what the hub says, else what the cache has of it.

    Raises `UnusableArtifact`, `OSError`, `NotDownloaded`, `HubRefused`, `HubBusy`.
    """
    try:
        return ask_hub(wanted, settings, param)
    except (NotDownloaded, HubRefused) as error:
        if isinstance(error, HubBusy) or error.code not in ("model_not_downloaded", "hub_unreachable"):
            raise
        found = _cached_choice(wanted)
        if found is None:
            raise
        return found


def _cached_choice(wanted: Wanted) -> FoundModel | None:
    """The model in what the cache has of a repository; None if it has nothing of it."""
    artifact = wanted.artifact
    commit = cached_commit(artifact.repository, artifact.revision)
    if commit is None:
        return None
    snapshot = snapshot_folder(artifact.repository, commit)
    entries = _entries(snapshot, FOLDER_DEPTH)
    files = [RemoteFile(_relative(file, snapshot), file.stat().st_size, "") for file in entries]
    try:
        choice = choose_files(artifact, files, wanted.quantization, decides=True, room=wanted.room)
    except HubFailed:
        return None
    found = _read_repository(wanted, snapshot, snapshot.parent.parent, commit, choice)
    return replace(found, files=tuple(FoundFile(file.name, file.size) for file in files))


def hub_error(error: HubFailed, param: str) -> NotDownloaded | HubRefused:
    """The error of a request whose field `param` needs a hub."""
    if error.code in ("hub_not_installed", "hub_offline"):
        return NotDownloaded(f"{param}: {error}", param=param)
    kind = HubBusy if error.code == "hub_busy" else HubRefused
    return kind(f"{param}: {error}", code=error.code, param=param)


def ask_hub(wanted: Wanted, settings: Settings, param: str) -> FoundModel:
    """What a repository on the hub has. Its commit is fixed now: what is approved is what is loaded."""
    repository = wanted.artifact.repository
    if settings.hub.offline:
        raise NotDownloaded(
            f"{repository} is not in the local Hugging Face cache, and hub.offline is set", param=param
        )
    try:
        with preview(wanted) as seen:
            found = _read_repository(wanted, seen.folder, seen.folder, seen.commit, seen.choice)
            return replace(found, files=_with_presence(repository, seen.commit, seen.files))
    except HubFailed as error:
        raise hub_error(error, param) from None


def _read_repository(
    wanted: Wanted, folder: Path, within: Path, commit: str, choice: RepositoryChoice
) -> FoundModel:
    """What the files of a snapshot, or of its preview, say."""
    repository = wanted.artifact.repository
    artifact = read_artifact(folder / choice.model, within, wanted.quantization)
    origin = Origin("hub", _relative(artifact.path, folder), repository, commit)

    def configured(name: str) -> str:
        return str(HubArtifact(repository, commit, name))

    return _with_companions(FoundModel(artifact, origin), choice, folder, configured, within)


def _with_presence(repository: str, commit: str, files: tuple[RemoteFile, ...]) -> tuple[FoundFile, ...]:
    """The files, each with whether the cache has its content, and its name."""
    blobs, snapshot = repository_folder(repository) / "blobs", snapshot_folder(repository, commit)

    def found(file: RemoteFile) -> FoundFile:
        is_linked = (snapshot / file.name).is_file()
        return FoundFile(file.name, file.size, is_linked or (blobs / file.digest).is_file(), is_linked)

    return tuple(map(found, files))


def _is_wanted(weights: Weights, quantization: str | None) -> bool:
    """Whether no other file of the repository can fit better: those of GGUF have one type each."""
    return quantization is None or weights.form != "gguf" or weights.quantization == canonical(quantization)


def _relative(path: Path, folder: Path) -> str:
    relative = path.relative_to(folder).as_posix()
    return "" if relative == "." else relative


def _real(folder: Path | None) -> Path | None:
    return None if folder is None else Path(os.path.realpath(folder))


def _below(text: str, folder: Path) -> str | None:
    """The path relative to a folder; None if it is an absolute one elsewhere."""
    if not text.startswith("/"):
        return text
    with suppress(ValueError):
        return _relative(Path(text), folder)
    return None
