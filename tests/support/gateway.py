"""A gateway that approves operations, as the origin of the Model Runner API signs them in Python."""

from __future__ import annotations

import hashlib
import hmac
import json
import secrets
import time
from pathlib import Path
from typing import Any

OPERATIONS = {"load": "model-load", "unload": "model-unload"}


class Gateway:
    """Holds the shared key, whose file is made in `folder`."""

    def __init__(self, folder: Path) -> None:
        self.key = secrets.token_hex(32).encode()
        self.path = folder / "model-api.key"
        self.path.write_bytes(self.key)
        self.path.chmod(0o600)

    def token(self, operation: str, **fields: Any) -> dict[str, Any]:
        """A verifiedOpToken, as an object. `fields` are added, and replace its own; None removes one."""
        own = {
            "operation": operation,
            "issuedAt": int(time.time()),
            "signers": ["admin1", "admin2", "admin3"],
            "nonce": secrets.token_hex(16),
        }
        op_token = {name: value for name, value in (own | fields).items() if value is not None}
        return {"opToken": op_token, "signature": self.sign(op_token)}

    def sign(self, op_token: dict[str, Any]) -> str:
        """The HMAC of an opToken."""
        text = json.dumps(op_token, sort_keys=True).encode()
        return hmac.new(self.key, text, hashlib.sha256).hexdigest()

    def load(self, model: str, **body: Any) -> dict[str, Any]:
        """The body of an approved load."""
        return {"modelId": model, **body, "verifiedOpToken": self.token("model-load", modelId=model)}

    def unload(self, model: str, **body: Any) -> dict[str, Any]:
        """The body of an approved unload."""
        return {"modelId": model, **body, "verifiedOpToken": self.token("model-unload", modelId=model)}
