"""The options of `comfyui`: images by a checkout of ComfyUI and a workflow that is used as a template."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from backends.contradictions import Contradiction
from backends.declaration import COMFYUI_BINDING, Backend, LoadField, Option
from backends.load_parameters import CONTEXT, MEMORY, QUANTIZATION, LoadParameters
from backends.parameter_rules import Impossible


def _are_several(sizes: Sequence[str]) -> bool:
    return len(sizes) > 1


def _has_no_size(binding: Mapping[str, str] | None) -> bool:
    return not {"width", "height"} <= (binding or {}).keys()


BACKEND = Backend(
    "comfyui",
    "comfyui_",
    parameters=LoadParameters(
        quantization=Impossible(QUANTIZATION, "the workflow names the weights"),
        context=Impossible(CONTEXT, "a model of images has no context"),
        memory=Impossible(MEMORY, "comfyui_memory_mib of the configuration bounds it"),
    ),
    needs_model_path=False,
    max_slots=1,
    media_kinds=("image", "workflow"),
    image_sizes_option="comfyui_sizes",
    image_quality_option="comfyui_quality",
    image_count_option="comfyui_max_images",
    image_edit_option="comfyui_edit_workflow",
    required=("comfyui_path", "comfyui_workflow", "comfyui_binding"),
    needs={"comfyui_edit_binding": "comfyui_edit_workflow"},
    contradictions=(
        Contradiction(
            {"comfyui_sizes": _are_several, "comfyui_binding": _has_no_size},
            "has several sizes: name width and height in comfyui_binding",
        ),
    ),
    options=(
        Option(
            "comfyui_path",
            "string",
            None,
            "the folder of a checkout of ComfyUI (0.3.64 or newer), with main.py",
            nullable=True,
            format="path",
            privileged=True,
        ),
        Option(
            "comfyui_python",
            "string",
            None,
            "the Python with ComfyUI's requirements; null is that of .venv or venv in comfyui_path",
            nullable=True,
            format="program",
        ),
        Option(
            "comfyui_checkpoints",
            "string",
            None,
            "a further folder of checkpoints; null has only those of the checkout",
            nullable=True,
            format="path",
            privileged=True,
        ),
        Option(
            "comfyui_checkpoint",
            "string",
            None,
            "a safetensors file for workflows; `hf://owner/name/file.safetensors` is downloaded by a load",
            nullable=True,
            format="path",
            artifact=True,
            privileged=True,
        ),
        Option(
            "comfyui_workflow",
            "string",
            None,
            "a file with a workflow in ComfyUI's API format, the template of each image",
            nullable=True,
            format="path",
            privileged=True,
        ),
        Option(
            "comfyui_binding",
            "object",
            None,
            "which inputs of that workflow a request sets (docs/media.md)",
            nullable=True,
            format=COMFYUI_BINDING,
        ),
        Option(
            "comfyui_edit_workflow",
            "string",
            None,
            "the same for requests with images to change; null refuses them",
            nullable=True,
            format="path",
            privileged=True,
        ),
        Option(
            "comfyui_edit_binding",
            "object",
            None,
            "which inputs of comfyui_edit_workflow a request sets",
            nullable=True,
            format=COMFYUI_BINDING,
        ),
        Option("comfyui_sizes", "list", ("1024x1024",), "the sizes of images; the first one is the default"),
        Option(
            "comfyui_quality",
            "object",
            None,
            'numbers of steps by the name of a quality, such as {"low": 8}; null has no such names',
            nullable=True,
        ),
        Option(
            "comfyui_max_images",
            "integer",
            4,
            "the most images of one request",
            minimum=1,
            maximum=10,
            load_field=LoadField(
                {"kind": "integer", "minimum": 1, "maximum": 10, "step": 1}, shows_default=True
            ),
        ),
        Option(
            "comfyui_memory_mib",
            "integer",
            None,
            "the GPU memory that ComfyUI leaves to others is all but this, in MiB; null is no limit",
            nullable=True,
            minimum=512,
            maximum=1 << 20,
            load_field=LoadField(
                {"kind": "integer_or_null", "minimum": 512, "maximum": 1 << 20, "step": 1, "unit": "MiB"},
                null_means="no limit",
            ),
        ),
        Option(
            "comfyui_workflow_nodes",
            "list",
            None,
            "the node classes in workflows of requests; null is the list in docs/media.md, [] allows none",
            nullable=True,
            privileged=True,
        ),
        Option(
            "comfyui_custom_nodes",
            "list",
            (),
            "the folders in custom_nodes that ComfyUI loads; each runs code on the worker's host",
            privileged=True,
        ),
        Option("comfyui_extra_args", "list", (), "further arguments of main.py", privileged=True),
    ),
)
