"""The errors of prompts in the form of ComfyUI 0.3.64 (execution.py, validate_prompt)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from nodes import NODES


def needed_nodes(prompt: Any, outputs: list[str]) -> list[str]:
    """The nodes that outputs depend on, in the order in which they run."""
    order: list[str] = []

    def visit(node: str) -> None:
        for value in prompt[node]["inputs"].values():
            if isinstance(value, list):
                visit(value[0])
        if node not in order:
            order.append(node)

    for output in outputs:
        visit(output)
    return order


class Validator:
    """Validates prompts; `checkpoints` are folders."""

    def __init__(self, input_folder: Path, checkpoints: list[Path]) -> None:
        self._input_folder = input_folder
        self._checkpoints = checkpoints

    def problems(self, prompt: Any) -> tuple[Any, Any, list[str]]:
        """The error of a prompt, if any, the errors of its nodes, and its outputs (validate_prompt)."""
        for node, content in prompt.items():
            if content.get("class_type") not in NODES:
                message = f"Cannot execute because node {content.get('class_type')} does not exist."
                details = f"Node ID '#{node}'"
                error = {"type": "invalid_prompt", "message": message, "details": details, "extra_info": {}}
                return error, {}, []
        outputs = [node for node, content in prompt.items() if NODES[content["class_type"]][0]]
        if not outputs:
            message = "Prompt has no outputs"
            return {"type": "prompt_no_outputs", "message": message, "details": "", "extra_info": {}}, {}, []
        errors: dict[str, Any] = {}
        for node in needed_nodes(prompt, outputs):
            found = [error for error in self._errors(prompt[node]) if error]
            if found:
                kind = prompt[node]["class_type"]
                errors[node] = {"errors": found, "dependent_outputs": outputs, "class_type": kind}
        if errors:
            message = "Prompt outputs failed validation"
            kind = "prompt_outputs_failed_validation"
            return {"type": kind, "message": message, "details": "", "extra_info": {}}, errors, outputs
        return None, {}, outputs

    def _errors(self, content: Any) -> list[dict[str, Any]]:
        found = []
        for name, kind in NODES[content["class_type"]][1].items():
            value = content["inputs"].get(name)
            problem = None
            if value is None:
                problem = "required_input_missing"
            elif isinstance(kind, tuple) and not isinstance(value, list):
                low, high = kind
                problem = "value_smaller_than_min" if value < low else None
                problem = "value_bigger_than_max" if value > high else problem
            elif name == "ckpt_name" and value not in self._names():
                problem = "value_not_in_list"
            elif name == "image" and kind is str and not (self._input_folder / value).is_file():
                problem = "custom_validation_failed"
            if problem:
                extra = {"input_name": name, "received_value": value}
                found.append({"type": problem, "message": problem, "details": name, "extra_info": extra})
        return found

    def _names(self) -> list[str]:
        folders = [folder for folder in self._checkpoints if folder.is_dir()]
        return sorted(path.name for folder in folders for path in folder.iterdir())
