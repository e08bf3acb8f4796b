"""The environment of `vllm_serve` is that of `vllm`."""

from backends.vllm.environment import ENVIRONMENT

__all__ = ["ENVIRONMENT"]
