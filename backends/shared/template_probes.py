"""What the chat template of a server renders, which the server is asked for at the load."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from backends.base import LoadError
from backends.shared.engine.template_roles import PROBE_TOOL, PROBES, TemplateRoles
from backends.shared.http_engine import TIMEOUT_S
from http_client.client import HttpError

RolesByTools = Mapping[bool, TemplateRoles]
"""What a template accepts in requests without tools (False) and with some (True)."""

UNKNOWN_ROLES: RolesByTools = MappingProxyType({})

TOO_SLOW = (
    f"the model's chat template takes more than {TIMEOUT_S:g} s to render a short conversation: use another"
    " conversion of the model"
)

log = logging.getLogger(__name__)


class TemplateTooSlow(LoadError):
    """Raised for a template that the server does not render in time."""


def probed_roles(render: Callable[[dict[str, Any]], str]) -> RolesByTools:
    """The roles of the template with which `render` makes the prompt of a body.

    For what the server refuses, `render` raises one of HttpError, LookupError and TypeError. Raises
    `TemplateTooSlow` if the server does not answer in time.
    """
    return {tools: TemplateRoles.of(_prompts(render, tools=tools)) for tools in (False, True)}


def fit_messages(body: dict[str, Any], roles: RolesByTools) -> None:
    """Fit the messages of a body to the template."""
    known = roles.get("tools" in body)
    if known is not None and "messages" in body:
        body["messages"] = known.fitted(body["messages"])


def _prompts(render: Callable[[dict[str, Any]], str], *, tools: bool) -> dict[str, str | None]:
    found: dict[str, str | None] = {}
    for name, messages in PROBES.items():
        try:
            found[name] = render({"messages": messages, **({"tools": [PROBE_TOOL]} if tools else {})})
        except (HttpError, LookupError, TypeError) as error:
            if isinstance(error.__cause__, TimeoutError):
                raise TemplateTooSlow("load_failed", TOO_SLOW) from error
            log.debug("the server does not render the probe %s: %s", name, error)
            found[name] = None
    return found
