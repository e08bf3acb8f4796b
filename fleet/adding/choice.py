"""Chooses the files of a model by their names and sizes: a quantization, all parts, a projector and a draft.

The rules for names are those of llama.cpp (common/download.cpp): a file with `mmproj` is a projector, one
with `mtp-`, `eagle3-` and so on a draft; a companion lies in the model's folder or above it, and of several
the one whose type is nearest to the model's is taken. File names in practice also have `draft`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Protocol

from backends.parameter_rules import canonical
from fleet.hub_cache import SHARD, parts

MIB = 1024 * 1024
PREFERRED = "Q4_K_M"
LARGEST_LABEL = "Q8_0"
PROJECTOR = "mmproj"
DRAFT_WORDS = ("draft", "mtp", "eagle", "eagle3", "dflash", "dspark")
NO_MODELS = ("imatrix", "mmproj")
MAX_SHOWN = 12

LABEL = re.compile(
    r"(?:^|[-._/])((?:UD-)?(?:I?Q\d(?:_(?:[0-9KSML]|XS|XXS|NL|XL|XXL))*|TQ\d_\d|BF16|FP?16|FP?32|MXFP4(?:_MOE)?|NVFP4))"
    r"(?=[-._/]|$)"
)
UNQUANTIZED = ("BF16", "F16", "FP16", "F32", "FP32")
WORD = re.compile(r"[-._/ ]+")


class NamedFile(Protocol):
    """A file of a repository or folder: its name, with folders, and its size in bytes."""

    @property
    def name(self) -> str: ...  # noqa: D102
    @property
    def size(self) -> int: ...  # noqa: D102


class NoChoice(Exception):
    """Raised when no file is the one that was asked for; the message says what there is."""


@dataclass(frozen=True, slots=True)
class Variant:
    """A GGUF model in one file or several parts, the first one first. `label` is its quantization."""

    label: str
    files: tuple[NamedFile, ...]

    @property
    def name(self) -> str:
        """The name of the first part, which is the model's path."""
        return self.files[0].name

    @property
    def bytes(self) -> int:
        """The size of all parts."""
        return sum(file.size for file in self.files)


@dataclass(frozen=True, slots=True)
class Room:
    """MiB of memory: free on the best worker, and in all on the largest one."""

    free_mib: int
    total_mib: int


@dataclass(frozen=True, slots=True)
class Choice:
    """A variant, and one sentence that says why it was taken."""

    variant: Variant
    reason: str


def label_of(name: str) -> str | None:
    """The quantization in a file's name, in capitals, or in that of its folder; None without one."""
    stem = _stem(name).upper()
    found = LABEL.findall(PurePosixPath(stem).name) or LABEL.findall(stem)
    return found[-1] if found else None


def label_or_name(name: str) -> str:
    """The quantization in a file's name, else the name without its suffix and part."""
    return label_of(name) or PurePosixPath(_stem(name)).name


def is_projector(name: str) -> bool:
    """Whether a file is a projector for images, by its name."""
    return PROJECTOR in _base(name)


def variants_of(files: Sequence[NamedFile]) -> list[Variant]:
    """The GGUF models among files, by size; those with missing parts are left out."""
    by_name = {file.name: file for file in files if file.name.lower().endswith(".gguf")}
    models = [name for name in by_name if not any(word in _base(name) for word in NO_MODELS)]
    if any(not _draft_words(name) for name in models):  # else they are models by themselves
        models = [name for name in models if not _draft_words(name)]
    found = []
    for name in filter(_is_first, models):
        names = parts(name)
        if all(each in by_name for each in names):
            found.append(Variant(label_or_name(name), tuple(by_name[each] for each in names)))
    return sorted(found, key=lambda each: (each.bytes, each.name))


def find_variant(variants: Sequence[Variant], asked: str) -> Variant | None:
    """The variant that a person named by its label or its file's name; None if none is."""
    plain = _plain(asked)
    plain = plain.removesuffix(".gguf")
    for kind in range(3):
        if found := [each for each in variants if _names(each)[kind] == plain]:
            return min(found, key=lambda each: (len(each.name), each.name))
    return None


def choose_variant(variants: Sequence[Variant], asked: str | None, room: Room | None) -> Choice:
    """The variant that was asked for, else the one that suits the memory. Raises `NoChoice`."""
    if not variants:
        raise NoChoice("there is no complete GGUF model")
    if asked is not None:
        if (named := find_variant(variants, asked)) is None:
            raise NoChoice(f"there is no {asked}: choose one of {shown(variants)}")
        return Choice(named, f"{named.label} was asked for")
    if len(variants) == 1:
        return Choice(variants[0], "it is the only model there")
    usual = _usual(variants)
    preferred = find_variant(usual, PREFERRED)
    if room is not None:
        return _choose_by_room(usual, preferred, room)
    if preferred is not None:
        return Choice(preferred, f"{PREFERRED} is the usual balance of size and quality")
    return Choice(usual[0], "it is the smallest one, and no worker has reported its memory")


