"""The kinds of `load_constraints` and `load_recommendations` (Runtime Admin API): a form is made of them."""

from __future__ import annotations

from typing import Any

import marshmallow
from marshmallow import fields

from api.http.strict_fields import OneOfSchemasField


def _kind(name: str) -> fields.String:
    return fields.String(required=True, metadata={"enum": [name]})


def _about(description: str) -> dict[str, Any]:
    return {"metadata": {"description": description}}


class IntegerConstraint(marshmallow.Schema):
    """A whole number; a `unit` of `bytes` may be shown in `display_unit`."""

    kind = _kind("integer")
    minimum = fields.Integer()
    maximum = fields.Integer()
    step = fields.Integer()
    default = fields.Integer(allow_none=True)
    unit = fields.String()
    display_unit = fields.String()


class IntegerOrNullConstraint(marshmallow.Schema):
    """A whole number, or null with a meaning of its own."""

    kind = _kind("integer_or_null")
    minimum = fields.Integer()
    maximum = fields.Integer()
    step = fields.Integer()
    default = fields.Integer(allow_none=True)
    allowed_values = fields.List(fields.Integer(allow_none=True))
    null_means = fields.String(**_about("What null means: it is not the same as no value."))


class FloatConstraint(marshmallow.Schema):
    """A number."""

    kind = _kind("float")
    minimum = fields.Float()
    maximum = fields.Float()
    step = fields.Float()
    default = fields.Float(allow_none=True)


class EnumConstraint(marshmallow.Schema):
    """One of some texts."""

    kind = _kind("enum")
    allowed_values = fields.List(fields.String(), required=True)
    default = fields.String(allow_none=True)
    examples = fields.List(fields.String())


class StringOrNullConstraint(marshmallow.Schema):
    """A text, or null. With `allowed_values` a form offers these."""

    kind = _kind("string_or_null")
    format = fields.String()
    allowed_values = fields.List(fields.String(allow_none=True))
    default = fields.String(allow_none=True)
    examples = fields.List(fields.String(allow_none=True))
    null_means = fields.String(**_about("What null means: it is not the same as no value."))


class PairPresets(marshmallow.Schema):
    """Values of two fields that go together. Each pair has a `label` and a value for each of the `fields`."""

    kind = _kind("pair_presets")
    fields_ = fields.List(fields.String(), required=True, data_key="fields", attribute="fields")
    recommended_pairs = fields.List(fields.Dict(keys=fields.String()), required=True)
    notes = fields.List(fields.String())


class ConstraintField(OneOfSchemasField):
    """A constraint: an object of one of the `schemas`, by its `kind`."""

    schemas = (
        IntegerConstraint,
        IntegerOrNullConstraint,
        FloatConstraint,
        EnumConstraint,
        StringOrNullConstraint,
    )
