"""pip's configuration, translated for uv."""

from __future__ import annotations

import os

import pytest

from engines.environments import uv_settings as module
from engines.environments.install_lock import InstallError
from engines.environments.uv_settings import PYPI, UvSettings, uv_settings

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def unconfigured(monkeypatch):
    """Neither pip nor uv has settings, except those of a test."""
    for name in os.environ:
        if name.startswith(("PIP_", "UV_")) or name in (
            "SSL_CERT_FILE",
            "SSL_CERT_DIR",
            "REQUESTS_CA_BUNDLE",
        ):
            monkeypatch.delenv(name)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)


def test_without_configuration_uv_has_its_defaults_and_all_indexes_are_equal():
    assert uv_settings() == UvSettings({"UV_INDEX_STRATEGY": "unsafe-best-match"})


def test_the_variables_of_pip_become_those_of_uv(monkeypatch, tmp_path):
    for name, value in {
        "PIP_INDEX_URL": "https://mirror/simple",
        "PIP_EXTRA_INDEX_URL": "https://one/simple https://two/simple",
        "PIP_FIND_LINKS": "/wheels /more",
        "PIP_TRUSTED_HOST": "mirror",
        "PIP_DEFAULT_TIMEOUT": "180",
        "PIP_RETRIES": "7",
        "PIP_NO_CACHE_DIR": "1",
        "PIP_PROXY": "http://proxy:3128",
        "PIP_CERT": str(tmp_path / "ca.pem"),
        "PIP_NO_INDEX": "1",
    }.items():
        monkeypatch.setenv(name, value)

    settings = uv_settings()

    assert settings.options == ("--no-index",)
    assert settings.variables == {
        "UV_INDEX_STRATEGY": "unsafe-best-match",
        "UV_DEFAULT_INDEX": "https://mirror/simple",
        "UV_INDEX": "https://one/simple https://two/simple",
        "UV_FIND_LINKS": "/wheels,/more",
        "UV_INSECURE_HOST": "mirror",
        "UV_HTTP_TIMEOUT": "180",
        "UV_HTTP_RETRIES": "7",
        "UV_NO_CACHE": "true",
        "ALL_PROXY": "http://proxy:3128",
        "SSL_CERT_FILE": str(tmp_path / "ca.pem"),
    }


def test_the_file_of_pip_is_read_and_its_variables_take_precedence(monkeypatch, tmp_path):
    file = tmp_path / "pip.conf"
    file.write_text(
        "[global]\nindex-url = https://file/simple\nfind-links =\n    /one\n    /two\n"
        "timeout = 30\n[install]\ntimeout = 60\n"
    )
    monkeypatch.setenv("PIP_CONFIG_FILE", str(file))
    monkeypatch.setenv("PIP_INDEX_URL", "https://variable/simple")

    variables = uv_settings().variables

    assert variables["UV_DEFAULT_INDEX"] == "https://variable/simple"
    assert variables["UV_FIND_LINKS"] == "/one,/two"
    assert variables["UV_HTTP_TIMEOUT"] == "60"


def test_a_file_that_pip_cannot_read_is_reported(monkeypatch, tmp_path):
    file = tmp_path / "pip.conf"
    file.write_text("index-url = https://no-section/simple\n")
    monkeypatch.setenv("PIP_CONFIG_FILE", str(file))

    with pytest.raises(InstallError, match="pip's configuration cannot be read; correct it: "):
        uv_settings()


def test_without_pip_its_variables_are_read(monkeypatch):
    monkeypatch.setattr(module, "find_spec", lambda _name: None)
    monkeypatch.setenv("PIP_INDEX_URL", "https://mirror/simple")

    assert uv_settings().variables["UV_DEFAULT_INDEX"] == "https://mirror/simple"


def test_a_folder_of_certificates_has_a_variable_of_its_own(monkeypatch, tmp_path):
    monkeypatch.setenv("PIP_CERT", str(tmp_path))

    assert uv_settings().variables["SSL_CERT_DIR"] == str(tmp_path)


@pytest.mark.parametrize("name", ["UV_DEFAULT_INDEX", "UV_INDEX_URL"])
def test_a_variable_of_uv_takes_precedence_over_pips_setting(monkeypatch, name):
    monkeypatch.setenv("PIP_INDEX_URL", "https://pip/simple")
    monkeypatch.setenv(name, "https://uv/simple")

    settings = uv_settings()

    assert "UV_DEFAULT_INDEX" not in settings.variables
    assert settings.with_index("https://more").variables["UV_INDEX"] == "https://uv/simple"


def test_an_index_that_is_added_is_asked_after_the_configured_ones(monkeypatch):
    """uv asks its default index last."""
    monkeypatch.setenv("PIP_EXTRA_INDEX_URL", "https://one/simple")

    variables = uv_settings().with_index("https://more/simple").variables

    assert variables["UV_INDEX"] == f"https://one/simple {PYPI}"
    assert variables["UV_DEFAULT_INDEX"] == "https://more/simple"
