"""Tenants by key, and the file of generated keys."""

from __future__ import annotations

import json
import stat
from dataclasses import replace

import pytest

from config.api_keys import ALL_SCOPES, INFERENCE, digest_of
from config.errors import ConfigError
from config.generated_keys import FILE, GeneratedKeys, ensure_keys, read_keys
from config.settings import Settings, Tenant
from config.tenants import Tenants


@pytest.fixture
def settings(tmp_path):
    return Settings(
        data_dir=tmp_path / "data",
        tenants={"acme": Tenant("acme", api_keys_sha256=(digest_of("sk-acme"), digest_of("sk-acme-2")))},
    )


def keys_of(settings):
    """The configured keys by digest."""
    return {key.digest: key for key in Tenants(settings).api_keys()}


def test_the_keys_of_a_tenant_are_its_own_and_have_the_scope_inference(settings):
    keys = keys_of(settings)

    assert keys.keys() == {digest_of("sk-acme"), digest_of("sk-acme-2")}
    assert {(key.tenant, key.scopes, key.configured) for key in keys.values()} == {("acme", INFERENCE, True)}
    assert len({key.id for key in keys.values()}) == 2


def test_the_fields_that_the_configuration_names_are_known(load):
    settings = load(
        {"tenants": {"acme": {"weight": 1}, "default": {}}},
        environ={"TENANT_RATE_LIMIT_acme": "5/s", "TENANT_RATE_LIMIT_beta": "5/s"},
    )

    assert {tenant.name: tenant.configured for tenant in Tenants(settings).all()} == {
        "default": (),
        "acme": ("rate_limit", "weight"),
        "beta": ("rate_limit",),
    }


def test_there_is_always_a_default_tenant(settings):
    tenants = Tenants(settings)

    assert tenants.by_name("default") == Tenant("default")
    assert tenants.by_name("unknown") is None
    assert {tenant.name for tenant in tenants.all()} == {"acme", "default"}


def test_the_platform_needs_no_key_if_no_tenant_has_one(settings):
    assert Tenants(settings).any_keys
    assert not Tenants(replace(settings, tenants={})).any_keys


def test_generated_keys_belong_to_default_and_admin(settings):
    keys = ensure_keys(settings.data_dir)
    known = keys_of(settings)

    default, admin = known[digest_of(keys.api_key)], known[digest_of(keys.admin_key)]
    assert (default.tenant, default.scopes) == ("default", INFERENCE)
    assert (admin.tenant, admin.scopes) == ("admin", ALL_SCOPES)


def test_keys_are_generated_once_and_readable_by_their_owner_only(tmp_path):
    first = ensure_keys(tmp_path / "data")

    assert ensure_keys(tmp_path / "data") == first == read_keys(tmp_path / "data")
    assert stat.S_IMODE((tmp_path / "data" / FILE).stat().st_mode) == 0o600
    assert [path.name for path in (tmp_path / "data").iterdir()] == [FILE]
    assert len({first.api_key, first.admin_key, first.redis_password, first.flower_password}) == 4


def test_keys_are_not_part_of_their_repr():
    keys = GeneratedKeys()

    assert keys.api_key not in repr(keys)


@pytest.mark.parametrize("content", ["", "{", "[]", "null", '{"api_key": "sekrit"}', '{"api_key": 1}'])
def test_the_error_of_a_damaged_key_file_is_one_sentence_without_its_content(tmp_path, content):
    (tmp_path / FILE).write_text(content)

    with pytest.raises(ConfigError, match="is damaged; remove it, and new keys are generated") as caught:
        read_keys(tmp_path)
    assert "sekrit" not in str(caught.value)


def test_a_key_that_is_no_string_counts_as_damage(tmp_path):
    (tmp_path / FILE).write_text(json.dumps(dict.fromkeys(GeneratedKeys.__dataclass_fields__, 1)))

    with pytest.raises(ConfigError, match="damaged"):
        read_keys(tmp_path)
