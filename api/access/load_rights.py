"""Which callers may load models: administrators, and tenants that may load the models that they may use."""

from __future__ import annotations

from api.access.caller import Caller
from api.http.errors import Forbidden
from api.http.route_access import Access
from governance.authorization import ADMIN_KEY, TENANT_KEY, Authorization

SENTENCE = (
    "this request needs a key with the scope `admin`, or one of a tenant that may load models (`may_load`)"
)


def is_admin(caller: Caller) -> bool:
    """Whether the caller has the scope `admin`: it sees all models, and the paths of their files."""
    return Access.ADMIN.admits(caller.key.scopes)


def may_load(caller: Caller) -> bool:
    """Whether the caller may load and unload the models that it may use."""
    return is_admin(caller) or caller.tenant.may_load


def check_may_load(caller: Caller) -> None:
    """Raise `Forbidden` unless the caller may load models."""
    if not may_load(caller):
        raise Forbidden(SENTENCE)


def sees(caller: Caller, model: str) -> bool:
    """Whether a model exists for the caller."""
    return is_admin(caller) or caller.may_use(model)


def authorization_of_caller(caller: Caller) -> Authorization:
    """The authority of what the caller begins."""
    return Authorization(caller.tenant.name, ADMIN_KEY if is_admin(caller) else TENANT_KEY)
