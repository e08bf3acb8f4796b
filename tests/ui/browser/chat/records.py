"""Conversations as a browser keeps them (`ui/src/lib/chat_types.ts`), written into its database."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

DATABASE = "stoker-chat"

WRITE = """([name, tables]) => new Promise((done, fail) => {
    const opening = indexedDB.open(name);
    opening.onerror = () => fail(opening.error);
    opening.onsuccess = () => {
        const db = opening.result;
        const writing = db.transaction(Object.keys(tables), 'readwrite');
        for (const [table, records] of Object.entries(tables))
            for (const record of records) writing.objectStore(table).put(record);
        writing.oncomplete = () => { db.close(); done(); };
        writing.onerror = () => fail(writing.error);
    };
})"""

BLOCKS = (
    "A paragraph with **bold** words, `code`, and [a link](https://example.org/page), long enough to break "
    "into two lines on a desk, and into more of them on a phone, as paragraphs of answers do.",
    "1. first\n2. second\n   - nested\n   - [x] done\n3. third",
    "```python\ndef merge(a, b):\n    result = []\n    while a and b:\n"
    "        result.append((a if a[0] < b[0] else b).pop(0))\n    return result + a + b\n```",
    "| name | value | note |\n|---|---:|---|\n| one | 1 | first |\n| two | 2 | second |\n| three | 3 | |",
    "> A quotation of some words\n> in two lines.",
    "## A heading\n\nThe area is $$A = \\pi r^2$$ of a circle.",
)


@dataclass
class Thread:
    """A conversation of one branch. `id` is made of the title; times begin at `begun` (ms since 1970)."""

    title: str
    model: str = "stub"
    begun: int = 1_790_000_000_000
    folder: str | None = None
    is_pinned: bool = False
    second_model: str | None = None
    tools: list[str] = field(default_factory=list)
    messages: list[dict[str, Any]] = field(default_factory=list)
    leaf: str | None = None

    @property
    def id(self) -> str:
        return str(UUID(int=random.Random(self.title).getrandbits(128), version=4))

    def ask(self, text: str, *attachments: str) -> None:
        """Add a message of the person, with the ids of its attachments."""
        self._add(role="user", text=text, attachments=list(attachments))

    def answer(self, text: str, **fields: Any) -> None:
        """Add an answer of the model; `fields` replace those of an answer that is done."""
        made = {
            **{"role": "assistant", "model": self.model, "status": "done", "text": text, "reasoning": ""},
            **{"reasoningMs": None, "calls": [], "responseId": None, "error": None},
            **{"continues": None, "isSecond": False},
            "usage": {
                **{"inputTokens": 60, "cachedTokens": 40, "outputTokens": len(text) // 4},
                "reasoningTokens": 0,
            },
            "times": {
                **{"sentAt": self.begun, "firstTokenMs": 210, "totalMs": 4_200},
                "tokensPerSecond": 61.5,
            },
        }
        self._add(**(made | fields))

    def result(self, call: dict[str, Any], output: str) -> None:
        """Add the result of a tool."""
        self._add(role="tool", callId=call["id"], name=call["name"], output=output, isError=False)

    def answer_beside(self, text: str) -> None:
        """Add the second model's answer to the same message; the conversation goes on with the first one."""
        first = self.messages[-1]
        self.answer(text, parent=first["parent"], model=self.second_model, isSecond=True)
        self.leaf = first["id"]

    def _add(self, **fields: Any) -> None:
        place = len(self.messages)
        id = str(UUID(int=random.Random(f"{self.title} {place}").getrandbits(128), version=4))
        parent = self.messages[-1]["id"] if self.messages else None
        common = {"id": id, "conversation": self.id, "parent": parent, "itemIds": []}
        self.messages.append({**common, "createdAt": self.begun + place, **fields})

    @property
    def conversation(self) -> dict[str, Any]:
        return {
            **{"id": self.id, "title": self.title, "isTitled": True, "folder": self.folder},
            **{"isPinned": self.is_pinned, "place": "browser", "serverId": None},
            **{"createdAt": self.begun, "changedAt": self.begun + len(self.messages)},
            "leaf": self.leaf or (self.messages[-1]["id"] if self.messages else None),
            "settings": {
                **{"model": self.model, "secondModel": self.second_model},
                **{"instructions": "", "parameters": {}},
                **{"reasoning": "default", "tools": self.tools, "format": None},
            },
        }


def write(page: Any, *threads: Thread) -> None:
    """Write the conversations into the database of the page's browser: the page has to have opened it."""
    tables = {
        "conversations": [thread.conversation for thread in threads],
        "messages": [message for thread in threads for message in thread.messages],
    }
    page.evaluate(WRITE, [DATABASE, tables])


def long_thread(count: int, model: str = "stub") -> Thread:
    """A conversation of so many messages; the texts of answers are of many kinds."""
    chance = random.Random(count)
    thread = Thread(f"A conversation of {count} messages", model)
    for place in range(0, count, 2):
        thread.ask(f"Question {place}: how?")
        blocks = (chance.choice(BLOCKS) for _ in range(chance.randint(2, 8)))
        thread.answer("\n\n".join((f"Answer {place + 1}.", *blocks)))
    return thread
