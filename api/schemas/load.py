"""The body of a load: made from the backends' tables, so that none of it is written twice."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from marshmallow import fields

from api.schemas.strict_fields import Number, Text, Whole
from api.schemas.strict_schema import Shape
from backends.catalogue import BACKENDS, backends_with_option, load_fields
from backends.declaration import LoadField

EVICT = "evictModel"


def _field(name: str, load_field: LoadField) -> fields.Field[Any]:
    """A field that takes the right type at or over the minimum: what else is wrong is no matter of shape."""
    constraint = load_field.constraint
    about = _about(name, constraint)
    made: fields.Field[Any]
    if constraint["kind"] in ("integer", "integer_or_null"):
        made = Whole(about, least=constraint["minimum"])
    elif constraint["kind"] == "float":
        made = Number(about, least=constraint["minimum"])
    else:
        made = Text(about, least=1, most=512)
    made.allow_none = load_field.nullable
    return made


def _about(name: str, constraint: Mapping[str, Any]) -> str:
    backends = backends_with_option(name)
    option = BACKENDS[backends[0]].option(name)
    allowed = constraint.get("allowed_values")
    return (
        f"{', '.join(backends)}: {option.about if option else ''}."
        + (f" One of {', '.join(map(str, allowed))}." if allowed else "")
        + (f" At most {constraint['maximum']}." if "maximum" in constraint and not allowed else "")
    )


class LoadBody(Shape):
    """How to load a model; an empty object, or no body, takes everything from the configuration."""

    closed = True  # an override that is not known must not be dropped in silence

    replicas = Whole("How many replicas, for this load only; at most the model's `replica_max`.", least=1)


LoadRequestBody: type[Shape] = type(
    "LoadRequest",
    (LoadBody,),
    {
        "__doc__": LoadBody.__doc__,
        EVICT: Text("A model to unload first, to make room.", least=1, most=256),
        **{name: _field(name, load_field) for name, load_field in load_fields().items()},
    },
)
"""All that a load may say, of any backend. What does not belong to the model's own is 400."""
