"""What a backend's options are made of: how each may be configured, and how one load may change it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

KINDS = ("integer", "float", "enum", "string", "boolean", "list", "object")
LIVE_KINDS = ("integer", "integer_or_null", "float", "enum", "string_or_null")

CACHE_BITS = "<bits>|<k_bits>,<v_bits>"
VARIABLE = "OPENAI_API_KEY"
ADDRESS = "https://host/v1"
FORMATS: Mapping[str, str] = {
    CACHE_BITS: r"[2-8](,[2-8])?",
    VARIABLE: r"[A-Z_][A-Z0-9_]{0,127}",
    # without a user, a query or a fragment: none of them belongs into it
    ADDRESS: r"(?=[!-~]*\Z)(?i:https?)://(\[[^\[\]/?#@]+\]|[^\[\]/?#@:]+)(:\d*)?(/[^?#]*)?",
    "vllm_speculative_method": r"[a-z0-9_-]{1,64}",
    "hf_id_or_local_path": r"[^\0\s]{1,512}",
}
"""What a text of a format looks like, as a regular expression. Formats not listed here are words for people.
"""

HEADER, SET_VARIABLE = "header", "variable"
TEXTS_BY_NAME: Mapping[str, tuple[str, str]] = {
    HEADER: (r"[!#$%&'*+.^_`|~0-9A-Za-z-]+", r"[\x20-\x7e]*"),  # RFC 9110, 5.1 and 5.5
    SET_VARIABLE: (r"[^=\0]+", r"[^\0]*"),
}
"""What an object of a format holds: the regular expressions of its names and of their texts."""


@dataclass(frozen=True, slots=True)
class Live:
    """How one load may change an option.

    `shown` is its entry in `load_constraints`, as the Runtime Admin API has it; what a load is held to is
    read from it. `null` takes null where the kind does not say so, `open` takes values beyond
    `allowed_values` (they are what a form offers), `exact` refuses what lies between two steps.
    """

    shown: Mapping[str, Any] = field(hash=False)
    null: bool = False
    open: bool = False
    exact: bool = False

    @property
    def nullable(self) -> bool:
        """Whether null is a value of it."""
        return self.null or str(self.shown["kind"]).endswith("_or_null")

    def problem(self, value: Any) -> str | None:
        """What is wrong with a value of the right type, at or over its minimum; None when nothing is."""
        shown = self.shown
        if value is None:
            return None
        allowed = None if self.open else shown.get("allowed_values")
        if allowed is not None and value not in allowed:
            return f"must be one of {', '.join(map(str, allowed))}" + (" or null" if self.nullable else "")
        if (maximum := shown.get("maximum")) is not None and value > maximum:
            return f"must be at most {maximum}"
        if self.exact and value % shown["step"]:
            return f"must be a multiple of {shown['step']}"
        pattern = FORMATS.get(shown.get("format", ""))
        if pattern is not None and not re.fullmatch(pattern, value):
            return f"must look like {shown['format']}"
        return None


@dataclass(frozen=True, slots=True)
class Option:
    """One option field of a backend.

    `kind` is one of KINDS, the bounds are inclusive, `choices` belong to an enum. `live` options may be
    changed for one load through the admin API; the others are the operator's alone (paths, arguments).
    `format` "path" is resolved against the project's root; a "program" is one too, or a name to be found on
    PATH; others are those of FORMATS, and of TEXTS_BY_NAME for an object. `artifact` marks a file that is
    loaded beside the model's own. A `secret` is never shown.
    """

    name: str
    kind: str
    default: Any
    about: str
    nullable: bool = False
    minimum: float | None = None
    maximum: float | None = None
    multiple: int | None = None
    choices: tuple[str, ...] = ()
    format: str | None = None
    artifact: bool = False
    secret: bool = False
    live: Live | None = None

    def problem(self, value: Any) -> str | None:
        """What is wrong with a value of the right type that a load sends; None when nothing is."""
        problem = None if self.live is None else self.live.problem(value)
        bounded = self.maximum is not None and isinstance(value, (int, float))
        if problem is None and bounded and value > self.maximum:
            return f"must be at most {self.maximum}"  # what no configuration may say, no load may either
        return problem

    def constraint(self) -> dict[str, Any]:
        """The field as `load_constraints` of the admin API describes it."""
        return {**(self.live.shown if self.live else {}), "description": self.about}


@dataclass(frozen=True, slots=True)
class Backend:
    """A way to run models.

    `prefix` begins the names of its options; those in `required` must be set. Of `groups`, each one's options
    are given together, and one group's exclude those of another. An option in `needs` does nothing unless the
    one named there is set. `thinking_formats` are the prompt formats for which each request may say
    whether to think; `recommendations` are the admin API's `load_recommendations`. The models of a `remote`
    one run on somebody else's machine: they take no memory here, and each request has to allow it.
    """

    name: str
    prefix: str
    options: tuple[Option, ...] = ()
    needs_model_path: bool = True
    required: tuple[str, ...] = ()
    remote: bool = False
    takes_hub_ids: bool = False
    groups: tuple[tuple[str, ...], ...] = ()
    needs: Mapping[str, str] = field(default_factory=dict)
    thinking_formats: tuple[str, ...] = ()
    recommendations: Mapping[str, Any] = field(default_factory=dict)

    def option(self, name: str) -> Option | None:
        """The option of that name, or None."""
        return next((option for option in self.options if option.name == name), None)

    @property
    def live(self) -> dict[str, Live]:
        """What one load may change, by field name."""
        return {option.name: option.live for option in self.options if option.live is not None}

    @property
    def load_constraints(self) -> dict[str, dict[str, Any]]:
        """The same, as the admin API shows it."""
        return {option.name: option.constraint() for option in self.options if option.live is not None}

    def problems(self, values: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
        """What is wrong between these options (name, in words): groups that are split, or mixed."""
        given = [[name for name in group if name in values] for group in self.groups]
        for group, names in zip(self.groups, given, strict=True):
            if names and len(names) < len(group):
                missing = next(name for name in group if name not in values)
                yield names[0], f"goes together with {missing}"
            elif len({values[name] is None for name in names}) > 1:
                yield names[0], f"must be null where {', '.join(names[1:])} is, and only there"
        present = [names for names in given if names]
        if len(present) > 1:
            yield present[1][0], f"cannot be combined with {present[0][0]}"

    def idle(self, values: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
        """Those of these options (name, in words) that do nothing, for what they need is not set."""
        defaults = {option.name: option.default for option in self.options}
        for name, needed in self.needs.items():
            if values.get(name) not in (None, defaults[name]) and not values.get(needed):
                yield name, f"does nothing without {needed}: set that too, or leave this out"

    def expanded(self, options: Mapping[str, Any], override: Mapping[str, Any]) -> dict[str, Any]:
        """The override, with a null for each configured option that it excludes: to be laid over by key."""
        if not any(name in override for group in self.groups for name in group):
            return dict(override)
        others = (name for group in self.groups for name in group if name not in override)
        return {**override, **{name: None for name in others if options.get(name) is not None}}

    def merged(self, options: Mapping[str, Any], override: Mapping[str, Any]) -> dict[str, Any]:
        """The options in force: `override` laid over `options` by key, null included.

        An override of one group takes the configured values of the other groups with it.
        """
        return {**options, **self.expanded(options, override)}
