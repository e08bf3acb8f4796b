"""The environment of `ct2`: its libraries, and what a machine needs for them."""

from __future__ import annotations

from backends.environment import Environment, Variant

ENVIRONMENT = Environment(
    "ct2",
    ("ct2",),
    module="ctranslate2",
    dists=("ctranslate2",),
    check="ctranslate2, jinja2, sentencepiece, tokenizers",
    variants=(
        Variant("cuda", "ct2/locks/cuda.txt", "ct2-cuda", space_mib=2500, driver=(12, 0)),
        Variant("cpu", "ct2/locks/cpu.txt", "ct2", space_mib=400),
    ),
)
