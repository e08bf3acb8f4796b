"""The workflow of the OpenAPI document's example: a text becomes an image of 256 x 256 pixels."""

from __future__ import annotations

from typing import Any

GRAPH: dict[str, Any] = {
    "1": {"class_type": "CheckpointLoaderSimple", "inputs": {"ckpt_name": "tiny.safetensors"}},
    "2": {"class_type": "CLIPTextEncode", "inputs": {"text": "a red fox", "clip": ["1", 1]}},
    "3": {"class_type": "CLIPTextEncode", "inputs": {"text": "", "clip": ["1", 1]}},
    "4": {"class_type": "EmptyLatentImage", "inputs": {"width": 256, "height": 256, "batch_size": 1}},
    "5": {
        "class_type": "KSampler",
        "inputs": {
            **{"model": ["1", 0], "positive": ["2", 0], "negative": ["3", 0], "latent_image": ["4", 0]},
            **{"seed": 1, "steps": 2, "cfg": 1.0, "sampler_name": "euler", "scheduler": "normal"},
            "denoise": 1.0,
        },
    },
    "6": {"class_type": "VAEDecode", "inputs": {"samples": ["5", 0], "vae": ["1", 2]}},
    "7": {"class_type": "SaveImage", "inputs": {"images": ["6", 0], "filename_prefix": "image"}},
}
"""As "Export (API)" of ComfyUI's pages has it. Node 1 names a file in the model's folder of checkpoints."""
