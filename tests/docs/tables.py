"""The tables of docs/ that are generated from the code: errors, settings, the backends' options."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import click

from api.http.errors import CODES
from api.operations.metrics.definitions import METRICS
from backends.catalogue import BACKENDS
from backends.declaration import SAMPLING_FIELDS, Option
from backends.load_parameters import PARAMETERS
from config.fields import Section, StrictField
from config.governance_schema import GovernanceRuleSchema, SignerKeySchema
from config.model_schema import ModelSchema, option_field
from config.schema import SettingsSchema
from config.settings import ROOT, GovernanceRule, McpServer, ModelDefinition, Settings, SignerKey, Tenant
from config.sources import KEY_VARIABLES, NAMED_VARIABLES
from config.tenant_schema import TenantSchema
from config.tools_schema import McpServerSchema
from governance.op_tokens.refusal import REASONS
from stoker.cli import cli
from stoker.error_reports import EXIT_CODES
from stoker.results import JsonOption
from tests.clients.catalogue import clients
from tests.docs.dialect_fields import field_tables
from tests.docs.page import Row, Table

UNITS = {"_per_s": "per second", "_ms": "milliseconds", "_s": "seconds", "_bytes": "bytes"}
COMPUTED_DEFAULTS = {"backend": "required", "replica_max": "as `replicas`", "model_sha256": "none"}
"""Defaults that are not constants of a dataclass."""
REQUIRED_OF_A_KEY = {"id": "required", "key": "required"}


@cache
def tables() -> dict[str, Table]:
    """All tables, by the name in their comments."""
    return {
        "errors": _errors(),
        "settings": _settings(),
        "tenant": _fields_table("field", TenantSchema(), _defaults(Tenant)),
        "model": _fields_table("field", ModelSchema(), _defaults(ModelDefinition) | COMPUTED_DEFAULTS),
        "rule": _fields_table("field", GovernanceRuleSchema(), _defaults(GovernanceRule)),
        "mcp server": _fields_table("field", McpServerSchema(), _defaults(McpServer) | {"env": {}}),
        "signer key": _fields_table("field", SignerKeySchema(), _defaults(SignerKey) | REQUIRED_OF_A_KEY),
        "variables": _variables(),
        "metrics": _metrics(),
        "refusals": Table(("reason", "meaning"), [(f"`{name}`", about) for name, about in REASONS.items()]),
        "parameters of a load": _parameters(),
        "sampling": _sampling(),
        "clients": _clients(),
        "exit codes": Table(
            ("code", "meaning"), [(f"`{code}`", about) for code, about in EXIT_CODES.items()]
        ),
        "json": Table(("command", "what `--json` prints"), list(_json_shapes(cli, "stoker"))),
        **field_tables(),
        **{f"options of {name}": _options(BACKENDS[name].options) for name in BACKENDS},
    }


def _json_shapes(command: click.Command, words: str) -> Iterator[tuple[str, str]]:
    """What each command below this one prints with `--json`."""
    shape = next((option.shape for option in command.params if isinstance(option, JsonOption)), None)
    if shape is not None:
        yield f"`{words}`", shape
    if isinstance(command, click.Group):
        for name, below in sorted(command.commands.items()):
            yield from _json_shapes(below, f"{words} {name}")


def _clients() -> Table:
    rows = [(f"`{one.package}`", one.language, one.version, "; ".join(one.checks)) for one in clients()]
    return Table(("client", "language", "version", "what is run"), rows)


def _sampling() -> Table:
    backends = [one for one in BACKENDS.values() if not one.media_kinds]
    rows = [
        (f"`{name}`", *("yes" if name in one.sampling else "" for one in backends))
        for name in sorted(SAMPLING_FIELDS)
    ]
    return Table(("field", *(f"`{one.name}`" for one in backends)), rows)


def _parameters() -> Table:
    rows = [
        (f"`{name}`", *(BACKENDS[name].parameters.rule(parameter).about for parameter in PARAMETERS))
        for name in BACKENDS
    ]
    return Table(("backend", *(f"`{parameter}`" for parameter in PARAMETERS)), rows, listed=True)


def _errors() -> Table:
    ordered = sorted(CODES.items(), key=lambda item: (item[1].status, item[0]))
    rows = [
        (f"`{code}`", str(kind.status), f"`{kind.type}`", "yes" if kind.retry else "no")
        for code, kind in ordered
    ]
    return Table(("code", "status", "type", "retry", "meaning"), rows, written=True)


def _settings() -> Table:
    rows: list[Row] = []
    for name, field in SettingsSchema().fields.items():
        inner = getattr(field, "schema", None)
        default = getattr(Settings(), name)
        if isinstance(inner, Section):
            rows += [
                _row(f"{name}.{key}", part, getattr(default, key))
                for key, part in inner.fields.items()
                if isinstance(part, StrictField)
            ]
        elif isinstance(field, StrictField):
            rows.append(_row(name, field, default))
    return Table(("setting", "value", "unit", "default", "meaning"), rows, written=True)


def _fields_table(thing: str, schema: Section, defaults: Mapping[str, Any]) -> Table:
    rows = [_row(name, field, defaults[name]) for name, field in schema.fields.items()]
    return Table((thing, "value", "unit", "default", "meaning"), rows, written=True)


def _options(options: tuple[Option, ...]) -> Table:
    rows = [(*_row(option.name, option_field(option), option.default), option.about) for option in options]
    return Table(("option", "value", "unit", "default", "meaning"), rows)


def _variables() -> Table:
    named = [(f"`{name}`", f"`{'.'.join(path)}`") for name, path in NAMED_VARIABLES.items()]
    keys = [
        (f"`{name}`", f"an API key (in clear) of the tenant `{tenant}`")
        for name, tenant in KEY_VARIABLES.items()
    ]
    return Table(("variable", "sets"), named + keys)


def _metrics() -> Table:
    rows = [
        (f"`{one.name}`", one.type, ", ".join(f"`{label}`" for label in one.labels), one.about)
        for one in METRICS
    ]
    return Table(("metric", "type", "labels", "meaning"), rows)


def _row(name: str, field: object, default: object) -> Row:
    expects = getattr(field, "expects", "")
    unit = next((unit for end, unit in UNITS.items() if name.endswith(end)), "")
    return f"`{name}`", _without_article(expects), unit, _shown(default)


def _without_article(expects: str) -> str:
    """ "an integer from 1 to 256" becomes "integer from 1 to 256"."""
    return expects.removeprefix("a ").removeprefix("an ")


def _shown(default: object) -> str:
    if default in COMPUTED_DEFAULTS.values():
        return str(default)
    if isinstance(default, Path):
        return f"`{json.dumps(str(default.relative_to(ROOT)))}`"
    if isinstance(default, float) and default.is_integer():
        default = int(default)
    return f"`{json.dumps(list(default) if isinstance(default, tuple) else default)}`"


def _defaults(kind: Any) -> dict[str, Any]:
    return dict(_fields(kind))


def _fields(kind: Any) -> Iterator[tuple[str, Any]]:
    for field in dataclasses.fields(kind):
        if field.default is not dataclasses.MISSING:
            yield field.name, field.default
