"""Reads the shared keys from a file, or from a folder with several, and reads them again when they change.

A folder has a file `<id>.key` for each key, and may have `validity.json`:
`{"2026-11": {"not_before": "2026-11-01", "not_after": "2027-05-01"}}`. Names that begin with a dot are
ignored, which are those that Kubernetes adds to a mounted secret.
"""

from __future__ import annotations

import logging
import os
import re
import threading
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from config.errors import ConfigError
from config.fields import unix_seconds
from config.governance_schema import KEY_ID
from config.settings import Settings
from governance.op_tokens.private_files import KeyFileError, check_private_folder, read_private_file
from governance.op_tokens.shared_keys import SharedKey, SharedKeys, secret_of
from governance.op_tokens.strict_json import InvalidJson, parse

MAX_KEYS = 16
VALIDITY_FILE = "validity.json"
SUFFIX = ".key"
BOUNDS = frozenset({"not_before", "not_after"})

logger = logging.getLogger("governance")


class SharedKeyFiles:
    """The keys at a path, which follow its changes. `path` None: a platform without a shared key."""

    def __init__(self, path: Path | None) -> None:
        """Read the keys. Raises `KeyFileError` if they cannot be used, or if a folder has none."""
        self._path = path
        self._lock = threading.Lock()
        self._seen = None if path is None else _state_of(path)
        self._keys = SharedKeys() if path is None else read_shared_keys(path)
        if path is not None and self._keys.is_empty:
            message = f"{path} has no key: create one with `stoker op keygen --hmac {path / 'first.key'}`"
            raise KeyFileError(message)

    def current(self) -> SharedKeys:
        """The keys as they are now. After a change that cannot be used: the ones before, and a log entry."""
        if self._path is None:
            return self._keys
        with self._lock:
            state = _state_of(self._path)
            if state != self._seen:
                self._seen = state  # a broken change is logged once
                try:
                    self._keys = read_shared_keys(self._path)
                except KeyFileError as error:
                    logger.error("the keys of opTokens stay as they were: %s", error)  # noqa: TRY400
                else:
                    ids = ", ".join(key.id for key in self._keys.keys)
                    logger.warning("the keys of opTokens have changed; there are now: %s", ids or "none")
            return self._keys


def configured_keys(settings: Settings) -> SharedKeyFiles:
    """The keys at the configured path. Raises `ConfigError` if they cannot be used."""
    try:
        return SharedKeyFiles(settings.governance.op_token_key_path)
    except KeyFileError as error:
        raise ConfigError(f"governance.op_token_key_path: {error}") from None


def read_shared_keys(path: Path) -> SharedKeys:
    """The keys of a file or a folder, sorted by id; a folder may have none. Raises `KeyFileError`."""
    if not path.is_dir():
        return SharedKeys((SharedKey(_id_of(path), secret_of(read_private_file(path), path)),))
    try:
        return _read_folder(path)
    except OSError as error:  # it was removed meanwhile, or cannot be listed
        message = f"{path} cannot be read ({error.strerror}): check its owner and mode"
        raise KeyFileError(message) from None


def _read_folder(path: Path) -> SharedKeys:
    check_private_folder(path)
    files = sorted(file for file in path.iterdir() if not file.name.startswith("."))
    for file in files:
        if file.suffix != SUFFIX and file.name != VALIDITY_FILE:
            raise KeyFileError(
                f"{file} is neither a key ({'<id>' + SUFFIX}) nor {VALIDITY_FILE}: remove or rename it"
            )
    keys = [file for file in files if file.suffix == SUFFIX]
    if len(keys) > MAX_KEYS:
        raise KeyFileError(f"{path} has more than {MAX_KEYS} keys: remove those that have expired")
    validity = _validity(path / VALIDITY_FILE, {_id_of(file) for file in keys})
    ring = SharedKeys(
        tuple(
            SharedKey(
                _id_of(file), secret_of(read_private_file(file), file), **validity.get(_id_of(file), {})
            )
            for file in keys
        )
    )
    _check_different(path, ring.keys)
    return ring


def _id_of(path: Path) -> str:
    id = path.name.removesuffix(SUFFIX)
    if not re.fullmatch(KEY_ID, id):
        raise KeyFileError(
            f"{path} is not named after a key id: rename it to letters, digits, '_', '.' or '-'"
        )
    return id


def _validity(path: Path, ids: set[str]) -> dict[str, dict[str, float | None]]:
    if not path.exists():
        return {}
    try:
        content = parse(read_private_file(path))
    except InvalidJson as error:
        raise KeyFileError(f"{path} is not valid JSON ({error}): correct it") from None
    if not isinstance(content, dict):
        raise KeyFileError(f"{path} must hold an object with a key id for each entry: correct it")
    found: dict[str, dict[str, float | None]] = {}
    for id, raw in content.items():
        if id not in ids:
            raise KeyFileError(f"{path} names a key without a file: add {id + SUFFIX!r}, or remove the entry")
        bounds = _bounds(raw)
        if bounds is None:
            raise KeyFileError(
                f'{path} has a wrong entry for the key {id}: write {{"not_before": "2026-11-01", '
                '"not_after": "2027-05-01"}, or only one of them'
            )
        found[id] = bounds
    return found


def _bounds(raw: Any) -> dict[str, float | None] | None:
    if not isinstance(raw, Mapping) or not raw.keys() <= BOUNDS:
        return None
    bounds = {name: unix_seconds(value) for name, value in raw.items() if value is not None}
    begin, end = bounds.get("not_before"), bounds.get("not_after")
    if None in bounds.values() or (begin is not None and end is not None and begin >= end):
        return None
    return bounds


def _check_different(path: Path, keys: Iterable[SharedKey]) -> None:
    first: dict[bytes, str] = {}
    for key in keys:
        other = first.setdefault(key.secret, key.id)
        if other != key.id:
            raise KeyFileError(f"{path} has the same key under two ids, {other} and {key.id}: remove one")


def _state_of(path: Path) -> tuple[object, ...]:
    """What differs when a file of the path was changed, replaced, added or removed."""
    try:
        files = [path, *sorted(path.iterdir())] if path.is_dir() else [path]
        return tuple((str(file), _state_of_file(file)) for file in files)
    except OSError as error:
        return ("unreadable", error.errno)


def _state_of_file(file: Path) -> tuple[int, ...]:
    found = os.stat(file)  # noqa: PTH116 - follows links
    # another owner or mode is another ctime as well
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns
