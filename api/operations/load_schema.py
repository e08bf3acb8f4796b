"""The body of a load request, generated from the backends' option declarations."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from marshmallow import fields

from api.access.governed_admin import AdminChange
from api.http.strict_fields import IntegerField, NumberField, StringField
from api.http.strict_schema import StrictSchema
from backends.catalogue import BACKENDS, backends_with_option, load_fields
from backends.declaration import LoadField
from fleet.load_request import LoadRequest

EVICT = "evictModel"


def _field(name: str, load_field: LoadField) -> fields.Field[Any]:
    """A field for the option's type and minimum; the load checks the other constraints."""
    constraint = load_field.constraint
    description = _description(name, load_field)
    field: fields.Field[Any]
    if constraint["kind"] in ("integer", "integer_or_null"):
        field = IntegerField(description, minimum=constraint["minimum"])
    elif constraint["kind"] == "float":
        field = NumberField(description, minimum=constraint["minimum"])
    else:
        field = StringField(description, min_length=1, max_length=512)
    field.allow_none = load_field.nullable
    return field


def _description(name: str, load_field: LoadField) -> str:
    backends = backends_with_option(name)
    option = BACKENDS[backends[0]].option(name)
    constraint = load_field.constraint
    allowed = constraint.get("allowed_values")
    listed = "For example" if load_field.other_values else "One of"
    return (
        f"{', '.join(backends)}: {option.load_about if option else ''}."
        + (f" {listed} {', '.join(map(str, allowed))}." if allowed else "")
        + (f" At most {constraint['maximum']}." if "maximum" in constraint and not allowed else "")
    )


class LoadBody(StrictSchema):
    """Options of one load; absent fields are taken from the configuration. The body may be empty."""

    closed = True  # an unknown override must not be ignored silently
    unknown_field = "is not a field of a load: the model's `load_constraints` has those that there are"

    replicas = IntegerField(
        "How many replicas, for this load only; at most the model's `replica_max`.", minimum=1
    )


LoadRequestBody: type[StrictSchema] = type(
    "LoadRequest",
    (LoadBody,),
    {
        "__doc__": LoadBody.__doc__,
        EVICT: StringField("A model to unload first, to free memory.", min_length=1, max_length=256),
        **{name: _field(name, load_field) for name, load_field in load_fields().items()},
    },
)
"""The fields of all backends. A field that the model's backend does not have is refused (400)."""


def requested_load(body: Mapping[str, Any]) -> LoadRequest:
    """The load that a checked body asks for."""
    override = {key: value for key, value in body.items() if key not in ("replicas", EVICT)}
    return LoadRequest(replicas=body.get("replicas"), override=override, evict=body.get(EVICT))


def load_change(name: str, body: Mapping[str, Any]) -> AdminChange:
    """The same load as a change that an administrator proposes, where that is needed."""
    proposed = {"modelId": name} | ({EVICT: body[EVICT]} if body.get(EVICT) else {})
    return AdminChange("load", name, "model-load", proposed)
