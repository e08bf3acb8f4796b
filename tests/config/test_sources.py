"""Merging the layers of the configuration."""

from __future__ import annotations

import copy

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from config.sources import deep_merge

SCALARS = (
    st.none() | st.booleans() | st.integers() | st.text(max_size=3) | st.lists(st.integers(), max_size=2)
)
# a busy machine is slow, which is no property of merging
unlimited = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
OBJECTS = st.recursive(
    st.dictionaries(st.sampled_from("abc"), SCALARS, max_size=3),
    lambda inner: st.dictionaries(st.sampled_from("abc"), SCALARS | inner, max_size=3),
    max_leaves=8,
)


def test_objects_are_merged_recursively_and_the_later_value_wins():
    base = {"models": {"a": {"enabled": True, "replicas": 2}, "b": {"enabled": True}}}
    over = {"models": {"a": {"replicas": 3}}}

    assert deep_merge(base, over) == {
        "models": {"a": {"enabled": True, "replicas": 3}, "b": {"enabled": True}}
    }


def test_lists_are_replaced_as_a_whole():
    assert deep_merge({"args": [1, 2, 3]}, {"args": [4]}) == {"args": [4]}


def test_an_explicit_null_wins_over_a_value_and_over_an_object():
    assert deep_merge({"a": 1, "b": {"c": 1}}, {"a": None, "b": None}) == {"a": None, "b": None}


@unlimited
@given(OBJECTS, OBJECTS)
def test_every_value_comes_from_the_last_layer_that_has_it(base, over):
    before = copy.deepcopy((base, over))
    merged = deep_merge(base, over)

    def check(merged, base, over):
        assert set(merged) == set(base) | set(over)
        for key, value in merged.items():
            if key in over and isinstance(over[key], dict) and isinstance(base.get(key), dict):
                check(value, base[key], over[key])
            else:
                assert value == (over[key] if key in over else base[key])

    check(merged, base, over)
    assert (base, over) == before


@unlimited
@given(OBJECTS)
def test_merging_with_an_empty_layer_or_with_itself_changes_nothing(layer):
    assert deep_merge(layer, {}) == deep_merge({}, layer) == deep_merge(layer, layer) == layer


@unlimited
@given(OBJECTS, OBJECTS, OBJECTS)
def test_merging_three_layers_of_the_same_structure_is_associative(first, second, third):
    # if a key is an object in one layer and a value in another, the order of merges matters
    def shape(layer, path=()):
        return {(*path, key): isinstance(value, dict) for key, value in layer.items()} | {
            k: v
            for key, value in layer.items()
            if isinstance(value, dict)
            for k, v in shape(value, (*path, key)).items()
        }

    shapes = [shape(layer) for layer in (first, second, third)]
    same_structure = all(
        a.get(path, kind) == kind for b in shapes for path, kind in b.items() for a in shapes
    )
    if same_structure:
        assert deep_merge(deep_merge(first, second), third) == deep_merge(first, deep_merge(second, third))
