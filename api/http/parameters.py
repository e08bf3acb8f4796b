"""The query parameters and headers of the routes, as OpenAPI describes them, and functions that read them."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeVar

from flask import request
from werkzeug.routing import BaseConverter, PathConverter

from api.http.errors import InvalidRequest
from config.integers import read_integer

Item = TypeVar("Item")


def header_parameter(name: str, about: str, **schema: Any) -> dict[str, Any]:
    """Return a header of type string as OpenAPI describes it; `schema` has further keywords of its schema."""
    return {"name": name, "in": "header", "description": about, "schema": {"type": "string", **schema}}


PREFER = header_parameter(
    "Prefer",
    "`wait=N` (RFC 7240): wait up to N seconds, at most 600, for the end instead of polling.",
    pattern="^wait=[0-9]{1,3}$",
)
LAST_EVENT_ID = header_parameter(
    "Last-Event-ID",
    "The id of the last event that the client has received.",
    pattern="^[0-9]{1,20}-[0-9]{1,20}$",
)
STREAM = {
    "name": "stream",
    "in": "query",
    "description": "Answer with server-sent events: all from the first one, then those to come.",
    "schema": {"type": "boolean"},
}
STARTING_AFTER = {
    "name": "starting_after",
    "in": "query",
    "description": "With `stream`: only the events with a `sequence_number` greater than this.",
    "schema": {"type": "integer", "minimum": 0, "maximum": 2**31 - 1},
}


MAX_PAGE = 1000
LIMIT = {
    "name": "limit",
    "in": "query",
    "description": "The most items of the page; 100 unless set.",
    "schema": {"type": "integer", "minimum": 0, "maximum": MAX_PAGE},
}
AFTER = {
    "name": "after",
    "in": "query",
    "description": "The `last_id` of the page before.",
    "schema": {"type": "string", "maxLength": 256},
}


ORDERS = ("asc", "desc")
"""The values of the query parameter `order`."""


def page_of(items: Sequence[Item], id_of: Callable[[Item], str]) -> tuple[list[Item], dict[str, Any]]:
    """The page that `limit` and `after` ask for, and the other keys of the list.

    The items are sorted by their ids. Raises `InvalidRequest`.
    """
    limit, after = integer_parameter("limit", MAX_PAGE), request.args.get("after", "")
    rest = [item for item in items if id_of(item) > after]
    page = rest[: 100 if limit is None else limit]
    return page, list_keys([id_of(item) for item in page], has_more=len(page) < len(rest))


def page_size_parameter(items: str, default: int, maximum: int) -> dict[str, Any]:
    """The query parameter `limit` of a list whose pages are not empty, as OpenAPI describes it."""
    return {
        "name": "limit",
        "in": "query",
        "description": f"The most {items} of the page; {default:,} unless set.",
        "schema": {"type": "integer", "minimum": 1, "maximum": maximum},
    }


@dataclass(frozen=True, slots=True)
class PageRequest:
    """What `limit` and `after` ask for: at most so many items, after the one with this id ("": the first)."""

    most: int
    after: str

    def of(
        self,
        items: Sequence[Item],
        id_of: Callable[[Item], str],
        noun: str,
        is_wanted: Callable[[Item], bool] = lambda _: True,
    ) -> tuple[list[Item], dict[str, Any]]:
        """The page, and the other keys of the list.

        The items are in the order of the list; `after` has to be the id of one of them, wanted or not. `noun`
        is for the message, with its article ("a file"). Raises `InvalidRequest`.
        """
        if self.after:
            place = next((at for at, item in enumerate(items) if id_of(item) == self.after), None)
            if place is None:
                raise InvalidRequest(f"after must be the id of {noun}", param="after")
            items = items[place + 1 :]
        found = [item for item in items if is_wanted(item)]
        page = found[: self.most]
        return page, list_keys([id_of(item) for item in page], has_more=len(page) < len(found))


def page_request(default: int, maximum: int) -> PageRequest:
    """The page that the query asks for, with `limit` from 1. Raises `InvalidRequest`."""
    limit = integer_parameter("limit", maximum, minimum=1)
    return PageRequest(default if limit is None else limit, request.args.get("after", ""))


def two_way_page(
    items: Sequence[Item], id_of: Callable[[Item], str], noun: str, *, default: int, maximum: int
) -> tuple[list[Item], dict[str, Any]]:
    """The page that Anthropic's `limit`, `after_id` and `before_id` ask for, and the other keys of the list.

    `before_id` outweighs `after_id`; `noun` as in `PageRequest.of`. Raises `InvalidRequest`.
    """
    limit = integer_parameter("limit", maximum, minimum=1) or default
    places = {id_of(item): at for at, item in enumerate(items)}
    after, before = request.args.get("after_id"), request.args.get("before_id")
    for name, given in (("after_id", after), ("before_id", before)):
        if given and given not in places:
            raise InvalidRequest(f"{name} must be the id of {noun}", param=name)
    if before:
        rest = items[: places[before]]
        page = rest[-limit:]
    else:
        rest = items[places[after] + 1 :] if after else items
        page = rest[:limit]
    keys = list_keys([id_of(item) for item in page], has_more=len(page) < len(rest))
    return list(page), keys


def list_keys(ids: Sequence[str], *, has_more: bool) -> dict[str, Any]:
    """The keys of a list beside its page, which has these ids."""
    first, last = (ids[0], ids[-1]) if ids else (None, None)
    return {"object": "list", "has_more": has_more, "first_id": first, "last_id": last}


def query_parameter(
    name: str,
    about: str,
    type: str = "string",
    *,
    required: bool = False,
    example: str | None = None,
    **schema: Any,
) -> dict[str, Any]:
    """A query parameter, as OpenAPI describes it; `schema` has further keywords of its schema."""
    parameter: dict[str, Any] = {
        "name": name,
        "in": "query",
        "description": about,
        "schema": {"type": type, **schema},
    }
    if required:
        parameter["required"] = True
    return parameter if example is None else {**parameter, "example": example}


def choice_parameter(name: str, about: str, values: Sequence[str]) -> dict[str, Any]:
    """An optional query parameter that has one of these values, as OpenAPI describes it."""
    return query_parameter(name, about, enum=list(values))


ITEM_PAGE, MAX_ITEM_PAGE = 20, 100
"""Items of a response or a conversation in one page, unless the request says otherwise, and at most."""

ITEM_LIST = (
    page_size_parameter("items", ITEM_PAGE, MAX_ITEM_PAGE),
    AFTER,
    choice_parameter("order", "By their places; `desc` unless set.", ORDERS),
)
"""The query parameters of a list of these."""


def chosen(name: str, values: Sequence[str]) -> str | None:
    """A query parameter that has one of these values; None unless given. Raises `InvalidRequest`."""
    given = request.args.get(name)
    if given is not None and given not in values:
        raise InvalidRequest(f"{name} must be one of {', '.join(values)}", param=name)
    return given


TIME_FORMS = "Unix time in seconds, or a date and time such as 2026-01-31T12:00:00Z."
"""What `time_parameter` reads, for descriptions."""


def time_parameter(name: str) -> float | None:
    """A query parameter that is a time, in Unix seconds; None unless given. Raises `InvalidRequest`."""
    text = request.args.get(name)
    if text is None:
        return None
    if re.fullmatch(r"\d{1,12}(\.\d{1,9})?", text, re.ASCII):
        return float(text)
    try:
        at = datetime.fromisoformat(text) if len(text) <= 40 else None
        if at is not None and at.tzinfo is not None:
            return at.timestamp()
    except (ValueError, OverflowError):
        pass
    raise InvalidRequest(
        f"{name} must be Unix time in seconds, or a date and time with a zone such as 2026-01-31T12:00:00Z",
        param=name,
    )


def boolean_parameter(name: str) -> bool:
    """A boolean query parameter; False unless given. Raises `InvalidRequest`."""
    value = request.args.get(name)
    if value is None:
        return False
    if value.lower() not in ("true", "false"):
        raise InvalidRequest(f"{name} must be true or false", param=name)
    return value.lower() == "true"


_STREAM_ID = re.compile(r"\d{1,20}-\d{1,20}", re.ASCII)


def is_stream_id(text: str) -> bool:
    """Whether the text has the form of a Redis stream's entry id: two numbers of 64 bits."""
    return _STREAM_ID.fullmatch(text) is not None and all(int(part) < 1 << 64 for part in text.split("-"))


