"""The model of a request that names none, as those of llama-server's clients do.

A llama-server has one model, so its requests need not name it. A platform with one model, or a key that
allows one, is such a server; otherwise the error is that of llama-server's router.
"""

from __future__ import annotations

from typing import Any

from api.access.caller import current_caller
from api.http.errors import InvalidRequest
from api.http.strict_fields import StringField
from api.services import service
from fleet.fleet import Fleet

NOT_NAMED = "model name is missing from the request"


def model_field() -> StringField:
    """The field `model` of a request that need not name one."""
    return StringField(
        "Name of the model; the only one that the key may use unless set.",
        min_length=1,
        max_length=256,
        example="demo",
    )


def model_of(named: str | None) -> str:
    """The model of a request: the one that it names, or the only one that its key may use.

    Does no I/O. Raises `InvalidRequest` if there are several, or none.
    """
    if named:
        return named
    caller = current_caller()
    usable = [name for name in service(Fleet).catalogue.models if caller.may_use(name)]
    if len(usable) != 1:
        raise InvalidRequest(NOT_NAMED, param="model")
    return usable[0]


def with_model(body: dict[str, Any]) -> dict[str, Any]:
    """The body with its model. Raises as `model_of`."""
    return {**body, "model": model_of(body.get("model"))}
