"""The environment of `vllm_serve`: that of `vllm`."""

from backends.vllm.environment import ENVIRONMENT

__all__ = ["ENVIRONMENT"]
