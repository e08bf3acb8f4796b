"""The schema of the section `webhooks`: targets, and the hosts that they may have."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from marshmallow import ValidationError, fields, validates_schema

from backends.declaration import FORMATS, VARIABLE_NAME
from config.fields import (
    AddressField,
    NamedEntries,
    Section,
    StrictField,
    flag,
    matching,
    texts,
)
from config.settings import ALERT_EVENTS, WEBHOOK_EVENTS, WebhookSettings, WebhookTarget
from config.tenant_schema import TENANT_NAME

TARGET_NAME = r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}"
URL = r"https?://(\[[0-9A-Fa-f:.]+\]|[0-9A-Za-z_.-]+)(:[0-9]{1,5})?(/[!-~]*)?"
MAX_TARGETS = 100
EVENTS = (*WEBHOOK_EVENTS, *ALERT_EVENTS)


class WebhookTargetSchema(Section):
    """One of `webhooks.targets`."""

    tenant = matching(TENANT_NAME, "the name of a tenant")
    url = AddressField(URL, "an https URL of visible characters, without a user")
    secret_variable = matching(FORMATS[VARIABLE_NAME], "a string like OPENAI_API_KEY", secret=True)
    events = StrictField(
        f"a list of {', '.join(EVENTS)}",
        lambda value: isinstance(value, list) and bool(value) and {*map(str, value)} <= {*EVENTS},
        convert=tuple,
    )

    @validates_schema
    def _is_complete(self, data: dict[str, Any], **_: object) -> None:
        of_responses = {*data.get("events", WEBHOOK_EVENTS)} & {*WEBHOOK_EVENTS}
        required = ("tenant", "url", "secret_variable") if of_responses else ("url", "secret_variable")
        missing = [name for name in required if name not in data]
        if missing:
            raise ValidationError({name: ["is missing"] for name in missing})


def _read_target(_name: str, raw: Mapping[str, Any]) -> object:
    return WebhookTargetSchema().load(raw)


class WebhookSchema(Section):
    """`webhooks`."""

    allowed_hosts = texts()
    allow_private = flag()
    targets: fields.Field[Any] = NamedEntries("webhook target", TARGET_NAME, _read_target)

    @validates_schema
    def _targets_are_allowed(self, data: dict[str, Any], **_: object) -> None:
        targets, allowed = data.get("targets", {}), {host.lower() for host in data.get("allowed_hosts", ())}
        if len(targets) > MAX_TARGETS:
            raise ValidationError({"targets": [f"has more than {MAX_TARGETS} entries"]})
        problems: dict[str, Any] = {}
        for name, target in targets.items():
            parts = urlsplit(target["url"])
            if parts.scheme != "https" and not data.get("allow_private", False):
                problems[name] = {"url": ["must be https: http needs webhooks.allow_private"]}
            elif (parts.hostname or "") not in allowed:
                message = f"has the host {parts.hostname}, which is not in webhooks.allowed_hosts"
                problems[name] = {"url": [message]}
        if problems:
            raise ValidationError({"targets": problems})


def webhook_settings(values: Mapping[str, Any]) -> WebhookSettings:
    """The settings of validated values."""
    given = values.get("targets", {})
    targets = {name: WebhookTarget(**{"tenant": None, **target}) for name, target in given.items()}
    return WebhookSettings(**{**values, "targets": targets})
