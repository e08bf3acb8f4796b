"""POST /v1/comfyui/prompts: a request's own workflow for ComfyUI, as a job."""
