"""Makes contexts with llama.cpp's library and writes the sizes of their buffers, as its log has them.

Arguments: the model's file, and a JSON list of objects with `slots`, `context`, `batch`, `flash` (0 or 1) and
`type` (the number of a GGML type). Writes a JSON list with the MiB of each context.
"""

from __future__ import annotations

import json
import re
import sys
from importlib import import_module
from typing import Any

BUFFER = re.compile(r"\w+ +(?:model|KV|RS|compute|output) buffer size = +([\d.]+) MiB")


def main() -> None:
    """Load the model anew for each context."""
    library: Any = import_module("llama_cpp")
    lines: list[str] = []
    callback = library.llama_log_callback(
        lambda _level, data, _: lines.append(data.decode("utf-8", "replace"))
    )
    library.llama_log_set(callback, None)
    library.llama_backend_init()
    sums = []
    for asked in json.loads(sys.argv[2]):
        lines.clear()
        of_model = library.llama_model_default_params()
        of_model.n_gpu_layers = 0
        model = library.llama_model_load_from_file(sys.argv[1].encode(), of_model)
        params = library.llama_context_default_params()
        params.n_ctx, params.n_seq_max = asked["slots"] * asked["context"], asked["slots"]
        params.kv_unified = params.swa_full = False
        params.n_batch = params.n_ubatch = max(asked["batch"], asked["slots"])
        params.n_outputs_max = asked["slots"]
        params.flash_attn_type = asked["flash"]
        params.type_k = params.type_v = asked["type"]
        context = library.llama_init_from_model(model, params)
        sums.append(sum(map(float, BUFFER.findall("".join(lines)))))
        library.llama_free(context)
        library.llama_model_free(model)
    print(json.dumps(sums))


main()
