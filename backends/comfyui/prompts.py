"""The prompts (graphs of nodes) that ComfyUI runs for a task, made from a template or from a request's graph.

Each prompt saves under a name of its own, so that it writes a file also where ComfyUI has all results before
the last from an equal prompt. It keeps such results for any client: an input that no node reads, with the
cache namespace of the request, makes the prompts of other namespaces differ.
"""

from __future__ import annotations

import copy
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from backends.base import GenerationError, LoadError
from backends.comfyui.workflow_rules import FILE_INPUTS
from generation.media import ImageTask, WorkflowTask

NAMESPACE_INPUT = "stoker_namespace"
SAVES, SHOWS = "SaveImage", "PreviewImage"
MAX_SEED = 1 << 53  # integers up to here are exact in any JSON


@dataclass(frozen=True)
class Prompt:
    """A graph to run, the nodes whose images are results, and the pixels and steps that it computes.

    `steps` is 0 where the graph does not say it. `samplers` are the nodes whose progress counts as steps.
    """

    graph: Mapping[str, Any]
    outputs: tuple[str, ...]
    pixels: int
    steps: int
    samplers: frozenset[str]


@dataclass(frozen=True)
class Template:
    """A workflow of the operator, and its inputs that a request sets: the node and the input of each."""

    graph: Mapping[str, Any]
    binding: Mapping[str, tuple[str, str]]
    output: str

    @classmethod
    def read(cls, path: Path, binding: Mapping[str, str], option: str) -> Template:
        """Read a workflow's file. Raises `LoadError`; `option` is the name of the option with its path."""
        try:
            graph = orjson.loads(path.read_bytes())
        except OSError as error:
            raise _unusable(f"{path} cannot be read ({error.strerror}): correct {option}") from error
        except orjson.JSONDecodeError as error:
            raise _unusable(f"{path} is not JSON: correct {option}") from error
        nodes = graph.values() if isinstance(graph, dict) and graph else [None]
        if not all(isinstance(node, dict) and isinstance(node.get("inputs"), dict) for node in nodes):
            raise _unusable(f"{path} is not in ComfyUI's API format: export it with Workflow > Export (API)")
        name = option.replace("workflow", "binding")
        pairs: dict[str, tuple[str, str]] = {}
        for key, place in binding.items():
            node, _, field = place.partition(".")
            if node not in graph or (key != "output" and field not in graph[node]["inputs"]):
                raise _unusable(f"{path} has no {place}: correct {key} in {name}")
            pairs[key] = node, field
        output = pairs.pop("output", None)
        return cls(graph, pairs, output[0] if output else _only_output(graph, name))

    @property
    def images(self) -> int:
        """How many images a request has to bring."""
        return sum(name.startswith("image") for name in self.binding)

    def value(self, name: str) -> Any:
        """The template's own value of a bound input; None if it is not bound."""
        node, field = self.binding.get(name, ("", ""))
        return self.graph[node]["inputs"][field] if node else None

    def filled(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """A copy of the graph with these values; those that are not bound are left out."""
        graph = copy.deepcopy(dict(self.graph))
        for name, value in values.items():
            if name in self.binding:
                node, field = self.binding[name]
                graph[node]["inputs"][field] = value
        return graph


def image_prompts(
    task: ImageTask, template: Template, steps: int | None, files: Mapping[str, str], namespace: str | None
) -> list[Prompt]:
    """The prompts for images: one where the template has a batch, else one for each, with the next seed.

    `files` are the names of the task's uploads in ComfyUI's folder.
    """
    seed = secrets.randbelow(MAX_SEED) if task.seed is None else task.seed
    values: dict[str, Any] = {"prompt": task.prompt, "width": task.width, "height": task.height}
    if task.negative_prompt is not None:
        values["negative_prompt"] = task.negative_prompt
    if steps is not None:
        values["steps"] = steps
    for at, name in enumerate(task.images, start=1):
        values["image" if at == 1 else f"image{at}"] = files[name]
    if task.mask is not None:
        values["mask"] = files[task.mask]
    batch = "batch" in template.binding
    own = template.value("steps")
    expected = steps or (own if isinstance(own, int) else 0)
    prompts = []
    for number in range(1 if batch else task.count):
        graph = template.filled({**values, "seed": seed + number, "batch": task.count})
        pixels = task.width * task.height * (task.count if batch else 1)
        prompts.append(_prompt(graph, (template.output,), pixels, expected, namespace))
    return prompts


def workflow_prompt(task: WorkflowTask, files: Mapping[str, str], namespace: str | None) -> Prompt:
    """The prompt of a request's graph, which `workflow_rules` has accepted."""
    graph = {
        node: {"class_type": content["class_type"], "inputs": dict(content["inputs"])}
        for node, content in task.graph.items()
    }
    for content in graph.values():
        for name, value in content["inputs"].items():
            if isinstance(value, str) and name in FILE_INPUTS and value in files:
                content["inputs"][name] = files[value]
    outputs = tuple(node for node, content in graph.items() if _saves(content))
    return _prompt(graph, outputs, task.pixels, 0, namespace)


def _prompt(
    graph: dict[str, Any], outputs: tuple[str, ...], pixels: int, steps: int, namespace: str | None
) -> Prompt:
    salt, prefix = namespace or secrets.token_hex(16), secrets.token_hex(16)
    for node, content in graph.items():
        if _saves(content):
            content["class_type"] = SAVES if content["class_type"] == SHOWS else content["class_type"]
            content["inputs"]["filename_prefix"] = f"{prefix}_{list(graph).index(node)}"
        elif "Loader" not in content["class_type"]:  # all namespaces may share the weights
            content["inputs"][NAMESPACE_INPUT] = salt
    samplers = frozenset(node for node, content in graph.items() if "Sampler" in content["class_type"])
    return Prompt(graph, outputs, pixels, steps, samplers or frozenset(graph))


def check_bound(task: ImageTask, template: Template, steps: int | None) -> None:
    """Refuse what the template has no input for. Raises `GenerationError` (unsupported_parameter)."""
    asked = {
        "negative_prompt": task.negative_prompt is not None,
        "steps": steps is not None,
        "mask": task.mask is not None,
    }
    for name, is_asked in asked.items():
        if is_asked and name not in template.binding:
            raise GenerationError("unsupported_parameter", f"this model does not support {name}")
    if len(task.images) != template.images:
        raise GenerationError(
            "unsupported_parameter", f"this model changes {template.images} images, not {len(task.images)}"
        )
    if template.binding.get("mask") and task.mask is None:
        raise GenerationError("unsupported_parameter", "this model needs a mask")


def _saves(content: Mapping[str, Any]) -> bool:
    return content["class_type"] == SHOWS or "filename_prefix" in content["inputs"]


def _only_output(graph: Mapping[str, Any], option: str) -> str:
    saving = [node for node, content in graph.items() if _saves(content)]
    if len(saving) != 1:
        raise _unusable(
            f"the workflow has {len(saving)} nodes that save images: name the one with the results in"
            f' {option}, such as "output": "9"'
        )
    return saving[0]


def _unusable(sentence: str) -> LoadError:
    return LoadError("load_failed", sentence)
