"""The options of `vllm_serve`: those of `vllm`, and some for the managed server only."""

from __future__ import annotations

from backends.declaration import VARIABLE_VALUE, Backend, Option
from backends.vllm.options import ENVIRONMENT, NEEDS, OPTIONS, THINKING_FORMATS

BACKEND = Backend(
    "vllm_serve",
    "vllm_",
    environment=ENVIRONMENT,
    takes_hub_ids=True,
    needs=NEEDS,
    image_option="vllm_image_input",
    thinking_formats=THINKING_FORMATS,
    options=(
        *OPTIONS,
        Option(
            "vllm_serve_binary",
            "string",
            None,
            "the vllm program; null is that of vllm_python",
            nullable=True,
            format="program",
        ),
        Option(
            "vllm_serve_library_path",
            "string",
            None,
            "folder of shared libraries",
            nullable=True,
            format="path",
        ),
        Option(
            "vllm_serve_environment",
            "object",
            None,
            "environment variables of the server",
            nullable=True,
            format=VARIABLE_VALUE,
            secret=True,
        ),
        Option("vllm_serve_extra_args", "list", (), "further arguments of vllm serve"),
    ),
)
