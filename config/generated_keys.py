"""The keys that `stoker up` generates, in `<data_dir>/keys.json`, which only its owner can read.

`api_key` belongs to the tenant `default`, `admin_key` to `admin`, which may also load and unload models. The
two passwords are those of the embedded Redis and of Flower.
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
class GeneratedKeys:
    """The keys in clear text. They are not part of `repr`, so that none reaches a log by accident."""

    api_key: str = field(default_factory=lambda: _secret("sk-stoker-"), repr=False)
    admin_key: str = field(default_factory=lambda: _secret("sk-admin-"), repr=False)
    redis_password: str = field(default_factory=lambda: secrets.token_hex(24), repr=False)
    flower_password: str = field(default_factory=lambda: secrets.token_hex(12), repr=False)


def read_keys(data_dir: Path) -> GeneratedKeys | None:
    """Return the keys of a data folder, or None without a file. Raises `ConfigError` for a damaged one."""
    path = data_dir / FILE
    try:
        raw = json.loads(path.read_text(encoding="utf-8"))
        names = GeneratedKeys.__dataclass_fields__
        values = {name: raw[name] for name in names}
    except FileNotFoundError:
        return None
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror}") from error
    except (ValueError, KeyError, TypeError):
        # without the content of the file, which is secret
        raise ConfigError(f"{path}: is damaged; remove it, and new keys are generated") from None
    if not all(isinstance(value, str) and value for value in values.values()):
        raise ConfigError(f"{path}: is damaged; remove it, and new keys are generated")
    return GeneratedKeys(**values)


def ensure_keys(data_dir: Path) -> GeneratedKeys:
    """Return the keys of a data folder; generate them first if there are none. Raises `ConfigError`."""
    existing = read_keys(data_dir)
    if existing is not None:
        return existing
    keys = GeneratedKeys()
    path = data_dir / FILE
    try:
        data_dir.mkdir(parents=True, exist_ok=True, mode=0o700)
        # written to a temporary file first, so that a crash cannot leave an incomplete keys.json
        temporary = path.with_name(f".{FILE}.{os.getpid()}")
        temporary.unlink(missing_ok=True)
        handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            json.dump(asdict(keys), file, indent=2)
            file.write("\n")
        temporary.replace(path)
    except OSError as error:
        raise ConfigError(f"{path}: cannot be written: {error.strerror}") from error
    return keys
