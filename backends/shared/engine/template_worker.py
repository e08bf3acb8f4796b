"""The process that renders a chat template; `template_process` has its messages.

Arguments: the CPU time of a rendering in seconds, and the memory of the process in MiB. A rendering that
takes longer ends the process by SIGPROF, also in the middle of an operation of Python's core.
"""

from __future__ import annotations

import os
import resource
import signal
import sys
from json import loads

import jinja2

from .chat_template import ChatTemplate, PromptError, TemplateLimitError
from .refusal_log import log_refusal
from .template_process import (
    MAX_PROMPT_BYTES,
    PROMPT,
    READY,
    REJECTED,
    UNUSABLE,
    read_message,
    write_message,
)


def main(arguments: list[str]) -> None:
    """Read the template, try it, and render until the pipe is closed."""
    cpu_s, memory = float(arguments[0]), int(arguments[1]) << 20
    resource.setrlimit(resource.RLIMIT_DATA, (memory, memory))
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    template = None
    while (message := read_message(sys.stdin.buffer)) is not None:
        signal.setitimer(signal.ITIMER_PROF, cpu_s)
        try:
            if template is None:
                template, answer = _tried_template(message), READY
            else:
                answer = PROMPT + template.render(loads(message)).encode("utf-8", "surrogatepass")
        except PromptError as error:
            log_refusal(error.__cause__ or error)
            answer = REJECTED + str(error).encode("utf-8", "replace")
        except (jinja2.TemplateError, TemplateLimitError) as error:
            answer = UNUSABLE + _reason(error).encode("utf-8", "replace")
        except MemoryError:
            os._exit(1)
        if len(answer) > MAX_PROMPT_BYTES:
            answer = UNUSABLE + f"renders more than {MAX_PROMPT_BYTES >> 20} MiB of text".encode()
        signal.setitimer(signal.ITIMER_PROF, 0)
        write_message(sys.stdout.buffer, answer)


def _tried_template(message: bytes) -> ChatTemplate:
    """The template of the first message, after some short conversations were rendered with it.

    Raises `jinja2.TemplateError`, and `TemplateLimitError`.
    """
    first = loads(message)
    template = ChatTemplate(first["source"], first["special"], first["arguments"])
    for tools in (False, True):
        template.roles(tools=tools)
    return template


def _reason(error: jinja2.TemplateError | TemplateLimitError) -> str:
    if isinstance(error, TemplateLimitError):
        return str(error)
    line = f"line {error.lineno}: " if isinstance(error, jinja2.TemplateSyntaxError) else ""
    return f"cannot be read ({line}{error})"
