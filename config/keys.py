"""The generated keys of a platform that `stoker up` runs: `<data_dir>/keys.json`, for its owner's eyes only.

Whoever asks with `api_key` is the tenant `default`; `admin_key` may also load and unload. The two passwords
guard the embedded Redis and Flower.
"""

from __future__ import annotations

import json
import os
import secrets
from dataclasses import asdict, dataclass, field
from pathlib import Path

from config.errors import ConfigError

FILE = "keys.json"


def _secret(prefix: str) -> str:
    return f"{prefix}{secrets.token_urlsafe(24)}"


@dataclass(frozen=True)
class Keys:
    """The keys in clear. They are never shown in `repr`, so they cannot end up in a log by accident."""

    api_key: str = field(default_factory=lambda: _secret("sk-stoker-"), repr=False)
    admin_key: str = field(default_factory=lambda: _secret("sk-admin-"), repr=False)
    redis_password: str = field(default_factory=lambda: secrets.token_hex(24), repr=False)
    flower_password: str = field(default_factory=lambda: secrets.token_hex(12), repr=False)


def read_keys(data_dir: Path) -> Keys | None:
    """The keys of this data folder, or None when none were made. Raises `ConfigError` for a damaged file."""
    path = data_dir / FILE
    try:
        raw = json.loads(path.read_text(encoding="utf-8"))
        names = Keys.__dataclass_fields__
        values = {name: raw[name] for name in names}
    except FileNotFoundError:
        return None
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror}") from error
    except (ValueError, KeyError, TypeError):
        # what the file holds is a secret: say nothing of it
        raise ConfigError(f"{path}: is damaged; remove it and new keys are made") from None
    if not all(isinstance(value, str) and value for value in values.values()):
        raise ConfigError(f"{path}: is damaged; remove it and new keys are made")
    return Keys(**values)


def ensure_keys(data_dir: Path) -> Keys:
    """The keys of this data folder, made at the first call. Raises `ConfigError` when they cannot be kept."""
    found = read_keys(data_dir)
    if found is not None:
        return found
    keys = Keys()
    path = data_dir / FILE
    try:
        data_dir.mkdir(parents=True, exist_ok=True, mode=0o700)
        # a file of its own first, so that a crash never leaves half a keys.json
        draft = path.with_name(f".{FILE}.{os.getpid()}")
        draft.unlink(missing_ok=True)
        handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            json.dump(asdict(keys), file, indent=2)
            file.write("\n")
        draft.replace(path)
    except OSError as error:
        raise ConfigError(f"{path}: cannot be written: {error.strerror}") from error
    return keys
