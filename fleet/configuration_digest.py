"""What has to be equal on all hosts of a platform: digests of the configuration and of the models' files.

A worker stores the digests of its host with its registration, in parts, so that another process can name the
part that differs: `version`, `lease`, `limits`, `queue`, `responses`, `scaling`, `models.<name>` and
`files of <name>`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import PurePath
from typing import Any

import orjson
import redis

from backends.catalogue import BACKENDS
from backends.declaration import LORA
from config.settings import ModelDefinition, Settings
from config.version import version
from store.scripts import redis_errors_translated

SECTIONS = ("lease", "limits", "queue", "responses", "scaling")
"""The settings that all processes share. The others belong to a host or to one kind of process."""

Digests = Mapping[str, str]
"""A digest by part."""


def configuration_digests(settings: Settings) -> dict[str, str]:
    """Return the digests of this host's configuration, without its models' files."""
    digests = {"version": version()}
    for name in SECTIONS:
        digests[name] = digest(asdict(getattr(settings, name)))
    for name, model in settings.models.items():
        digests[f"models.{name}"] = digest(asdict(without_folders(model)))
    return digests


def digest(value: Any) -> str:
    """Return a short digest of a JSON value."""
    data = orjson.dumps(value, option=orjson.OPT_SORT_KEYS, default=str)
    return hashlib.sha256(data).hexdigest()[:12]


def different_parts(own: Digests, other: Digests) -> list[str]:
    """Return the names of the parts that differ. Files count only where both hosts may need them."""
    return sorted(
        part
        for part in own.keys() | other.keys()
        if own.get(part) != other.get(part)
        and (not part.startswith("files of ") or (part in own and part in other))
    )


def stored_digests(client: redis.Redis, prefix: str) -> dict[str, tuple[str, Digests]]:
    """Return the host and the digests of each registered worker, by worker. Raises `StorageUnavailable`."""
    connection: Any = client
    with redis_errors_translated():
        workers = [name.decode() for name in connection.zrange(f"{{{prefix}}}:workers", 0, -1)]
        pipeline = connection.pipeline(transaction=False)
        for name in workers:
            pipeline.hget(f"{{{prefix}}}:worker:{name}", "description")
        described = [orjson.loads(raw or b"{}") for raw in pipeline.execute()]
    return {
        name: (str(about.get("host", "")), about["digests"])
        for name, about in zip(workers, described, strict=True)
        if about.get("digests")
    }


def warnings(own: Digests, others: Mapping[str, tuple[str, Digests]]) -> list[str]:
    """Return a warning for each group of workers that differ from this host in the same parts."""
    groups: dict[tuple[str, ...], list[str]] = {}
    for worker, (host, digests) in sorted(others.items()):
        if parts := different_parts(own, digests):
            groups.setdefault(tuple(parts), []).append(f"{worker} on {host}")
    return [
        f"this host differs from {', '.join(names)} in: {', '.join(parts)}; "
        "these must be equal on all hosts (docs/several-hosts.md)"
        for parts, names in groups.items()
    ]


def definition_digest(model: ModelDefinition, override: Mapping[str, Any]) -> str:
    """SHA-256 of a model's definition with this override, in hex.

    Folders and secrets are left out, as they differ between the hosts, and as a digest must not help to guess
    a secret; the files' digests are compared by themselves.
    """
    merged = asdict(without_folders(model)) | {"override": dict(override)}
    return hashlib.sha256(orjson.dumps(merged, option=orjson.OPT_SORT_KEYS, default=str)).hexdigest()


def without_folders(model: ModelDefinition) -> ModelDefinition:
    """The model without its secrets; the same files may lie in another folder on another host."""
    declared = BACKENDS[model.backend].options
    files = {option.name for option in declared if option.format in ("path", "program", LORA)}
    secrets = {option.name for option in declared if option.secret}
    options = {
        name: _file_names(value) if name in files else value
        for name, value in model.options.items()
        if name not in secrets
    }
    path = model.model_path and PurePath(model.model_path).name
    return replace(model, model_path=path, options=options)


def _file_names(value: Any) -> Any:
    """A path, or paths by name, without their folders; any other value as it is."""
    if isinstance(value, Mapping):
        return {name: _file_names(path) for name, path in value.items()}
    return PurePath(value).name if isinstance(value, str) else value
