"""The errors of a model that cannot be added as it was asked for."""

from __future__ import annotations

from store.errors import Rejected


class InvalidAddition(Rejected):
    """Raised for a source, a name or a configuration that cannot be added.

    `param` is the field of the request: `source`, `name`, or `configuration.<field>`.
    """

    default_code = "invalid_addition"
