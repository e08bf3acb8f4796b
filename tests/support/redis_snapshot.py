"""A snapshot of all keys under one prefix, read in one call."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import orjson
import redis

DUMP = """
local out = {}
for _, key in ipairs(redis.call('KEYS', KEYS[1] .. '*')) do
  local kind, value = redis.call('TYPE', key)['ok'], {}
  if kind == 'hash' then value = redis.call('HGETALL', key)
  elseif kind == 'zset' then value = redis.call('ZRANGE', key, 0, -1, 'WITHSCORES')
  elseif kind == 'set' then value = redis.call('SMEMBERS', key)
  elseif kind == 'list' then value = redis.call('LRANGE', key, 0, -1)
  elseif kind == 'string' then value = { redis.call('GET', key) }
  elseif kind == 'stream' then
    for _, entry in ipairs(redis.call('XRANGE', key, '-', '+')) do
      value[#value + 1] = entry[1]
      value[#value + 1] = entry[2]
    end
  end
  out[#out + 1] = { key, kind, redis.call('TTL', key), value }
end
return out
"""


@dataclass
class History:
    """A test's record of earlier calls, for invariants that compare a snapshot with the past.

    `admitted`: tenant by job; `accepted`: (fence, text) of the accepted events by job; `claims`: fences of
    the claims that workers received, by job; `lost_claims`: fences of those that were lost on their way;
    `run_by`: deadline by job, from its first run on; `ended`: (status, length of the log) by job; `pending`:
    the replicas that were not up in the previous snapshot.
    """

    admitted: dict[str, str] = field(default_factory=dict)
    accepted: dict[str, list[tuple[str, str]]] = field(default_factory=dict)
    claims: dict[str, set[str]] = field(default_factory=dict)
    lost_claims: set[str] = field(default_factory=set)
    run_by: dict[str, str] = field(default_factory=dict)
    ended: dict[str, tuple[str, int]] = field(default_factory=dict)
    deleted: set[str] = field(default_factory=set)
    pending: set[str] = field(default_factory=set)
    draining: set[str] = field(default_factory=set)
    operator_drains: set[str] = field(default_factory=set)


@dataclass
class Snapshot:
    """The values, types (`kinds`) and TTLs by key, without the prefix.

    `before` is the snapshot before the last event, for invariants of what the event did.
    """

    history: History = field(default_factory=History)
    kinds: dict[str, str] = field(default_factory=dict)
    ttls: dict[str, int] = field(default_factory=dict)
    values: dict[str, Any] = field(default_factory=dict)
    by_word: dict[str, dict[str, Any]] = field(default_factory=dict)
    before: Snapshot | None = None

    def all(self, word: str) -> Mapping[str, Any]:
        """Return the values of all keys `word:<name>`, by name."""
        return self.by_word.get(word, {})

    def one(self, name: str) -> Any:
        """Return a key's value, an empty mapping when it does not exist."""
        return self.values.get(name, {})

    @property
    def jobs(self) -> Mapping[str, dict[str, str]]:
        return self.all("job")

    def with_status(self, *statuses: str) -> set[str]:
        return {id for id, row in self.jobs.items() if row["status"] in statuses}

    def log(self, id: str) -> list[tuple[int, dict[str, Any]]]:
        """Return (number, event) of every entry of a job's log."""
        return [(int(at.split("-")[0]), orjson.loads(row["e"])) for at, row in self.one(f"log:{id}") or ()]

    def pending_ends(self) -> list[list[str]]:
        """Return the words of each ended job that is not counted yet (`append_ended` has their order)."""
        return [row["e"].split(" ") for _, row in self.one("ended") or ()]

    def unfinished(self, kind: str) -> set[str]:
        """Return the replicas (`slots`) or models (`waiting`, `dispatch`) with work left for `expire`."""
        records = [orjson.loads(record) for record in self.one("unfinished")]
        return {record[1] for record in records if record[0] == kind}

    def promised(self, memory: str) -> dict[str, int]:
        """Return the MiB promised of a device's memory, by replica."""
        return {
            name: int(row["need_mib"])
            for name, row in self.all("replica").items()
            if row["state"] in {"assigned", "starting"}
            and row["need_mib"]
            and self.all("worker")[row["worker"]].get("memory_id") == memory
        }


def take_snapshot(client: redis.Redis, prefix: str, history: History | None = None) -> Snapshot:
    """Read all keys under `prefix`, which includes its braces and colon."""
    found = Snapshot(history or History())
    for raw_key, raw_kind, ttl, raw in client.eval(DUMP, 1, prefix):  # type: ignore[union-attr]
        name, kind = raw_key.decode().removeprefix(prefix), raw_kind.decode()
        items = decoded(raw)
        if kind == "hash":
            value: Any = dict(zip(items[::2], items[1::2], strict=True))
        elif kind == "zset":
            value = {item: float(score) for item, score in zip(items[::2], items[1::2], strict=True)}
        elif kind == "stream":
            rows = [dict(zip(row[::2], row[1::2], strict=True)) for row in items[1::2]]
            value = list(zip(items[::2], rows, strict=True))
        elif kind == "set":
            value = set(items)
        else:
            value = items
        found.kinds[name], found.ttls[name], found.values[name] = kind, ttl, value
        word, _, rest = name.partition(":")
        found.by_word.setdefault(word, {})[rest] = value
    return found


def decoded(items: list[Any]) -> list[Any]:
    return [decoded(item) if isinstance(item, list) else item.decode() for item in items]
