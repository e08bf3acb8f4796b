"""Which graphs of nodes a request may run (POST /v1/comfyui/prompts), checked before the request is admitted.

A graph is a program: its nodes read files, and can ask for any amount of work. So a model has a list of node
classes, files are the request's own uploads, and numbers are bounded. The default list has no node with which
a small graph makes work that grows with each node, such as one that doubles a batch.

This module imports nothing of Stoker: the API and the adapter use it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

MAX_NODES = 500
MAX_BYTES = 1 << 20  # of the graph as JSON
MAX_DEPTH = 8  # of lists and objects in an input
MAX_STEPS = 200
MAX_WORKING_NODES = 16  # of each of these kinds
WORKING = (
    *(("Sampler", "sample"), ("VAE", "use a VAE"), ("Scale", "scale")),
    *(("Save", "save"), ("Preview", "show")),
)
MAX_SIDE = 2048  # where the model's sizes are smaller
NODE_ID = re.compile(r"[A-Za-z0-9_:.-]{1,64}")
INPUT_NAME = re.compile(r"[A-Za-z0-9_:. -]{1,64}")

DEFAULT_NODES = frozenset(
    {
        *("CheckpointLoaderSimple", "UNETLoader", "CLIPLoader", "DualCLIPLoader", "VAELoader"),
        *("LoraLoader", "LoraLoaderModelOnly", "LoadImage", "LoadImageMask"),
        *("CLIPTextEncode", "CLIPSetLastLayer", "ConditioningZeroOut", "FluxGuidance"),
        *("EmptyLatentImage", "EmptySD3LatentImage", "LatentUpscale", "SetLatentNoiseMask"),
        *(
            "KSampler",
            "SamplerCustomAdvanced",
            "KSamplerSelect",
            "BasicScheduler",
            "BasicGuider",
            "CFGGuider",
        ),
        *("RandomNoise", "ModelSamplingFlux", "ModelSamplingSD3", "InpaintModelConditioning"),
        *("VAEDecode", "VAEEncode", "VAEEncodeForInpaint", "ImageScale", "ImageInvert"),
        *("SaveImage", "PreviewImage"),
    }
)
"""The classes that a model allows whose `comfyui_workflow_nodes` is null."""

FILE_INPUTS = frozenset({"image", "images", "mask", "audio", "video", "file", "latent", "path", "directory"})
"""Inputs that are links to other nodes, or the name of a file."""

SIDES = frozenset({"width", "height", "max_width", "max_height", "resolution"})
COUNTS = frozenset({"batch_size", "amount", "length"})


class WorkflowRefused(Exception):
    """Raised for a graph that may not run; the text says why, and `node` which node is meant, if any."""

    def __init__(self, message: str, node: str | None = None) -> None:
        super().__init__(message if node is None else f"node {node}: {message}")
        self.node = node


@dataclass(frozen=True)
class WorkflowLimits:
    """What a model allows in a graph: classes of nodes, pixels of a side, and images at once."""

    nodes: frozenset[str]
    side: int
    images: int

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> WorkflowLimits:
        """The limits by the options of a model, with their defaults (`Backend.with_defaults`)."""
        nodes = options["comfyui_workflow_nodes"]
        sizes = [max(read_size(size)) for size in options["comfyui_sizes"]]
        return cls(
            DEFAULT_NODES if nodes is None else frozenset(nodes),
            max([MAX_SIDE, *sizes]),
            options["comfyui_max_images"],
        )


def read_size(text: str) -> tuple[int, int]:
    """Read a size such as `1024x768`. Raises `ValueError`."""
    found = re.fullmatch(r"([1-9][0-9]{1,4})x([1-9][0-9]{1,4})", text)
    if found is None:
        raise ValueError(f"{text[:40]!r} is no size such as 1024x768")
    return int(found[1]), int(found[2])


def check_workflow(graph: Mapping[str, Any], inputs: Collection[str], limits: WorkflowLimits) -> None:
    """Check a graph in ComfyUI's API format; `inputs` are the names of the request's uploads.

    Raises `WorkflowRefused` for the first problem.
    """
    if not limits.nodes:
        raise WorkflowRefused("this model runs no workflows of requests")
    if not isinstance(graph, Mapping) or not graph:
        raise WorkflowRefused("a workflow is an object with its nodes by their ids (ComfyUI's API format)")
    if len(graph) > MAX_NODES:
        raise WorkflowRefused(f"a workflow has at most {MAX_NODES} nodes, not {len(graph)}")
    try:
        size = len(json.dumps(graph, allow_nan=False).encode())
    except (TypeError, ValueError, RecursionError):
        raise WorkflowRefused("the workflow is not valid JSON") from None
    if size > MAX_BYTES:
        raise WorkflowRefused(f"a workflow has at most {MAX_BYTES} bytes of JSON, not {size}")
    for node, content in graph.items():
        if not isinstance(node, str) or not NODE_ID.fullmatch(node):
            raise WorkflowRefused("the id of a node has 1 to 64 letters, digits, '_', ':', '.' or '-'")
        _check_node(node, content, inputs, limits)
    for part, what in WORKING:
        if sum(part in content["class_type"] for content in graph.values()) > MAX_WORKING_NODES:
            raise WorkflowRefused(f"a workflow has at most {MAX_WORKING_NODES} nodes that {what}")
    _check_links(graph)


def _check_node(node: str, content: Any, inputs: Collection[str], limits: WorkflowLimits) -> None:
    if not isinstance(content, Mapping) or not isinstance(content.get("class_type"), str):
        raise WorkflowRefused("has no class_type", node)
    if not isinstance(content.get("inputs"), Mapping):
        raise WorkflowRefused("has no inputs", node)
    kind = content["class_type"]
    if kind not in limits.nodes:
        raise WorkflowRefused(f"this model does not allow nodes of the class {_shown(kind)}", node)
    for name, value in content["inputs"].items():
        if not INPUT_NAME.fullmatch(name):
            raise WorkflowRefused("an input has a name that no node has", node)
        if not _is_shallow(value):
            raise WorkflowRefused(f"input {name} has too many levels", node)
        if not link_of(value):
            _check_value(node, name, value, inputs, limits)


def _check_value(node: str, name: str, value: Any, inputs: Collection[str], limits: WorkflowLimits) -> None:
    """Check a value that is no link: a file, or a number of pixels, images or steps."""
    if isinstance(value, Mapping) and "__value__" in value:  # ComfyUI unwraps it
        _check_value(node, name, value["__value__"], inputs, limits)
    elif isinstance(value, list) and len(value) == 2 and isinstance(value[1], (int, float)):
        raise WorkflowRefused(f'input {name} is neither a value nor a link such as ["3", 0]', node)
    elif name in FILE_INPUTS and (not isinstance(value, str) or value not in inputs):
        raise WorkflowRefused(f"input {name} is not the name of one of the request's files", node)
    most = limits.side if name in SIDES else limits.images if name in COUNTS else None
    most = MAX_STEPS if name == "steps" else most
    # 0 is a side "as the other one asks for", which has no bound
    if most is not None and (type(value) is not int or not 1 <= value <= most):
        raise WorkflowRefused(f"input {name} must be an integer from 1 to {most}", node)


def _check_links(graph: Mapping[str, Any]) -> None:
    """Refuse links to nodes that do not exist, and circles of links."""
    waiting = {node: set(linked_nodes(content)) for node, content in graph.items()}
    for node, linked in waiting.items():
        if missing := linked - graph.keys():
            raise WorkflowRefused(f"is linked to a node {_shown(min(missing))}, which does not exist", node)
    users: dict[str, list[str]] = {node: [] for node in graph}
    for node, linked in waiting.items():
        for each in linked:
            users[each].append(node)
    ready = [node for node, linked in waiting.items() if not linked]
    while ready:
        node = ready.pop()
        del waiting[node]
        for user in users[node]:
            waiting[user].discard(node)
            if not waiting[user]:
                ready.append(user)
    if waiting:
        raise WorkflowRefused("its links lead back to it", min(waiting))


def linked_nodes(content: Mapping[str, Any]) -> Iterator[str]:
    """The ids of the nodes whose outputs are inputs of a node."""
    for value in content["inputs"].values():
        if node := link_of(value):
            yield node


def link_of(value: Any) -> str:
    """The id of the node whose output an input is; empty for a value."""
    if isinstance(value, list) and len(value) == 2 and isinstance(value[0], str) and type(value[1]) is int:
        return value[0]
    return ""


def _is_shallow(value: Any, depth: int = 0) -> bool:
    if not isinstance(value, (list, Mapping)):
        return True
    inner = value.values() if isinstance(value, Mapping) else value
    return depth < MAX_DEPTH and all(_is_shallow(each, depth + 1) for each in inner)


def _shown(text: str) -> str:
    return repr(text if len(text) <= 64 else f"{text[:64]}...")
