"""The LoRA adapter of a request in llama-server's form, which gives each adapter of the model a scale."""

from __future__ import annotations

from typing import Any

from api.http.errors import ApiError, InvalidRequest, NotSupported
from api.inference import capabilities
from api.services import service
from fleet.fleet import Fleet

ONE_AT_MOST = "one adapter is applied to a request, with scale 1, or none"


def with_lora_name(body: dict[str, Any]) -> dict[str, Any]:
    """The body with the name of its adapter as `lora_name`; ids are places in the model's list `lora`.

    Does no I/O. Raises `InvalidRequest` for an unknown adapter, `NotSupported` for other scales.
    """
    applied = [entry for entry in body.get("lora") or () if entry.get("scale")]
    if not applied:
        return {**body, "lora_name": None}
    if len(applied) > 1 or applied[0]["scale"] != 1:
        raise NotSupported(ONE_AT_MOST, param="lora")
    model = service(Fleet).catalogue.models.get(body["model"])
    if model is None:
        raise InvalidRequest(f"the adapters of model {body['model']} are unknown: send no lora", param="lora")
    names = capabilities.loras(model)
    number = applied[0]["id"]
    if number >= len(names):
        raise ApiError(
            f"model {model.name} has no LoRA adapter {number}: it has {len(names)}",
            code="unknown_lora",
            param="lora",
        )
    return {**body, "lora_name": names[number]}
