"""Translates pip's configuration into uv's variables.

uv does not read pip's configuration. Operators have configured pip (`pip.conf` and the variables PIP_*), so
an index, a folder of wheels, a certificate or a proxy that pip uses is used for the runtimes as well. A
variable of uv's own that is already set takes precedence over pip's setting.

Sources: https://pip.pypa.io/en/stable/topics/configuration/, https://docs.astral.sh/uv/reference/environment/
"""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from engines.environments.install_lock import InstallError

PYPI = "https://pypi.org/simple"
PIP_SECTIONS = ("global", "install", ":env:")  # of pip's configuration, a later one takes precedence
OLD_NAMES = {"UV_DEFAULT_INDEX": "UV_INDEX_URL", "UV_INDEX": "UV_EXTRA_INDEX_URL"}  # uv reads these as well
TIMEOUT_S = 60.0

# variables that would change which packages are found, or whether they are verified
NOT_INHERITED = (
    "PYTHONPATH",
    "PYTHONHOME",
    "UV_PYTHON",
    "UV_SYSTEM_PYTHON",
    "UV_NO_VERIFY_HASHES",
    "UV_NO_PROGRESS",
    "COLUMNS",  # uv wraps its messages at this width, which are read line by line
)


@dataclass(frozen=True)
class UvSettings:
    """The variables that uv runs with, in addition to those of this process, and its command line options."""

    variables: Mapping[str, str]
    options: tuple[str, ...] = ()

    def with_index(self, index: str) -> UvSettings:
        """The same with one more package index, which is asked after all others."""
        default, others = (
            self.variables.get(name) or os.environ.get(name) or os.environ.get(OLD_NAMES[name]) or otherwise
            for name, otherwise in (("UV_DEFAULT_INDEX", PYPI), ("UV_INDEX", ""))
        )
        indexes = {"UV_INDEX": f"{others} {default}".strip(), "UV_DEFAULT_INDEX": index}
        return UvSettings({**self.variables, **indexes}, self.options)


def uv_settings() -> UvSettings:
    """The settings for uv that correspond to pip's configuration. Raises `InstallError`."""
    pip = pip_configuration()
    variables = {
        # as pip: all indexes are equal. The hashes of the lock rule out another package of the same name.
        "UV_INDEX_STRATEGY": "unsafe-best-match",
        "UV_DEFAULT_INDEX": pip.get("index-url", ""),
        "UV_INDEX": " ".join(pip.get("extra-index-url", "").split()),
        "UV_FIND_LINKS": ",".join(pip.get("find-links", "").split()),
        "UV_INSECURE_HOST": " ".join(pip.get("trusted-host", "").split()),
        "UV_HTTP_TIMEOUT": pip.get("timeout") or pip.get("default-timeout", ""),
        "UV_HTTP_RETRIES": pip.get("retries", ""),
        "UV_NO_CACHE": "true" if _is_true(pip.get("no-cache-dir", "")) else "",
        "ALL_PROXY": pip.get("proxy", ""),
        **_certificates(pip.get("cert") or os.environ.get("REQUESTS_CA_BUNDLE", "")),
        "SSL_CLIENT_CERT": pip.get("client-cert", ""),
    }
    return UvSettings(
        {
            name: value
            for name, value in variables.items()
            if value and name not in os.environ and OLD_NAMES.get(name, name) not in os.environ
        },
        ("--no-index",) if _is_true(pip.get("no-index", "")) else (),
    )


def pip_configuration() -> dict[str, str]:
    """The options that pip's files and variables set, by name; without pip only those of the variables.

    Raises `InstallError` when pip cannot read its files.
    """
    if find_spec("pip") is None:
        prefix = "PIP_"
        names = [name for name in os.environ if name.startswith(prefix)]
        return {name.removeprefix(prefix).lower().replace("_", "-"): os.environ[name] for name in names}
    argv = [sys.executable, "-I", "-m", "pip", "--disable-pip-version-check", "config", "list"]
    try:
        listed = subprocess.run(argv, capture_output=True, text=True, timeout=TIMEOUT_S, check=True).stdout
    except subprocess.CalledProcessError as error:
        reason = (error.stderr.strip().splitlines() or ["unknown"])[-1]
        raise InstallError(f"pip's configuration cannot be read; correct it: {reason}") from error
    except (OSError, subprocess.SubprocessError) as error:
        raise InstallError(f"pip's configuration cannot be read: {error}") from error
    options: dict[str, dict[str, str]] = {section: {} for section in PIP_SECTIONS}
    for line in listed.splitlines():
        key, _, value = line.partition("=")
        section, _, name = key.partition(".")
        if section in options:
            with suppress(ValueError, SyntaxError):
                options[section][name] = str(ast.literal_eval(value))
    return {name: value for section in PIP_SECTIONS for name, value in options[section].items()}


def _certificates(path: str) -> dict[str, str]:
    """The variable for a file of CA certificates, or for a folder of them."""
    if not path or "SSL_CERT_FILE" in os.environ or "SSL_CERT_DIR" in os.environ:
        return {}
    return {"SSL_CERT_DIR" if Path(path).is_dir() else "SSL_CERT_FILE": path}


def _is_true(value: str) -> bool:
    return value.strip().lower() in ("1", "true", "yes", "on", "y", "t")
