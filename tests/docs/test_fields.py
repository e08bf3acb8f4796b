"""docs/fields.md names what the dialect does with each field, checked for fields with simple values."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import marshmallow
import pytest
from marshmallow import fields

from api.http.errors import InvalidRequest
from api.http.strict_fields import EnumField, NestedField
from api.http.strict_schema import SchemaMismatch, StrictSchema
from tests.docs.dialect_fields import DIALECTS, field_tables

STRINGS = ("x", "en", "auto", "none", "low", "1", 'root ::= "a"')
VALUES: tuple[tuple[type[fields.Field[Any]], tuple[Any, ...]], ...] = (
    (fields.Boolean, (True, False)),
    (fields.Integer, (0, 1, 2, 5)),
    (fields.Float, (0, 0.25, 1.5)),
    (fields.String, STRINGS),
)

BEGUN = [{"role": "user", "content": "x"}, {"role": "assistant", "content": "y"}]
NEEDED: dict[str, dict[str, Any]] = {
    "top_logprobs": {"logprobs": True},
    "return_progress": {"stream": True},
    "continue_final_message": {"input": BEGUN},
}
"""The fields without which a field is refused."""


def examples(schema: type[StrictSchema], path: str = "") -> Iterator[tuple[str, list[Any]]]:
    """The paths of the fields with simple values, also one level down, with values that the schema takes."""
    for name, field in schema().fields.items():
        if isinstance(field, NestedField) and not path:
            yield from examples(field.schema.__class__, f"{name}.")
        values = next((values for kind, values in VALUES if isinstance(field, kind)), ())
        if isinstance(field, EnumField):
            values = field.values
        taken = [value for value in values if is_taken(field, value)]
        if taken and name != "type":  # which has no row of its own
            yield f"{path}{name}", taken


def is_taken(field: Any, value: Any) -> bool:
    try:
        field.check(value)
    except (SchemaMismatch, marshmallow.ValidationError):
        return False
    return True


@pytest.mark.parametrize("name", DIALECTS)
def test_a_field_has_the_effect_that_the_page_names(name: str) -> None:
    dialect, schema, _, smallest = DIALECTS[name]
    treatments = {row[0].strip("`"): row[1] for row in field_tables()[f"fields of {name}"].rows}
    wrong = []
    for path, values in examples(schema):
        effects = set()
        first, _, second = path.partition(".")
        body = {**smallest, **NEEDED.get(first, {})}
        plain = dialect.parse(body)
        for value in values:
            try:
                parsed = dialect.parse({**body, first: {second: value} if second else value})
            except InvalidRequest:
                effects.add("refused")
                continue
            if parsed != plain:
                effects.add("repeated" if replace(parsed, echo=plain.echo) == plain else "honoured")
        allowed = {
            "honoured": effects & {"honoured", "repeated"},
            "repeated": effects == {"repeated"},
            "ignored": not effects,
            "refused": effects == {"refused"},
            "others refused": effects <= {"refused", "repeated"},
        }
        if not allowed[treatments[path]]:
            wrong.append((path, treatments[path], effects))
    assert not wrong
