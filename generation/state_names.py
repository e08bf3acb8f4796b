"""The names that clients give to saved states."""

from __future__ import annotations

import re

MAX_NAME_CHARS = 128

_NAME = re.compile(rf"[A-Za-z0-9_-][A-Za-z0-9._-]{{0,{MAX_NAME_CHARS - 1}}}")


def is_valid_name(name: str) -> bool:
    """Whether a name can be that of a state.

    Stricter than llama-server (`fs_validate_filename` in common/common.cpp): no separators, no spaces, no dot
    at the beginning or the end, no two dots in a row, ASCII only, at most MAX_NAME_CHARS characters.
    """
    return _NAME.fullmatch(name) is not None and ".." not in name and not name.endswith(".")
