"""The conversations of the chat's pictures."""

from __future__ import annotations

import time

from tests.ui.browser.chat.records import Thread

DAY_MS = 86_400_000

QUEUES = """A **priority queue** gives back the smallest entry first, however they came in. Python has one in
`heapq`:

```python
import heapq

jobs = []
heapq.heappush(jobs, (2, "report"))
heapq.heappush(jobs, (0, "alert"))
heapq.heappush(jobs, (1, "backup"))

while jobs:
    priority, name = heapq.heappop(jobs)
    print(priority, name)  # alert, backup, report
```

| operation | time | why |
|---|---|---|
| push | $O(\\log n)$ | the new entry rises along one path |
| pop | $O(\\log n)$ | the last entry sinks along one path |
| look at the first | $O(1)$ | it is at index 0 |

Entries with the same priority are compared by their *names* here. To keep them in the order in which they
came, add a counter as the second field: `(priority, next(counter), name)`."""

REASONING = """The person asks for the cost of a heap that is built from a list. Sifting down from the middle
costs the height of each subtree; the sum over all of them converges."""

HEAP = """`heapq.heapify` needs $O(n)$, less than $n$ pushes, which need $O(n \\log n)$:

$$\\sum_{h=0}^{\\log n} \\frac{n}{2^{h+1}} \\cdot h \\le n \\sum_{h=0}^{\\infty} \\frac{h}{2^{h+1}} = n$$

Half of the entries are leaves and move not at all, a quarter moves by one level at most, and so on."""


def conversations(model: str) -> list[Thread]:
    """Some conversations of the last weeks; the first one is that of the pictures."""
    now = int(time.time() * 1000)
    shown = Thread("Priority queues in Python", model, now - 120_000)
    shown.ask("How do I use a priority queue in Python, and what does each operation cost?")
    shown.answer(QUEUES)
    shown.ask("And if I have all entries from the beginning?")
    shown.answer(HEAP, reasoning=REASONING)
    others = [
        Thread("Release notes for 2.4", model, now - 3_600_000, "Work", True),
        Thread("Reply to the landlord", model, now - 3 * 3_600_000),
        Thread("Regular expressions for dates", model, now - DAY_MS, "Work"),
        Thread("A week in Lisbon", model, now - 2 * DAY_MS),
        Thread("Why is the sky blue?", model, now - 5 * DAY_MS),
        Thread("SQL window functions", model, now - 9 * DAY_MS, "Work"),
        Thread("Bread without kneading", model, now - 24 * DAY_MS),
    ]
    for thread in others:
        thread.ask(f"{thread.title}?")
        thread.answer("An answer.")
    return [shown, *others]
