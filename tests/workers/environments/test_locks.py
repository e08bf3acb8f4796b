"""The locks of the runtimes."""

from __future__ import annotations

import re
import tomllib

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from backends.environment import FOLDER
from config.settings import ROOT
from workers.environments.pins import pins
from workers.environments.table import ENVIRONMENTS

EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
VARIANTS = [
    pytest.param(environment, variant, id=f"{environment.name}-{variant.name}")
    for environment in ENVIRONMENTS.values()
    for variant in environment.variants
]
ALONE = [pytest.param(case.values[1], id=case.id) for case in VARIANTS]


@pytest.mark.parametrize(("environment", "variant"), VARIANTS)
def test_a_lock_holds_what_its_extra_asks_for(environment, variant):
    pinned = {pin.name: pin.version for pin in pins(variant.lock_path)}

    for requirement in map(Requirement, EXTRAS[variant.extra]):
        version = pinned.get(canonicalize_name(requirement.name))
        assert version is not None, f"{requirement} is not in {variant.lock}: run `make lock`"
        assert requirement.specifier.contains(version, prereleases=True), f"{requirement}: run `make lock`"
    assert pinned.keys() & {canonicalize_name(name) for name in environment.dists}
    assert environment.compiled is None or environment.compiled in pinned


@pytest.mark.parametrize("variant", ALONE)
def test_a_lock_pins_each_package_once_and_names_no_address(variant):
    lines = [line for line in variant.lock_path.read_text().splitlines() if not line.startswith("#")]
    names = [pin.name for pin in pins(variant.lock_path)]

    assert all(re.match(r"[a-z0-9.-]+==[\w.+!]+( ;|$)", line) for line in lines)
    assert len(names) == len(set(names))
    assert not [line for line in lines if "://" in line]


@pytest.mark.parametrize("variant", ALONE)
def test_what_is_left_out_is_nowhere(variant):
    everywhere = {line.partition("==")[0] for line in variant.lock_path.read_text().splitlines()}

    assert not everywhere & set(variant.left_out)


def test_every_lock_belongs_to_an_environment():
    used = {variant.lock for environment in ENVIRONMENTS.values() for variant in environment.variants}

    assert {str(path.relative_to(FOLDER)) for path in FOLDER.glob("*/locks/*")} == used


def test_both_builds_of_vllm_are_of_one_version():
    versions = {
        pin.version
        for variant in ENVIRONMENTS["vllm"].variants
        for pin in pins(variant.lock_path)
        if pin.name in ENVIRONMENTS["vllm"].dists
    }

    assert len(versions) == 1
