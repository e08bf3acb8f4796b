"""Makes of a form's fields the body that a schema checks: forms have texts only."""

from __future__ import annotations

import math
from typing import Any

import marshmallow

from api.files.form import UploadForm
from api.http.errors import InvalidRequest
from api.http.strict_schema import SchemaMismatch, StrictSchema

_BOOLEANS = {"true": True, "1": True, "false": False, "0": False}


def form_body(form: UploadForm, schema: type[StrictSchema]) -> dict[str, Any]:
    """The fields of a form, as the values that `schema` has, and checked by it.

    A list is given as several fields, with or without `[]` behind their name (the SDKs do either). Raises
    `InvalidRequest`.
    """
    known: dict[str, Any] = schema().fields
    body: dict[str, Any] = {}
    for name in dict.fromkeys(form.fields):
        field = known.get(plain := name.removesuffix("[]"))
        if isinstance(field, marshmallow.fields.List):
            body.setdefault(plain, []).extend(form.fields.getlist(name))
        elif field is not None and name == plain:
            body[name] = _value(field, form.text(name) or "")
    try:
        schema.check(body)
    except SchemaMismatch as error:
        path = error.path or None
        message = f"{path or 'the form'} {error.message}"
        raise InvalidRequest(message, code=error.code, param=path) from None
    return body


def _value(field: Any, text: str) -> Any:
    """The value of a field's text; a text that is none stays as it is, and the schema refuses it."""
    if isinstance(field, marshmallow.fields.Boolean):
        return _BOOLEANS.get(text.strip().lower(), text)
    if isinstance(field, marshmallow.fields.Number):
        try:
            number = int(text) if isinstance(field, marshmallow.fields.Integer) else float(text)
            return number if math.isfinite(number) else text
        except (ValueError, OverflowError):
            return text
    return text
