"""The conversations of the chat's pictures."""

from __future__ import annotations

import time

from tests.ui.browser.chat.records import Thread

DAY_MS = 86_400_000

QUEUES = """A **priority queue** gives back the smallest entry first, in whichever order they came in. \
Python has one in `heapq`:

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

Entries with the same priority are compared by their *names* here. To keep them in the order in which \
they came, add a counter as the second field: `(priority, next(counter), name)`."""

REASONING = """The person asks for the cost of a heap that is built from a list. Sifting down from the \
middle costs the height of each subtree; the sum over all of them converges."""

TRIP = """Here is a weekend on foot, with **no more than 9 km** a day:

| | Saturday | Sunday |
|---|---|---|
| Morning | Alfama and the castle | Belém: the tower and the monastery |
| Midday | Lunch at the Feira da Ladra | Pastéis de Belém |
| Afternoon | Tram 28 to Estrela | MAAT, then along the river |
| Evening | Fado in Mouraria | Sunset at Cais do Sodré |

1. **Shoes**: the streets are steep, and smooth when it rains.
2. **Tickets**: buy those for the monastery the day before.
3. **Trams**: a day pass costs less than three rides, and is valid on the funiculars too.

Shall I add restaurants within ten minutes of each stop, or a plan for a rainy day?"""

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
    shown.answer(HEAP, reasoning=REASONING, reasoningMs=3_200)
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


def compared(model: str, second: str) -> Thread:
    """A conversation in which two models have answered the same message."""
    thread = Thread("Name for a bakery", model, int(time.time() * 1000) - 60_000, second_model=second)
    thread.ask("Suggest three names for a bakery that bakes at night, with a reason for each.")
    thread.answer(
        "1. **Moonrise**: bread that is ready when the city wakes.\n"
        "2. **The Night Oven**: says what it is, easy to remember.\n"
        "3. **Crumb & Star**: playful, and short enough for a sign."
    )
    thread.answer_beside(
        "- **Half Past Two**, the hour when the first loaves come out\n"
        "- **Nocturne**, a calm piece of music for the night\n"
        "- **Early Loaf**, a promise to those who get up before six"
    )
    return thread
