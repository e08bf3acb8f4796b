"""The scope of a flush of prefix caches, and what the engines counted of it.

A flush raises the epoch of its scope (`governance.cache_namespaces`), which makes what was cached before
unreachable; then the workers' engines free what they hold. `lua/begin_flush.lua` begins it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Literal, get_args

import orjson

from config.tenant_schema import TENANT_NAME
from fleet.errors import InvalidFlush
from governance.cache_namespaces import EVERYTHING, model_scope, tag_scope, tenant_scope

ScopeKind = Literal["all", "model", "tenant", "tag"]
SCOPE_KINDS: tuple[ScopeKind, ...] = get_args(ScopeKind)

FIELDS: dict[str, tuple[str, ...]] = {
    "all": (),
    "model": ("model",),
    "tenant": ("tenant",),
    "tag": ("tenant", "tag"),
}
"""What a scope of each kind has to name."""

NAMES = {"tenant": re.compile(TENANT_NAME), "tag": re.compile(r"[\x21-\x7e]{1,64}")}
"""What a tenant's name and a tag (`X-Cache-Tag`) look like."""

MAX_OPEN = 100
"""The most flushes under way at a time. A further one is refused."""

MAX_EPOCHS = 10_000
"""The most epochs of single scopes; with more, a flush of everything replaces them all by one."""

ALIVE_US = 5_000_000
"""An API process that has not read the epochs for this long is not waited for. It has stopped using the ones
it has before: see `CacheNamespaces.TRUSTED_S`."""

WAIT_US = 10_000_000
"""The longest wait for the API processes, whatever they report."""


@dataclass(frozen=True, slots=True)
class FlushScope:
    """Whose cached prefixes are flushed.

    `kind` is `all`, `model` (all prefixes of one model), `tenant` (those of one tenant on all models) or
    `tag` (those of its requests with one tag: a tag belongs to a tenant). The fields that the kind does not
    name are None.
    """

    kind: str = "all"
    model: str | None = None
    tenant: str | None = None
    tag: str | None = None

    @property
    def epoch(self) -> bytes:
        """The field of its epoch. The scope must be valid."""
        if self.kind == "model":
            return model_scope(self.model or "")
        if self.kind == "tenant":
            return tenant_scope(self.tenant or "")
        if self.kind == "tag":
            return tag_scope(self.tenant or "", self.tag or "")
        return EVERYTHING

    def check(self, names: Mapping[str, str] = MappingProxyType({})) -> None:
        """Raise `InvalidFlush`, with the field, unless the scope has exactly the fields of its kind.

        `names` are those that the fields have in the request, where they differ.
        """
        if self.kind not in SCOPE_KINDS:
            raise InvalidFlush(f"scope must be one of {', '.join(SCOPE_KINDS)}", param="scope")
        for name in ("model", "tenant", "tag"):
            value, field = getattr(self, name), names.get(name, name)
            if name not in FIELDS[self.kind]:
                if value is not None:
                    raise InvalidFlush(f"{field} does not belong to the scope {self.kind}", param=field)
            elif value is None:
                raise InvalidFlush(f"the scope {self.kind} needs {field}", param=field)
            elif name in NAMES and not NAMES[name].fullmatch(value):
                raise InvalidFlush(f"{field} is not the name of a {name}", param=field)

    def to_json(self) -> bytes:
        """The JSON form: `kind`, and the fields that it has."""
        return orjson.dumps({"kind": self.kind} | {name: getattr(self, name) for name in FIELDS[self.kind]})

    @classmethod
    def from_json(cls, data: bytes | str) -> FlushScope:
        """Read the JSON form."""
        fields: dict[str, Any] = orjson.loads(data)
        return cls(**fields)

    @property
    def namespaces(self) -> str:
        """The cache namespaces of the scope in words, for people. The scope must be valid."""
        return {
            "all": "those of all tenants and tags, on all models",
            "model": f"those of all tenants and tags, on the model {self.model}",
            "tenant": f"those of the tenant {self.tenant} with all its tags, on all models",
            "tag": f"that of the tenant {self.tenant} with the tag {self.tag}, on each model",
        }[self.kind]

    def __str__(self) -> str:
        """The scope in words, for people."""
        if self.kind == "tag":
            return f"tag {self.tag} of tenant {self.tenant}"
        name = self.model or self.tenant
        return "everything" if name is None else f"{self.kind} {name}"


@dataclass(frozen=True, slots=True)
class FlushCount:
    """What one replica's engine counted when it flushed.

    `entries` is how many it removed, in its own unit (docs/operations.md lists them), and `memory_mib` the
    memory that they took. None: it was not counted; then `reason` is one sentence why.
    """

    entries: int | None = None
    memory_mib: float | None = None
    reason: str | None = None
