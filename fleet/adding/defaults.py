"""Completes the configuration of a model that is added: each open field gets a value and a reason.

What decides are the files (form, context, chat template, companions), the workers (GPU, free memory) and the
runtimes of this host.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from backends.declaration import Backend
from backends.memory_rules import VllmMemory
from backends.model_shape import Device
from backends.parameter_rules import MemoryShare
from backends.prompt_formats import detect_syntax
from config.commands import with_runnable_commands
from config.settings import Settings
from fleet.adding.context import choose_context
from fleet.adding.definition import with_companions
from fleet.adding.locate import Companion, FoundModel
from fleet.model_choice import choose_backend, installed_at, runs_on
from fleet.worker_row import WorkerRow

RANK_POOLING = 4
"""llama.cpp's number of the pooling that scores documents (llama.h, llama_pooling_type)."""


@dataclass(frozen=True, slots=True)
class Default:
    """The value of a field that the request left open, and one sentence that says why it has this value.

    `field` is that of a model's configuration, or `quantization`, `chat_template`, `tool_syntax`,
    `reasoning_syntax`, which follow from the files.
    """

    field: str
    value: Any
    reason: str

    def to_dict(self) -> dict[str, Any]:
        """As a part of a plan."""
        return {"field": self.field, "value": self.value, "reason": self.reason}


@dataclass(frozen=True, slots=True)
class BestWorker:
    """The worker with the most memory that no load under way has been promised."""

    name: str
    free_mib: int
    total_mib: int
    device: Device


def best_worker(workers: Sequence[WorkerRow], device: str = "auto") -> BestWorker | None:
    """The worker that a load would prefer; None if none of that device has reported its memory."""
    measured = [
        BestWorker(
            worker.name,
            max(0, worker.memory.free_mib - worker.promised_mib),
            worker.memory.total_mib,
            Device(bool(worker.memory.gpus), worker.memory.total_mib),
        )
        for worker in workers
        if worker.memory and worker.memory_id and worker.fits(device) and not worker.draining
    ]
    return max(measured, key=lambda each: each.free_mib, default=None)


def default_backend(
    form: str, workers: Sequence[WorkerRow], settings: Settings, allowed: Sequence[str] | None
) -> tuple[Backend, Default] | None:
    """The backend for weights of a form, and why; None if no allowed one runs them."""
    has_gpu = any(worker.device == "cuda" for worker in workers)
    best = choose_backend(form, allowed, settings, has_gpu=has_gpu)
    if best is None:
        return None
    reason = f"it runs {form} weights {'on a GPU' if has_gpu and runs_on(best, 'cuda') else 'on the CPU'}"
    if installed_at(best, settings) is not None:
        reason += ", and its runtime is installed on this host"
    elif best.environment is not None:
        advice = f"`stoker runtimes install {best.environment.name}`"
        reason += with_runnable_commands(f"; its runtime is not installed on this host: run {advice}")
    return best, Default("backend", best.name, reason)


def complete(
    found: FoundModel,
    given: Mapping[str, Any],
    backend: Backend,
    workers: Sequence[WorkerRow],
) -> tuple[dict[str, Any], list[Default]]:
    """The fields that were left open, with their values, and the defaults with their reasons."""
    defaults = of_files(found, given, backend)
    options = {each.field: each.value for each in defaults if backend.option(each.field)}
    slots, context = _of_memory(found, {**options, **given}, backend, workers)
    defaults += [*slots, *context]
    for name, value, reason in (
        ("device", "auto", "a worker with enough memory is chosen at each load"),
        (
            "on_demand",
            "load",
            "the first request loads the model; `reject` refuses requests until an operator loads it",
        ),
    ):
        defaults.append(Default(name, value, reason))
    defaults = [each for each in defaults if each.field not in given]
    return fields_of(defaults, backend), defaults


def of_files(found: FoundModel, given: Mapping[str, Any], backend: Backend) -> list[Default]:
    """The defaults that follow from the files alone, wherever the model runs."""
    return [*_options_of_files(found, given, backend), *_of_template(found, given)]


def fields_of(defaults: Sequence[Default], backend: Backend) -> dict[str, Any]:
    """The fields of a configuration among defaults, with their values."""
    return {each.field: each.value for each in defaults if _is_field(each.field, backend)}


