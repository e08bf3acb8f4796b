"""The tables of options."""

from __future__ import annotations

import pytest
from marshmallow import ValidationError

from config.backends import AVAILABLE, BACKENDS, KINDS, owner
from config.schema import model_schema, option_field

OPTIONS = [
    pytest.param(backend, option, id=option.name)
    for backend in BACKENDS.values()
    for option in backend.options
]
ALL = [pytest.param(option, id=option.name) for backend in BACKENDS.values() for option in backend.options]


@pytest.mark.parametrize(("backend", "option"), OPTIONS)
def test_every_option_carries_its_backend_in_its_name_and_is_fully_described(backend, option):
    assert option.name.startswith(f"{backend.name}_")
    assert option.kind in KINDS
    assert option.about
    assert (option.kind == "enum") == bool(option.choices)
    assert owner(option.name) is backend


@pytest.mark.parametrize("option", ALL)
def test_every_default_is_a_value_that_the_option_takes(option):
    default = list(option.default) if option.kind == "list" else option.default
    assert option_field(option).deserialize(default) == option.default


@pytest.mark.parametrize("option", ALL)
def test_the_bounds_of_an_option_are_inclusive(option):
    field = option_field(option)
    for bound, step in ((option.minimum, -1), (option.maximum, 1)):
        if bound is not None:
            assert field.deserialize(bound) == bound
            with pytest.raises(ValidationError):
                field.deserialize(bound + step)


def test_load_constraints_are_those_of_the_admin_api():
    constraints = {
        name: {key: value for key, value in entry.items() if key != "description"}
        for name, entry in BACKENDS["llama_server"].load_constraints.items()
    }

    assert constraints == {
        "llama_server_n_ctx": {"kind": "integer", "minimum": 1, "maximum": 100_000_000, "step": 1},
        "llama_server_image_max_tokens": {"kind": "integer", "minimum": 1, "step": 1},
        "llama_server_spec_type": {
            "kind": "enum",
            "default": "draft-mtp",
            "allowed_values": ["draft-mtp"],
            "examples": ["draft-mtp"],
        },
        "llama_server_spec_draft_n_max": {
            "kind": "integer",
            "minimum": 1,
            "maximum": 6,
            "step": 1,
            "default": 2,
        },
        "llama_server_spec_draft_p_min": {"kind": "float", "minimum": 0.0, "maximum": 1.0, "default": 0.0},
    }
    assert BACKENDS["stub"].load_constraints == {}


def test_every_available_backend_has_a_schema():
    assert AVAILABLE == ("stub", "llama_server")
    for name in AVAILABLE:
        assert {option.name for option in BACKENDS[name].options} <= set(model_schema(name).fields)
