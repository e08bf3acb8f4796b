"""Which callers may run workflows of their own: administrators, and tenants with `comfyui_workflows`."""

from __future__ import annotations

from api.access.caller import Caller
from api.access.load_rights import is_admin
from api.http.errors import Forbidden


def check_may_run_workflows(caller: Caller) -> None:
    """Raise `Forbidden` (workflows_not_allowed) unless the caller may run workflows of its own."""
    if not (is_admin(caller) or caller.tenant.comfyui_workflows):
        raise Forbidden(
            "this request needs a key with the scope `admin`, or one of a tenant with `comfyui_workflows`",
            code="workflows_not_allowed",
        )