def _options_of_files(found: FoundModel, given: Mapping[str, Any], backend: Backend) -> list[Default]:
    """What the architecture, a pooling, a projector and a draft beside the model determine."""
    architecture = found.weights.architecture
    defaults = [
        Default(name, value, f"the files contain a {architecture}")
        for name, value in backend.parameters.defaults.get(architecture, {}).items()
    ]
    pooling = f"{backend.prefix}pooling"
    if found.artifact.pooling and backend.embedding_option == pooling:
        ranks = found.artifact.pooling == RANK_POOLING and pooling in backend.reranks_when
        words = "scores documents" if ranks else "makes vectors of texts"
        defaults.append(
            Default(pooling, "rank" if ranks else "auto", f"the file's header says that it {words}")
        )
    for option, companion, what in (
        (f"{backend.prefix}mmproj", found.projector, "the projector"),
        (f"{backend.prefix}draft_model", found.draft, "a draft model"),
    ):
        if companion is None or backend.option(option) is None:
            continue
        if companion.problem is not None:
            defaults.append(Default(option, None, companion.problem))
            continue
        defaults.append(Default(option, companion.path, f"{companion.name}, {what}, lies beside the model"))
        if option.endswith("draft_model") and given.get(option, companion.path) == companion.path:
            method = "draft-mtp" if companion.is_mtp else "draft-simple"
            kind = "predicts several tokens at once" if companion.is_mtp else "is a smaller model"
            defaults.append(Default(f"{backend.prefix}spec_type", method, f"{companion.name} {kind}"))
    return [*defaults, *_of_projector(found.projector, given, backend)]


def _of_projector(
    projector: Companion | None, given: Mapping[str, Any], backend: Backend
) -> Iterator[Default]:
    """What the header of the projector says of its input types; nothing if it is not used."""
    option = backend.option(f"{backend.prefix}mmproj")
    if option is None or projector is None or projector.problem is not None:
        return
    if given.get(option.name, projector.path) != projector.path:
        return
    if "audio" in projector.inputs:
        yield Default(f"{backend.prefix}audio_input", True, f"{projector.name} takes recordings")
    if "image" not in projector.inputs:
        yield Default(f"{backend.prefix}image_input", False, f"{projector.name} takes no images")


def _of_template(found: FoundModel, given: Mapping[str, Any]) -> list[Default]:
    """The prompt format, and what it means for tools and reasoning."""
    template = found.artifact.template
    if found.artifact.pooling or found.weights.form in ("ct2", "whisper"):
        return []
    syntax = detect_syntax(template)
    where = (
        "the chat template in the files"
        if template
        else "no chat template is in the files, and the generic one"
    )
    chat = Default(
        "chat_template",
        "file" if template else "generic",
        "the files have one" if template else "the files have none: the runtime's own is used",
    )
    if "prompt_format" in given:
        return [chat]
    return [
        chat,
        Default("prompt_format", syntax.prompt_format, f"{where} {syntax.reason}"),
        Default("tool_syntax", syntax.tools, f"{where} {syntax.tool_reason}"),
        Default("reasoning_syntax", syntax.reasoning, f"{where} {syntax.reasoning_reason}"),
    ]


def _of_memory(
    found: FoundModel, options: Mapping[str, Any], backend: Backend, workers: Sequence[WorkerRow]
) -> tuple[list[Default], list[Default]]:
    """The number of slots; the share of the GPU and the context of a request."""
    best = best_worker(workers, options.get("device", "auto"))
    shares = _share_of_gpu(backend, options, best)
    options = {**options, **{share.field: share.value for share in shares}}
    chosen = choose_context(backend, with_companions(found, options, backend), found.weights, options, best)
    slots = (
        [] if chosen.slots_reason is None else [Default("target_inflight", chosen.slots, chosen.slots_reason)]
    )
    if chosen.option is None or chosen.reason is None:
        return slots, shares
    return slots, [*shares, Default(chosen.option, chosen.context, chosen.reason)]


def _share_of_gpu(backend: Backend, options: Mapping[str, Any], best: BestWorker | None) -> list[Default]:
    """A smaller share of the GPU, where others have memory of it, for an engine with a fixed share."""
    rule, memory = backend.parameters.memory, backend.memory
    if not isinstance(rule, MemoryShare) or not isinstance(memory, VllmMemory) or best is None:
        return []
    usual = int(memory.default_share * best.total_mib)
    if not best.device.is_gpu or options.get(rule.option) is not None or usual <= best.free_mib:
        return []
    share = int(100 * best.free_mib / best.total_mib) / 100
    words = f"{best.name} has {best.free_mib} of {best.total_mib} MiB free; the usual share takes {usual}"
    return [Default(rule.option, share, words)] if share >= 0.05 else []


def _is_field(name: str, backend: Backend) -> bool:
    return (
        name in ("prompt_format", "target_inflight", "device", "on_demand")
        or backend.option(name) is not None
    )
