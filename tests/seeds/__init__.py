"""The specifications that the project follows: their examples, stored word for word, as test data."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

RUNTIME_ADMIN_API: dict[str, Any] = json.loads(
    Path(__file__).with_name("runtime_admin_api.json").read_text(encoding="utf-8")
)
"""The examples of the Runtime Admin API; only the folder of its model files is another."""

MODEL_RUNNER_FILE = Path(__file__).with_name("model_runner_api.json")
MODEL_RUNNER_API: dict[str, Any] = json.loads(MODEL_RUNNER_FILE.read_text(encoding="utf-8"))
"""The examples of the Model Runner API."""
