"""The environment of the processes that talk to a hub."""

from __future__ import annotations

import os
from collections.abc import Mapping

PASSED = ("PATH", "HOME", "LANG", "TMPDIR", "LD_LIBRARY_PATH", "XDG_CACHE_HOME")
PASSED_PREFIXES = ("HF_", "HTTP_", "HTTPS_", "NO_PROXY", "http_", "https_", "no_proxy", "SSL_", "REQUESTS_CA")


def hub_environment(environ: Mapping[str, str] = os.environ) -> dict[str, str]:
    """What concerns the hub and the way to it, and no secret of the platform."""
    passed = {
        name: value for name, value in environ.items() if name in PASSED or name.startswith(PASSED_PREFIXES)
    }
    quiet = {"HF_HUB_DISABLE_TELEMETRY": "1", "HF_HUB_DISABLE_PROGRESS_BARS": "1"}
    return quiet | passed | {"HF_HUB_DISABLE_UPDATE_CHECK": "1"}
