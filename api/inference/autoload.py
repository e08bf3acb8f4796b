"""`?autoload=true|false` of llama-server's router: whether a request for an unloaded model loads it.

`false` refuses the request. `true` loads a model that the caller may load (`may_load`), whatever its
`on_demand` is; for other callers `on_demand` decides, as without the parameter.
"""

from __future__ import annotations

from flask import Request

from api.access.caller import Caller
from api.access.load_rights import may_load
from api.http.parameters import query_parameter

AUTOLOAD = query_parameter(
    "autoload", "`false`: the model is not loaded for this request. `true`: it is, if the key may load it."
)
NAME = b"autoload"
TRUE = ("true", "1")


def load_choice(request: Request, caller: Caller) -> bool | None:
    """What the request says, within the rights of its caller; None: the model's `on_demand` decides."""
    if NAME not in request.query_string:  # most requests have no query
        return None
    value = request.args.get("autoload")
    if not value:
        return None
    if value not in TRUE:
        return False
    return True if may_load(caller) else None
