"""The keys in Redis, as `store/redis_keys.md` lists them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache, lru_cache

from config.settings import ROOT

ENTRY = re.compile(r"^- `([^`]+)`, (\w+)\n((?:  .*\n)+)", re.MULTILINE)
FIELD = re.compile(r"^  - (\w+): ", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class RedisKey:
    """One kind of key; the variable parts of its name are in <>. `writers` are scripts or Python files."""

    name: str
    type: str
    meaning: str
    writers: tuple[str, ...]
    kept: str

    def matches(self, name: str) -> bool:
        """Return whether a key of that name (without the prefix) is of this kind."""
        return _pattern_of(self.name).fullmatch(name) is not None


@cache
def _pattern_of(name: str) -> re.Pattern[str]:
    parts = re.split(r"(<\w+>)", name)
    return re.compile("".join("[^ ]+" if part.startswith("<") else re.escape(part) for part in parts))


def _parse(entry: re.Match[str]) -> RedisKey:
    _, *parts = FIELD.split(entry[3])
    fields = {name: " ".join(text.split()) for name, text in zip(parts[::2], parts[1::2], strict=True)}
    writers = tuple(fields.pop("writers").replace("`", "").split())
    return RedisKey(entry[1], entry[2], writers=writers, **fields)


KEYS = tuple([_parse(entry) for entry in ENTRY.finditer((ROOT / "store/redis_keys.md").read_text())])


@lru_cache(maxsize=4096)
def find_key(name: str) -> RedisKey | None:
    """Return the kind of the key with that name (without the prefix), None when there is none."""
    return next((key for key in KEYS if key.matches(name)), None)
