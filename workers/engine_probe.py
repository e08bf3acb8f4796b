"""A question of one token, to an engine in which a request stalled: does it still compute?

What takes requests may well hear a cancel, or a question for its health, while what computes behind it
hangs: a frozen core, a kernel that does not return. So it is asked for what everybody wants of it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace

from backends.base import Engine, GenerationError
from tasks.generation import Generation, Message, Sampling, text_content


def probe(engine: Engine, id: str, like: Generation, timeout_s: float, give_up: Callable[[], None]) -> None:
    """Ask for one token in the calling thread, of a generation `like` the one that stalled.

    `give_up` is called, from another thread, when there is none after `timeout_s`: it has to cancel the
    generation of that `id`, or stop the engine. Raises `EngineLost`.
    """
    question = replace(
        like,
        messages=(Message("user", text_content("Hi")),),
        sampling=Sampling(max_tokens=1),
        tools=(),
        tool_choice="auto",
    )
    timer = threading.Timer(timeout_s, give_up)
    timer.daemon = True
    timer.start()
    try:
        engine.generate(id, question, lambda _: timer.cancel())
    except GenerationError:
        pass  # it does not want this question: it answers
    finally:
        timer.cancel()