def _usual(variants: Sequence[Variant]) -> Sequence[Variant]:
    """The quantized variants up to Q8_0, the smallest first; all if there is none."""
    plain = [_plain(name) for name in UNQUANTIZED]
    usual = [each for each in variants if _plain(each.label).removeprefix("ud_") not in plain]
    largest = find_variant(usual, LARGEST_LABEL)
    return [each for each in usual if largest is None or each.bytes <= largest.bytes] or variants


def _choose_by_room(usual: Sequence[Variant], preferred: Variant | None, room: Room) -> Choice:
    """Q4_K_M if it fits, else the largest one that does, into the free memory before all of it."""
    for memory, words in ((room.free_mib, "free"), (room.total_mib, "of memory")):
        fitting = [each for each in usual if rough_need_mib(each) <= memory]
        if preferred is not None and preferred in fitting:
            reason = f"{PREFERRED} is the usual balance of size and quality, and fits into the {memory} MiB"
            return Choice(preferred, f"{reason} {words}")
        if fitting:
            return Choice(fitting[-1], f"it is the largest one that fits into the {memory} MiB {words}")
    return Choice(usual[0], f"it is the smallest one; no worker has more than {room.total_mib} MiB")


def rough_need_mib(variant: Variant) -> int:
    """About what a variant needs, before its header is known: its files, an eighth for caches, and a bit."""
    return -(-variant.bytes * 9 // 8 // MIB) + 256


def find_projector(files: Sequence[NamedFile], model: str) -> NamedFile | None:
    """The projector for images that belongs to a model, None without one."""
    candidates = [file for file in files if _is_gguf(file) and is_projector(file.name)]
    return _nearest(candidates, files, model)


def find_draft(files: Sequence[NamedFile], model: str) -> NamedFile | None:
    """The draft model that belongs to a model, None without one: of a kind that the engines know."""
    known = {"draft", "mtp"}
    candidates = [file for file in files if _is_gguf(file) and _draft_words(file.name) & known]
    return None if _draft_words(model) else _nearest(candidates, files, model)


def is_mtp(name: str) -> bool:
    """Whether a draft predicts several tokens with a model's own layers (multi-token prediction)."""
    return "mtp" in _draft_words(name)


def shown(variants: Sequence[Variant]) -> str:
    """The labels of variants, for people."""
    labels = list(dict.fromkeys(each.label for each in variants))
    more = f" and {len(labels) - MAX_SHOWN} others" if len(labels) > MAX_SHOWN else ""
    return ", ".join(label[:80] for label in labels[:MAX_SHOWN]) + more


def _is_first(name: str) -> bool:
    """Whether a file is no later part of another one."""
    match = SHARD.fullmatch(name)
    return match is None or name == f"{match['stem']}00001{match['rest']}"


def _names(variant: Variant) -> tuple[str, str, str]:
    """What a variant may be called, the usual names first."""
    label = _plain(variant.label)
    return label, label.removeprefix("ud_"), _plain(_base(variant.name)).removesuffix(".gguf")


def _nearest(candidates: Sequence[NamedFile], files: Sequence[NamedFile], model: str) -> NamedFile | None:
    """The companion in the nearest folder, with the nearest type; F16 before BF16, which older GPUs lack."""
    folder = PurePosixPath(model).parent
    families = {_family(each.name) for each in variants_of(files)}
    near = [
        file
        for file in candidates
        if parts(file.name) == [file.name] != [model]
        and folder.is_relative_to(PurePosixPath(file.name).parent)
        and _belongs(file.name, model, families)
    ]

    def distance(file: NamedFile) -> tuple[int, int, bool, str]:
        depth = len(PurePosixPath(file.name).parts)
        return (
            -depth,
            abs(_bits(file.name) - _bits(model)),
            label_of(file.name) not in ("F16", "FP16"),
            file.name,
        )

    return min(near, key=distance, default=None)


def _belongs(companion: str, model: str, families: set[frozenset[str]]) -> bool:
    """Whether a companion is one of this model: in a folder with several models its name has to say so."""
    own = _family(companion)
    return len(families) <= 1 or (bool(own) and (own <= _family(model) or _family(model) <= own))


def _family(name: str) -> frozenset[str]:
    """The words of a file's name without those of its type and its kind."""
    stem = PurePosixPath(_stem(name)).name
    label = label_of(stem)
    if label is not None:
        stem = re.sub(re.escape(label), "", stem, flags=re.IGNORECASE)
    return frozenset(WORD.split(stem.lower())) - {"", PROJECTOR, "model", "gguf", "ud", *DRAFT_WORDS}


def _draft_words(name: str) -> set[str]:
    return set(WORD.split(_base(name))) & {*DRAFT_WORDS}


def _bits(name: str) -> int:
    digits = re.search(r"\d+", label_of(name) or "")
    return int(digits[0]) if digits else 0


def _plain(text: str) -> str:
    return canonical(text.replace("-", "_"))


def _stem(name: str) -> str:
    """A name without its suffix and the number of its part."""
    match = SHARD.fullmatch(name)
    return match["stem"].removesuffix("-") if match else re.sub(r"\.gguf$", "", name, flags=re.IGNORECASE)


def _base(name: str) -> str:
    return PurePosixPath(name).name.lower()


def _is_gguf(file: NamedFile) -> bool:
    return file.name.lower().endswith(".gguf")
