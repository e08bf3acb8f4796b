"""The schema of a model in the configuration: the common fields, and the options of its backend."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Any, ClassVar

from marshmallow import Schema, ValidationError, validates_schema

from backends.catalogue import BACKENDS, backends_with_option
from backends.declaration import (
    FORMATS,
    LORA,
    MAX_LORAS,
    OBJECT_FORMATS,
    URL,
    VARIABLE_NAME,
    Backend,
    Option,
    format_in_words,
)
from backends.prompt_formats import PROMPT_FORMATS
from config.fields import (
    AddressField,
    Section,
    StrictField,
    as_json,
    choice,
    flag,
    integer,
    is_digest,
    mapping,
    matching,
    number,
    one_of,
    suggestion,
    text,
    texts,
    texts_by_name,
)
from config.hub_artifact import parse as parse_hub_path
from config.settings import ModelDefinition

MODEL_NAME = r"[A-Za-z0-9][\w.-]*(/(?!((un)?load|log)$)[\w.-]+)?"  # `x/load` is the path of an action on `x`


MAX_REPLICAS = 64


class ReplicaRangeSchema(Section):
    """`replicas` of a model whose replicas follow the load."""

    min = integer(1, MAX_REPLICAS)
    max = integer(1, MAX_REPLICAS)

    @validates_schema(pass_original=True, skip_on_field_errors=False)
    def _is_a_range(self, data: dict[str, Any], original: Mapping[str, Any], **_: object) -> None:
        missing = {key: ["is missing"] for key in ("min", "max") if key not in original}
        if missing:
            raise ValidationError(missing)
        if len(data) == 2 and data["min"] > data["max"]:
            raise ValidationError({"min": [f"must be at most max ({data['max']}), not {data['min']}"]})


class ReplicaField(StrictField):
    """A number of replicas, or the object of `ReplicaRangeSchema`."""

    def __init__(self) -> None:
        number_of_them = integer(1, MAX_REPLICAS)
        super().__init__(f"{number_of_them.expects} or an object with min and max", number_of_them.accepts)

    def _deserialize(self, value: Any, *_: object, **__: object) -> Any:
        if not isinstance(value, Mapping):
            return super()._deserialize(value)
        try:
            return ReplicaRangeSchema().load(value)
        except ValidationError as error:
            raise ValidationError(error.messages) from None  # without the part that is valid


def replica_range(replicas: int | Mapping[str, int]) -> tuple[int, int]:
    """The least and the largest number of replicas that the value of `replicas` names."""
    return (replicas, replicas) if isinstance(replicas, int) else (replicas["min"], replicas["max"])


class ModelSchema(Section):
    """The common part of one of `models`; `model_schema` adds the options of its backend."""

    backend = choice(BACKENDS)
    model_path = text(nullable=True)
    device = matching(r"auto|cpu|cuda(:\d+)?", '"auto", "cpu", "cuda" or "cuda:N"')
    prompt_format = choice(PROMPT_FORMATS)
    enabled = flag()
    replicas = ReplicaField()
    replica_max = integer(1, MAX_REPLICAS)
    target_inflight = integer(1, 4096)
    load_timeout_s = number(0.1, 86_400)
    on_demand = choice(("reject", "load"))
    idle_unload_s = number(1, 31_536_000, nullable=True)
    pin = flag()
    locality = choice(("off", "tenant", "fair"))
    unload_timeout_s = number(0, 86_400, nullable=True)
    model_sha256 = StrictField(
        "an object with SHA-256 digests (64 lower-case hex digits) by file name",
        lambda value: isinstance(value, Mapping) and all(map(is_digest, value.values())),
    )

    declaration: ClassVar[Backend]

    def unknown_key(self, key: str) -> str:
        """The error message for an unknown key; an option of another backend is identified as such."""
        others = backends_with_option(key)
        if others:
            backend = self.declaration.name
            return f"belongs to the backend {' or '.join(others)}; this model's backend is {backend}"
        return super().unknown_key(key)

    @validates_schema
    def _hub_paths_are_well_formed(self, data: dict[str, Any], **_: object) -> None:
        for name, value in _paths_of_files(data, self.declaration):
            try:
                parse_hub_path(value)
            except ValueError as error:
                raise ValidationError({name: [str(error)]}) from None

    @validates_schema(skip_on_field_errors=False)
    def _replicas_fit(self, data: dict[str, Any], **_: object) -> None:
        replicas = replica_range(data.get("replicas", ModelDefinition.replicas))[1]
        maximum = data.get("replica_max")
        if maximum is not None and replicas > maximum:
            raise ValidationError({"replicas": [f"must be at most replica_max ({maximum}), not {replicas}"]})
        for option in self.declaration.one_replica_with:
            if data.get(option) is not None and max(replicas, maximum or 0) > 1:
                message = "is for one replica: leave it out, and each replica gets its own"
                raise ValidationError({option: [message]})

    @validates_schema(skip_on_field_errors=False)
    def _slots_fit(self, data: dict[str, Any], **_: object) -> None:
        slots, most = data.get("target_inflight"), self.declaration.max_slots
        if slots is not None and most is not None and slots > most:
            message = f"must be at most {most} for {self.declaration.name}, not {slots}: use more replicas"
            raise ValidationError({"target_inflight": [message]})

    @validates_schema
    def _options_go_together(self, data: dict[str, Any], **_: object) -> None:
        values = {name: value for name, value in data.items() if value is not None}
        problems = {
            name: [message]
            for name, message in (*self.declaration.problems(values), *self.declaration.ineffective(values))
        }
        if problems:
            raise ValidationError(problems)

    @validates_schema(skip_on_field_errors=False)
    def _has_a_model_path(self, data: dict[str, Any], **_: object) -> None:
        if self.declaration.needs_model_path and data.get("model_path") is None:
            message = f"is missing; the backend {self.declaration.name} needs the path of a model file"
            raise ValidationError({"model_path": [message]})

    @validates_schema(pass_original=True, skip_on_field_errors=False)
    def _has_required_options(self, _data: object, original: Mapping[str, Any], **_: object) -> None:
        options = (option for option in self.declaration.options if option.name in self.declaration.required)
        missing = {
            option.name: [f"is missing; the backend {self.declaration.name} needs {option.about}"]
            for option in options
            if original.get(option.name) is None
        }
        if missing:
            raise ValidationError(missing)


def _paths_of_files(data: Mapping[str, Any], backend: Backend) -> Iterator[tuple[str, str]]:
    """The paths of a model's files, each with the field that has it."""
    for name in ("model_path", *(option.name for option in backend.options if option.artifact)):
        value = data.get(name)
        values = value.values() if isinstance(value, Mapping) else [value]
        yield from ((name, each) for each in values if isinstance(each, str))


