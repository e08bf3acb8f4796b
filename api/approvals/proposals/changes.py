"""What a proposal does: an operation of the lifecycle, or a change of models, tenants and keys."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from api.approvals.lifecycle.execution import execute, plan
from api.approvals.lifecycle.requests import LifecycleRequest, parse
from api.approvals.proposals.access_change import AccessChange
from api.approvals.proposals.model_change import parse_addition, parse_removal
from api.services import AppServices
from config.settings import ADD, REMOVE
from fleet.plan import Plan
from governance.authorization import Authorization
from governance.proposals.proposal import ACCESS_CHANGE


class ProposedChange(Protocol):
    """A change that was checked as far as it can be without the state of the moment."""

    @property
    def body(self) -> Mapping[str, Any]:
        """Its parameters, as a proposal keeps them: `proposed_change` makes the same of them again."""
        ...

    @property
    def model(self) -> str | None:
        """The model that it concerns."""
        ...

    def plan(self, services: AppServices) -> Plan:
        """What it would do now. Raises `Rejected` for what no state would allow, `StorageUnavailable`."""
        ...

    def start(self, services: AppServices, authorization: Authorization, plan: Plan) -> None:
        """Do what `plan` shows, or begin its operation.

        Raises `NotAuthorized`, other `Rejected`, `StorageUnavailable`.
        """
        ...


@dataclass(frozen=True, slots=True)
class LifecycleChange:
    """A load, an unload or a flush."""

    request: LifecycleRequest

    @property
    def body(self) -> Mapping[str, Any]:
        """The change's parameters, as a proposal stores them."""
        return self.request.body

    @property
    def model(self) -> str | None:
        """The model that the change concerns."""
        return self.request.model

    def plan(self, services: AppServices) -> Plan:
        """Return what the change would do now. Raises `Rejected` and `StorageUnavailable`."""
        return plan(services, self.request)

    def start(self, services: AppServices, authorization: Authorization, plan: Plan) -> None:
        """Do what the plan shows, or begin its operation."""
        execute(services, self.request, authorization, plan.shown.get("definitionDigest"))


def proposed_change(operation: str, body: Mapping[str, Any]) -> ProposedChange:
    """The change of an operation with this body. Raises `InvalidRequest`, which names the field."""
    if operation == ACCESS_CHANGE:
        return AccessChange.parse(body)
    if operation == ADD:
        return parse_addition(body)
    if operation == REMOVE:
        return parse_removal(body)
    return LifecycleChange(parse(operation, body))
