"""Proposed additions and removals of models, which administrators make by `/v1/admin/models` otherwise.

A proposal of an addition has the complete configuration, and a source at a commit: the defaults are those of
the moment at which it was proposed, and what is signed is what is registered.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from api.http.errors import InvalidRequest
from api.http.strict_fields import StringField
from api.http.strict_schema import SchemaMismatch, StrictSchema
from api.operations.additions_schema import AdditionBody
from api.operations.model_additions import Addition, add_model, plan_model, remove_model
from api.services import AppServices
from config.settings import ADD, REMOVE, Settings
from fleet.adding.plan import AdditionPlan
from fleet.catalogue import UnreadableModel
from fleet.configuration_digest import definition_digest
from fleet.dynamic_model import MAX_NAME, DynamicModel
from fleet.errors import StateConflict
from fleet.file_work import artifacts_of
from fleet.fleet import Fleet
from fleet.plan import Plan
from fleet.states import ModelState
from governance.authorization import Authorization
from store.errors import UnknownModel


class RemovalBody(StrictSchema):
    """A model to remove."""

    closed = True  # what is signed is what is done: no field is ignored

    name = StringField("The model's name.", required=True, min_length=1, max_length=MAX_NAME)


@dataclass(frozen=True, slots=True)
class ModelAddition:
    """Fulfils `ProposedChange`."""

    addition: Addition

    @property
    def body(self) -> Mapping[str, Any]:
        """The addition's parameters, as a proposal stores them."""
        return self.addition.body()

    @property
    def model(self) -> str | None:
        """The name of the model, if the body has one."""
        return self.addition.name

    def complete(self, services: AppServices) -> ModelAddition:
        """The same with its defaults, and a source at a commit. Raises as `plan_model`."""
        plan = plan_model(services, self.addition)
        added = plan.added.configuration
        return ModelAddition(Addition(plan.source, plan.model, added, self.addition.replace))

    def plan(self, services: AppServices) -> Plan:
        """What it would add now. Raises `Rejected`."""
        return _shown(plan_model(services, self.addition))

    def start(self, services: AppServices, authorization: Authorization, plan: Plan) -> None:  # noqa: ARG002 - see `ProposedChange`
        """Add the model, or begin its download."""
        add_model(services, self.addition, plan_model(services, self.addition), authorization)


@dataclass(frozen=True, slots=True)
class ModelRemoval:
    """Fulfils `ProposedChange`."""

    name: str

    @property
    def body(self) -> Mapping[str, Any]:
        """The removal's parameters, as a proposal stores them."""
        return {"name": self.name}

    @property
    def model(self) -> str | None:
        """The model to remove."""
        return self.name

    def plan(self, services: AppServices) -> Plan:
        """What it would remove now. Raises `UnknownModel`, `StateConflict`."""
        model = _registered(services, self.name)
        shown: dict[str, Any] = {"operation": REMOVE, "modelId": self.name, "begins": True, "problem": None}
        if isinstance(model, UnreadableModel):
            shown |= {"state": str(ModelState.UNLOADED), "artifacts": []}
            return Plan(shown, {f"the definition of {self.name}": model.digest})
        row = services[Fleet].row_of(model.definition)
        shown["state"] = str(row.state)
        if row.workers:
            problem = f"model {self.name} is {row.state}: unload it first"
            shown |= {"begins": False, "problem": {"code": "model_busy", "message": problem}}
        shown["artifacts"] = [str(artifact) for artifact in artifacts_of(model.definition)]
        return Plan(shown, {f"the definition of {self.name}": definition_digest(model.definition, {})})

    def start(self, services: AppServices, authorization: Authorization, plan: Plan) -> None:  # noqa: ARG002 - see `ProposedChange`
        """Remove the model."""
        remove_model(services, self.name, authorization)


def parse_addition(body: Mapping[str, Any]) -> ModelAddition:
    """The addition of a body. Raises `InvalidRequest`, `InvalidAddition`."""
    return ModelAddition(Addition.of_body(_checked(AdditionBody, body)))


def parse_removal(body: Mapping[str, Any]) -> ModelRemoval:
    """The removal of a body. Raises `InvalidRequest`."""
    return ModelRemoval(_checked(RemovalBody, body)["name"])


def _checked(schema: type[StrictSchema], body: Mapping[str, Any]) -> dict[str, Any]:
    checked = dict(body)
    try:
        schema.check(checked)
    except SchemaMismatch as error:
        path = error.inside("body").path
        raise InvalidRequest(f"{path} {error.message}", param=path) from None
    return checked


def _shown(plan: AdditionPlan) -> Plan:
    definition = plan.added.definition
    shown = {
        "operation": ADD,
        "modelId": plan.model,
        "begins": True,
        "problem": None,
        "definitionDigest": definition_digest(definition, {}),
        **{name: value for name, value in plan.to_dict().items() if name != "model"},
    }
    covers = {
        f"the definition of {plan.model}": definition_digest(definition, {}),
        f"the files of {plan.model}": plan.added.origin.to_dict(),
    }
    return Plan(shown, covers)


def _registered(services: AppServices, name: str) -> DynamicModel | UnreadableModel:
    if name in services[Settings].models:
        raise StateConflict(
            f"model {name} is set by the configuration", code="set_by_configuration", param="name"
        )
    fleet = services[Fleet]
    model = fleet.registered.read().get(name) or fleet.catalogue.unreadable.get(name)
    if model is None:
        raise UnknownModel(f"model {name!r} is not registered", param="name")
    return model