@cache
def option_field(option: Option) -> StrictField:
    """The field that validates one option of a backend."""
    kinds: dict[str, Callable[[], StrictField]] = {
        "integer": lambda: _integer(option),
        "float": lambda: number(option.minimum, option.maximum, nullable=option.nullable),
        "enum": lambda: choice(option.choices, nullable=option.nullable),
        "string": lambda: _string(option),
        "boolean": lambda: flag(nullable=option.nullable),
        "list": lambda: texts(nullable=option.nullable),
        "object": lambda: _object(option),
    }
    return kinds[option.kind]()


def _integer(option: Option) -> StrictField:
    minimum, maximum = _int(option.minimum), _int(option.maximum)
    return integer(minimum, maximum, multiple=option.multiple or 1, nullable=option.nullable)


def _string(option: Option) -> StrictField:
    pattern = FORMATS.get(option.format or "")
    if pattern is None:
        return text(nullable=option.nullable)
    if option.format == URL:
        return AddressField(pattern, format_in_words(URL), nullable=option.nullable)
    # an operator may put the key itself in place of a variable's name
    secret = option.secret or option.format == VARIABLE_NAME
    return matching(pattern, format_in_words(option.format or ""), secret=secret, nullable=option.nullable)


def _object(option: Option) -> StrictField:
    if option.format is None:
        return mapping(nullable=option.nullable, secret=option.secret)
    if option.format == LORA:
        name, path = OBJECT_FORMATS[LORA]
        expects = (
            f"an object with the path of each of at most {MAX_LORAS} LoRA adapters, whose names are 1 to 64"
            " letters, digits, '_', '.' or '-'"
        )
        return texts_by_name(expects, name, path, most=MAX_LORAS, nullable=option.nullable)
    return texts_by_name(
        f"an object with a string for each {option.format}",
        *OBJECT_FORMATS[option.format],
        nullable=option.nullable,
        secret=option.secret,
    )


@cache
def model_schema(backend: str) -> Schema:
    """The schema of a model of this backend."""
    declaration = BACKENDS[backend]
    options = {option.name: option_field(option) for option in declaration.options}
    members: dict[str, Any] = {"declaration": declaration, "__doc__": f"A model on {backend}.", **options}
    schema: type[ModelSchema] = type(f"ModelOn_{backend}", (ModelSchema,), members)
    return schema()


def read_model(_name: str, raw: object) -> object:
    """The values of a model. Raises `ValidationError`."""
    if not isinstance(raw, Mapping):
        raise ValidationError(f"must be an object, not {as_json(raw)}")
    backend = raw.get("backend")
    if isinstance(backend, str) and backend in BACKENDS:
        return model_schema(backend).load(raw)
    if backend is None:
        raise ValidationError({"backend": [f"is missing; it must be {one_of(BACKENDS)}"]})
    hint = suggestion(backend, BACKENDS) if isinstance(backend, str) else ""
    raise ValidationError({"backend": [f"must be {one_of(BACKENDS)}, not {as_json(backend)}{hint}"]})


def _int(bound: float | None) -> int | None:
    return None if bound is None else int(bound)
