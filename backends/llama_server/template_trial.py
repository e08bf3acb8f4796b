"""Tries a model's chat template before the load: on the same server, with a model of some kilobytes.

llama-server renders the template many times before it answers. Nothing ends a rendering that takes hours or
all memory, and a load that hangs in one reports nothing. So a server of its own, with limits to its CPU time
and memory, renders the template first: it does what the model's server would do, in any version.
"""

from __future__ import annotations

import logging
import re
import signal
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import orjson

from backends.base import Launch, LoadError
from backends.llama_server.answer_grammars import AnswerGrammars
from backends.llama_server.arguments import LlamaServerOptions
from backends.llama_server.server_process import start_server
from backends.llama_server.vocabulary import Vocabulary
from backends.shared.http_engine import ServerClient
from backends.shared.start import EngineStart, starting
from backends.shared.template_probes import RolesByTools, TemplateTooSlow, probed_roles
from engines.engine_process.process import EXIT_WAIT_S
from fleet.artifacts.gguf_writer import TensorPlan, byte_tokens, gguf_head, padded

TEMPLATE_PATH = "/apply-template"
TEMPLATE_FLAGS_WITH_VALUE = ("--chat-template", "--chat-template-file")
TEMPLATE_FLAGS = (*TEMPLATE_FLAGS_WITH_VALUE, "--jinja", "--no-jinja")

CPU_LIMIT_S = 5
"""The CPU time of the trial. A server takes less than a second to start, and milliseconds to render."""

MEMORY_LIMIT_MIB = 4096
"""Of what the server allocates, with the stacks of its threads, which it has for each processor."""

NO_GPU = dict.fromkeys(("CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "GGML_VK_VISIBLE_DEVICES"), "")
NO_MEMORY = re.compile(rb"bad_alloc|length_error|system_error")

DIM, CONTEXT = 32, 256
NORMAL, CONTROL = 1, 3  # llama.h, llama_token_type
BYTES_AND_MERGE = 257

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class TemplateFacts:
    """What the adapter knows of a template: the roles that it accepts, and the grammars of its answers."""

    roles: RolesByTools
    grammars: AnswerGrammars

    @classmethod
    def of(cls, client: ServerClient, prompt_format: str) -> TemplateFacts:
        """Ask a server. Raises `LoadError` if it takes too long."""

        def rendered(body: dict[str, Any]) -> str:
            return str(client.post(TEMPLATE_PATH, orjson.dumps(body))[1]["prompt"])

        roles = probed_roles(rendered)
        return cls(roles, AnswerGrammars.of(client, prompt_format))


def try_template(
    launch: Launch, options: LlamaServerOptions, vocabulary: Vocabulary, python: Path | None
) -> TemplateFacts | None:
    """Try the template of a model that is about to be loaded. Raises `LoadError` if it exceeds a limit.

    Returns what was found out; None if the trial could not be made: then the load shows why.
    """
    folder = launch.directory / "template"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    model = folder / "trial.gguf"
    model.write_bytes(trial_model(vocabulary))
    trial = replace(
        launch,
        directory=folder,
        progress=lambda _done, _stage: None,
        on_exit=lambda _exit: None,
        on_process=lambda _pid: None,
    )
    start = EngineStart(trial)
    try:
        with starting(trial, start):
            server = start_server(start, trial_options(options, model), python, CPU_LIMIT_S)
            found = TemplateFacts.of(server.client, launch.model.prompt_format)
    except TemplateTooSlow:
        raise
    except LoadError as error:
        if error.code != "load_failed":
            raise
        if (reason := _exceeded_limit(start)) is not None:
            sentence = f"the chat template in the model's file {reason}: use another conversion of the model"
            raise LoadError("load_failed", sentence) from error
        log.info("the trial of a chat template has failed: %s", error)
        return None
    finally:
        start.clean_up()
        model.unlink()
    return found


def _exceeded_limit(start: EngineStart) -> str | None:
    """The limit that ended the server, as a clause; None if another reason did."""
    if start.process is None:
        return None
    ended = start.process.wait(EXIT_WAIT_S)
    if ended is not None and ended.signal == signal.SIGXCPU:
        return f"takes more than {CPU_LIMIT_S} s of CPU time to render short conversations"
    with suppress(OSError):
        if NO_MEMORY.search(start.process.log_path.read_bytes()):
            return f"needs more than {MEMORY_LIMIT_MIB} MiB of memory to render short conversations"
    return None


def trial_options(options: LlamaServerOptions, model: Path) -> LlamaServerOptions:
    """The options of the trial: those for the template are the model's own."""
    arguments, kept = iter(options.extra_args), []
    for argument in arguments:
        flag, has_value, _ = argument.replace("_", "-").partition("=")
        if flag in TEMPLATE_FLAGS:
            kept.append(argument)
            if flag in TEMPLATE_FLAGS_WITH_VALUE and not has_value:
                kept += [following for following in (next(arguments, None),) if following is not None]
    small = {
        "slots": 1,
        "spare_slots": 0,
        "n_ctx": CONTEXT,
        "trained_context": CONTEXT,
        "threads": 1,
        "n_gpu_layers": 0,
    }
    none: dict[str, Any] = {
        "mmproj": None,
        "draft_model": None,
        "spec_type": None,
        "pooling": None,
        "lora": {},
        "port": None,
    }
    none |= {"api_key": None, "image_max_tokens": None}
    return replace(
        options,
        **(none | small),
        model=model,
        host="127.0.0.1",
        flash_attn="auto",
        extra_args=tuple(kept),
        memory_limit_mib=MEMORY_LIMIT_MIB,
        environment={**options.environment, **NO_GPU},
    )


def trial_model(vocabulary: Vocabulary) -> bytes:
    """A GGUF file with the template and the special tokens of a model, and one small layer of zeros."""
    begin, end = vocabulary.begin or "<s>", vocabulary.end or "</s>"
    tokens = [*byte_tokens(), "th", *dict.fromkeys((begin, end))]
    settings = {
        "general.architecture": "llama",
        "llama.context_length": CONTEXT,
        "llama.embedding_length": DIM,
        "llama.block_count": 1,
        "llama.feed_forward_length": DIM,
        "llama.attention.head_count": 1,
        "llama.attention.layer_norm_rms_epsilon": 1e-6,
        "tokenizer.ggml.model": "gpt2",
        "tokenizer.ggml.pre": "default",
        "tokenizer.ggml.tokens": tokens,
        "tokenizer.ggml.token_type": [NORMAL] * BYTES_AND_MERGE + [CONTROL] * (len(tokens) - BYTES_AND_MERGE),
        "tokenizer.ggml.merges": ["t h"],
        "tokenizer.ggml.bos_token_id": tokens.index(begin),
        "tokenizer.ggml.eos_token_id": tokens.index(end),
        "tokenizer.chat_template": vocabulary.template,
    }
    square = ("attn_q", "attn_k", "attn_v", "attn_output", "ffn_gate", "ffn_up", "ffn_down")
    tensors = [
        TensorPlan("token_embd.weight", (len(tokens), DIM)),
        TensorPlan("output_norm.weight", (DIM,)),
        *(TensorPlan(f"blk.0.{name}.weight", (DIM, DIM)) for name in square),
        *(TensorPlan(f"blk.0.{name}.weight", (DIM,)) for name in ("attn_norm", "ffn_norm")),
    ]
    return gguf_head(settings, tensors) + bytes(sum(padded(tensor.bytes) for tensor in tensors))
