"""What a person does with a page: clicks and typed fields, beside the numbers of the documentation."""

from __future__ import annotations

import re
import time
from dataclasses import dataclass, field
from typing import Any

from config.settings import ROOT

PAGE = ROOT / "docs" / "decisions" / "0065-tasks-of-operators-are-counted.md"
ROW = re.compile(r"^\| ([^|]+?) \| [^|]+ \| (\d+) \+ (\d+) \| [^|]+ \|$", re.MULTILINE)
"""A row of the table of tasks: the task, the clicks and fields before, those of now, the seconds."""


def documented() -> dict[str, tuple[int, int]]:
    """The most clicks and typed fields of each task, as in the documentation."""
    rows = ROW.findall(PAGE.read_text())
    return {task: (int(clicks), int(fields)) for task, clicks, fields in rows}


@dataclass
class Inputs:
    """Counts clicks, also choices in lists, and the fields that are typed into."""

    page: Any
    clicks: int = 0
    fields: int = 0
    began: float = field(default_factory=time.monotonic)

    def click(self, target: Any) -> None:
        target.click()
        self.clicks += 1

    def type(self, target: Any, text: str) -> None:
        target.fill(text)
        self.fields += 1

    def check(self, task: str) -> None:
        """The task needed no more than is documented. Its time is printed, for the documentation."""
        seconds = time.monotonic() - self.began
        print(f"{task}: {self.clicks} + {self.fields}, {seconds:.1f} s")
        clicks, fields = documented()[task]
        assert self.clicks <= clicks, task
        assert self.fields <= fields, task
