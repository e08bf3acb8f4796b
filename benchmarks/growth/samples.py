"""What is measured: a call at several sizes of one property."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Dimension:
    """One property that grows. `bound`: the largest cost at any size / the cost at the first size."""

    name: str
    sizes: Sequence[int]
    bound: float = 1.5


@dataclass(frozen=True)
class Sample:
    """The cost of one call at one size in one round, in some unit; `has_bar`: its growth is bounded."""

    round: int
    dimension: str
    size: int
    call: str
    unit: str
    cost: float
    has_bar: bool = True
