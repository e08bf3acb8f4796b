"""JSON Schemas of tools as their makers write them: of MCP servers, of zod's and of pydantic's types.

`mcp.json` is made by `node collect.mjs`, from the packages in `servers.json`. `zod.json` is the output of
tests/clients/js/zod_schemas.mjs; a test in tests/clients compares it. Those of pydantic are made here.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum, IntEnum
from functools import cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address
from pathlib import Path
from re import Pattern
from typing import Annotated, Any, Literal, NamedTuple, Optional, Union
from uuid import UUID

from annotated_types import Len, MultipleOf
from pydantic import (
    AnyUrl,
    AwareDatetime,
    Base64Bytes,
    BaseModel,
    ConfigDict,
    Field,
    HttpUrl,
    Json,
    PastDate,
    RootModel,
    SecretStr,
    StringConstraints,
    create_model,
)
from typing_extensions import TypedDict

HERE = Path(__file__).parent


class Color(Enum):
    """Values of one type."""

    RED = "red"
    BLUE = "blue"


class Level(IntEnum):
    """Values that are integers."""

    LOW = 1
    HIGH = 2


class Point(NamedTuple):
    """A tuple with names."""

    x: int
    y: int = 0


class Typed(TypedDict, total=False):
    """A dictionary with names."""

    a: str
    b: list[int]


class Node(BaseModel):
    """A tree."""

    value: int
    children: list[Node] = []
    parent: Optional[Node] = None  # noqa: UP045 - an older form that pydantic writes alike


class Cat(BaseModel):
    """An alternative."""

    kind: Literal["cat"]
    lives: int


class Dog(BaseModel):
    """Another alternative."""

    kind: Literal["dog"]
    breed: Color


class Closed(BaseModel):
    """An object without other properties."""

    model_config = ConfigDict(extra="forbid")
    a: str


class Opened(BaseModel):
    """An object with other properties."""

    model_config = ConfigDict(extra="allow")
    a: str


class Roots(RootModel[list[str]]):
    """A list."""


PYDANTIC_TYPES: dict[str, Any] = {
    "str": str,
    "int": int,
    "float": float,
    "bool": bool,
    "bytes": bytes,
    "none": None,
    "any": Any,
    "object": object,
    "date": date,
    "datetime": datetime,
    "aware datetime": AwareDatetime,
    "past date": PastDate,
    "time": time,
    "timedelta": timedelta,
    "decimal": Decimal,
    "uuid": UUID,
    "ipv4": IPv4Address,
    "ipv6": IPv6Address,
    "network": IPv4Network,
    "path": Path,
    "pattern": Pattern[str],
    "url": AnyUrl,
    "http url": HttpUrl,
    "secret": SecretStr,
    "base64": Base64Bytes,
    "json": Json[list[int]],
    "enum": Color,
    "int enum": Level,
    "literal": Literal["a", 1, None],
    "list": list[str],
    "set": set[int],
    "frozenset": frozenset[str],
    "tuple": tuple[str, int],
    "open tuple": tuple[int, ...],
    "named tuple": Point,
    "typed dict": Typed,
    "dict": dict[str, int],
    "int dict": dict[int, str],
    "enum dict": dict[Color, int],
    "uuid dict": dict[UUID, str],
    "optional": Optional[int],  # noqa: UP045
    "union": Union[int, str, list[int]],  # noqa: UP007
    "tree": Node,
    "discriminated": Annotated[Cat | Dog, Field(discriminator="kind")],
    "plain union": Cat | Dog,
    "closed": Closed,
    "opened": Opened,
    "root": Roots,
    "constrained": Annotated[str, StringConstraints(min_length=1, max_length=5)],
    "regex": Annotated[str, StringConstraints(pattern=r"^[a-z]+$")],
    "unanchored": Annotated[str, StringConstraints(pattern=r"[a-z]")],
    "bounds": Annotated[int, Field(ge=1, lt=5)],
    "multiple": Annotated[int, MultipleOf(5)],
    "lengths": Annotated[list[str], Len(1, 3)],
    "described": Annotated[int, Field(description="d", examples=[1], json_schema_extra={"x-y": 1})],
    "default": Annotated[str, Field(default="x")],
    "alias": Annotated[str, Field(alias="the alias")],
}


def pydantic_schemas() -> Iterator[tuple[str, dict[str, Any]]]:
    """The schemas of an object with each type, as input and as output."""
    for name, kind in PYDANTIC_TYPES.items():
        model = create_model("Model", x=(kind, ...))
        for mode in ("validation", "serialization"):
            yield f"{name}, {mode}", model.model_json_schema(mode=mode)


@cache
def stored(name: str) -> dict[str, Any]:
    """The content of a file of this folder."""
    found: dict[str, Any] = json.loads((HERE / name).read_text())
    return found


def tool_schemas() -> Iterator[tuple[str, dict[str, Any]]]:
    """All schemas, with names."""
    for server, tools in stored("mcp.json").items():
        for tool, schema in tools.items():
            yield f"{server}, {tool}", schema
    yield from stored("zod.json").items()
    yield from pydantic_schemas()
