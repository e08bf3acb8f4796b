"""The configured targets of webhooks, with the keys of their signatures."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass

from api.webhooks.signing import secrets_of
from config.errors import ConfigError
from config.settings import WebhookSettings


@dataclass(frozen=True, slots=True)
class Target:
    """Where events of a tenant are sent, and those of alerts; without a tenant only these."""

    name: str
    tenant: str | None
    url: str
    events: tuple[str, ...]
    keys: tuple[bytes, ...]


def targets_of(settings: WebhookSettings, environ: Mapping[str, str] = os.environ) -> dict[str, Target]:
    """The targets by name. Raises `ConfigError` for a variable without a usable secret."""
    targets, problems = {}, []
    for name, target in settings.targets.items():
        text = environ.get(target.secret_variable, "")
        try:
            keys = secrets_of(text)
        except ValueError as error:
            problems.append(
                f"webhooks.targets.{name}.secret_variable: {target.secret_variable} does not contain a "
                f"secret: {error}"
            )
        else:
            targets[name] = Target(name, target.tenant, target.url, target.events, keys)
    if problems:
        raise ConfigError(problems)
    return targets
