"""The limits that are in force for a tenant."""

from __future__ import annotations

import pytest

from config.limits import limits_of
from config.settings import QueueSettings, Settings, TenancySettings, Tenant


@pytest.mark.parametrize(("depth", "waiting"), [(0, 0), (1, 1), (16, 12), (64, 48), (1000, 750)])
def test_a_tenant_fills_three_quarters_of_a_queue_beside_others_and_all_of_it_alone(depth, waiting):
    settings = Settings(queue=QueueSettings(max_depth=depth))
    assert limits_of(Tenant("acme"), settings).max_waiting == waiting
    assert limits_of(Tenant("default"), settings, several_tenants=False).max_waiting == depth


@pytest.mark.rule("runner/env/MAX_QUEUE_DEPTH", "runner/env/ENABLE_MULTI_TENANT")
def test_one_tenant_fills_a_queue_of_any_depth(load):
    settings = load({}, environ={"MAX_QUEUE_DEPTH": "1000", "ENABLE_MULTI_TENANT": "false"})
    assert limits_of(Tenant("default"), settings).max_waiting == 1000


def test_a_bound_that_is_set_counts_for_all_tenants_without_their_own():
    settings = Settings(queue=QueueSettings(max_depth=100, max_depth_per_tenant=7))
    for several in (True, False):
        assert limits_of(Tenant("acme"), settings, several_tenants=several).max_waiting == 7
        own = Tenant("acme", max_waiting=0)
        assert limits_of(own, settings, several_tenants=several).max_waiting == 0


def test_without_tenancy_there_are_never_several_tenants():
    settings = Settings(queue=QueueSettings(max_depth=8), tenancy=TenancySettings(enabled=False))
    assert limits_of(Tenant("default"), settings, several_tenants=True).max_waiting == 8
