"""Makes the name of a model that was added without one.

Of `Qwen/Qwen3-8B-GGUF:Q4_K_M` it is `Qwen3-8B-Q4_K_M`: the repository without its owner and its `-GGUF`, and
the quantization. Of a file or folder it is its own name. If another model has the name, a number follows.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import count
from pathlib import PurePosixPath

from config.settings import ModelDefinition
from fleet.adding.choice import label_of, label_or_name
from fleet.adding.locate import FoundModel
from fleet.dynamic_model import ACTIONS, is_name

MAX_MADE = 80
FOREIGN = re.compile(r"[^A-Za-z0-9_.-]+")
SUFFIX = re.compile(r"[-_.]gguf$", re.IGNORECASE)


def name_of(found: FoundModel, models: Mapping[str, ModelDefinition]) -> str:
    """A name that no other model has: that of an equal model if there is one."""
    origin = found.origin
    made = _legal(_plain_name(found))
    for number in count(1):
        name = made if number == 1 else f"{made}-{number}"
        other = models.get(name)
        if other is None:
            return name
        same = ("kind", "repository", "file")
        if other.origin is not None and all(
            other.origin.get(key, "") == origin.to_dict().get(key, "") for key in same
        ):
            return name
    raise AssertionError  # pragma: no cover - the numbers do not end


def _plain_name(found: FoundModel) -> str:
    origin = found.origin
    if origin.repository is None:
        name = PurePosixPath(origin.file).name
        return (
            label_or_name(name) if label_of(name) is None else re.sub(r"(-\d{5}-of-\d{5})?\.gguf$", "", name)
        )
    name = SUFFIX.sub("", origin.repository.partition("/")[2])
    label = label_of(origin.file) if origin.file else None
    return name if label is None or label.lower() in name.lower() else f"{name}-{label}"


def _legal(text: str) -> str:
    """A text as a name has it: no other characters, nothing that the path of an action ends with."""
    plain = re.sub(r"\.{2,}", ".", FOREIGN.sub("-", text)).strip("-._")[:MAX_MADE].strip("-._") or "model"
    if plain in ACTIONS or not is_name(plain):
        plain = f"model-{plain}"
    return plain if is_name(plain) else "model"
