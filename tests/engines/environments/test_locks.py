"""The locks of the runtimes' environments."""

from __future__ import annotations

import re
import tomllib

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from backends.environment import FOLDER
from config.settings import ROOT
from engines.environments.pins import pins
from engines.environments.python import ENVIRONMENTS

EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
VARIANTS = [
    pytest.param(environment, variant, id=f"{environment.name}-{variant.name}")
    for environment in ENVIRONMENTS.values()
    for variant in environment.variants
]
PINNED = r"[a-z0-9.-]+==[\w.+!]+ (; [^\\]+)?\\$"
HASH = r"    --hash=sha256:[0-9a-f]{64}( \\)?"
ALONE = [pytest.param(case.values[1], id=case.id) for case in VARIANTS]


@pytest.mark.parametrize(("environment", "variant"), VARIANTS)
def test_a_lock_holds_the_requirements_of_its_extra(environment, variant):
    pinned = {pin.name: pin.version for pin in pins(variant.lock_path)}

    for requirement in map(Requirement, EXTRAS[variant.extra]):
        version = pinned.get(canonicalize_name(requirement.name))
        assert version is not None, f"{requirement} is not in {variant.lock}: run `make lock`"
        assert requirement.specifier.contains(version, prereleases=True), f"{requirement}: run `make lock`"
    assert pinned.keys() & {canonicalize_name(name) for name in environment.dists}
    assert environment.compiled is None or environment.compiled in pinned


@pytest.mark.parametrize("variant", ALONE)
def test_a_lock_pins_each_package_once_with_hashes_and_names_no_address(variant):
    lines = [line for line in variant.lock_path.read_text().splitlines() if not line.startswith("#")]
    names = [pin.name for pin in pins(variant.lock_path)]

    assert all(re.match(PINNED, line) or re.fullmatch(HASH, line) for line in lines)
    assert all(pin.hashes for pin in pins(variant.lock_path))
    assert len(names) == len(set(names))
    assert not [line for line in lines if "://" in line]


@pytest.mark.parametrize("variant", ALONE)
def test_a_package_that_is_left_out_is_in_no_lock(variant):
    locked = {line.partition("==")[0] for line in variant.lock_path.read_text().splitlines()}

    assert not locked & set(variant.left_out)


def test_every_lock_belongs_to_an_environment():
    used = {variant.lock for environment in ENVIRONMENTS.values() for variant in environment.variants}

    assert {str(path.relative_to(FOLDER)) for path in FOLDER.glob("*/locks/*")} == used


def test_both_builds_of_vllm_have_the_same_version():
    versions = {
        pin.version
        for variant in ENVIRONMENTS["vllm"].variants
        for pin in pins(variant.lock_path)
        if pin.name in ENVIRONMENTS["vllm"].dists
    }

    assert len(versions) == 1