def stream_position(name: str) -> str:
    """A query parameter that is the id of an entry of a stream in Redis; "" unless given.

    Raises `InvalidRequest`.
    """
    given = request.args.get(name, "")
    if given and not is_stream_id(given):
        raise InvalidRequest(f"{name} is not the id of an entry in this list", param=name)
    return given


def integer_parameter(name: str, maximum: int = 2**31 - 1, *, minimum: int = 0) -> int | None:
    """An integer query parameter from `minimum` to `maximum`; None unless given. Raises `InvalidRequest`."""
    value = request.args.get(name)
    if value is None:
        return None
    return integer_text(name, value, minimum, maximum)


def integer_text(name: str, text: str, minimum: int, maximum: int) -> int:
    """The integer in the text of a parameter, a header or a form's field. Raises `InvalidRequest`."""
    try:
        return read_integer(text, minimum, maximum)
    except ValueError as error:
        raise InvalidRequest(f"{name} {error}", param=name) from None


class TaskIdConverter(BaseConverter):
    """An operation's id in a path, `<task:id>`: also one that none has, such as `load-abc123`.

    It looks like no model's name, which may have slashes.
    """

    regex = r"(?:load|unload|flush)[_-][A-Za-z0-9_-]{1,64}"


class AnyTextConverter(PathConverter):
    """The rest of a path, `<any_text:id>`, with any characters: the view says what is wrong with them."""

    part_isolating = False
    regex = r"[\s\S]+?"


class ModelNameConverter(PathConverter):
    """A model's name in a path, `<model:name>`: with slashes, but not `x/load` or `x/log`.

    So a GET of an action's path is 405, and not 404 for a model of that name.
    """

    regex = r"(?!.*/(?:(?:un)?load(?:/plan)?|log)$)[^/].*?"
