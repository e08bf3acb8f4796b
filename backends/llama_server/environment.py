"""The environment of `llama_server`: its libraries, and what a machine needs for them."""

from __future__ import annotations

from backends.environment import Environment, Variant

ENVIRONMENT = Environment(
    "llama_server",
    ("llama_server",),
    module="xllamacpp",
    dists=("xllamacpp",),
    check="xllamacpp",
    variants=(Variant("cpu", "llama_server/locks/cpu.txt", "llama-server", space_mib=250),),
)
