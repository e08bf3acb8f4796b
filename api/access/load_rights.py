"""Which callers may load models: administrators, and tenants that may load the models that they may use."""

from __future__ import annotations

from api.access.caller import Caller
from api.http.errors import Forbidden
from api.http.route_access import Access

SENTENCE = (
    "this request needs a key with the scope `operate` or `admin`, or one of a tenant that may load models "
    "(`may_load`)"
)


def is_admin(caller: Caller) -> bool:
    """Whether the caller has the scope `admin`."""
    return Access.ADMIN.admits(caller.key.scopes)


def may_operate(caller: Caller) -> bool:
    """Whether the caller may load, unload and cancel for all tenants."""
    return Access.OPERATE.admits(caller.key.scopes)


def may_inspect(caller: Caller) -> bool:
    """Whether the caller sees all models, and the paths of their files."""
    return Access.READ.admits(caller.key.scopes)


def may_load(caller: Caller) -> bool:
    """Whether the caller may load and unload the models that it may use."""
    return may_operate(caller) or caller.tenant.may_load


def check_may_load(caller: Caller) -> None:
    """Raise `Forbidden` unless the caller may load models."""
    if not may_load(caller):
        raise Forbidden(SENTENCE)


def sees(caller: Caller, model: str) -> bool:
    """Whether a model exists for the caller."""
    return may_inspect(caller) or caller.may_use(model)
