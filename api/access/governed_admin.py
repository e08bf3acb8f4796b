"""With `governance.admin: governed`, administrators change nothing by themselves: they propose it.

It binds loads, unloads, flushes, and changes of tenants and keys through `/v1/admin`. The cancellation of a
load stays an administrator's: it only stops what is under way. What the platform does by itself is not bound:
the loads of enabled models at its start, restarts, recovery.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from api.access.authority import authority_of
from api.access.caller import Caller
from api.http.errors import Forbidden
from api.services import AppServices
from config.settings import SIGNED, Settings
from governance.audit import AuditLog

GOVERNED = "governed"
ROUTES = {
    "model-load": "/v1/models/load",
    "model-unload": "/v1/models/unload",
    "cache-flush": "/v1/cache/flush",
}
"""Of the operations that an opToken can approve."""


class NeedsProposal(Forbidden):
    """Raised for a change that needs a proposal, or an opToken; the attempt has been recorded."""

    default_code = "governance_required"


@dataclass(frozen=True, slots=True)
class AdminChange:
    """What an administrator asks for: `action` and `subject` as the audit has them.

    `operation` and `body` propose the same. `command` does that better than `stoker op propose`, if set.
    """

    action: str
    subject: str
    operation: str
    body: Mapping[str, Any]
    command: str = ""

    def proposing_command(self) -> str:
        """The command that proposes it."""
        text = shlex.quote(orjson.dumps(dict(self.body)).decode())
        return self.command or f"echo {text} | stoker op propose {self.operation} -"


def check_not_governed(services: AppServices, caller: Caller, change: AdminChange) -> None:
    """Raise `NeedsProposal` if a change needs a proposal, and record the attempt."""
    refusal = governed_refusal(services, change)
    if refusal is not None:
        detail = {"reason": "governance_required", "proposed": change.operation}
        services[AuditLog].record(
            authority_of(caller).event(change.action, change.subject, "refused", detail)
        )
        raise refusal


def governed_refusal(services: AppServices, change: AdminChange) -> NeedsProposal | None:
    """The refusal of a change that needs a proposal or an opToken; None if an administrator may make it."""
    if services[Settings].governance.admin != GOVERNED:
        return None
    if services[Settings].governance.rules[change.operation].mode != SIGNED:
        return NeedsProposal(
            f"this platform is governed, and the rule for {change.operation} requires an opToken: send "
            f"`POST {ROUTES[change.operation]}` with one; `stoker op sign {change.operation}` creates it"
        )
    return NeedsProposal(
        "this platform is governed, and this change needs a signed proposal: propose it with "
        f"`{change.proposing_command()}`"
    )
