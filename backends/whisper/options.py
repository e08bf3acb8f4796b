"""The options of `whisper` (faster-whisper): models that write down, or translate, what is said."""

from __future__ import annotations

from backends.declaration import Backend, LoadField, Option
from backends.environment import Environment, Variant
from backends.load_parameters import CONTEXT, MEMORY, LoadParameters
from backends.memory_rules import FolderMemory
from backends.parameter_rules import Impossible, NumberType

ENVIRONMENT = Environment(
    "whisper",
    ("whisper",),
    module="faster_whisper",
    dists=("faster-whisper",),
    check="av, ctranslate2, faster_whisper, onnxruntime, tokenizers",
    variants=(
        Variant("cuda", "whisper/locks/cuda.txt", "whisper-cuda", space_mib=4000, driver=(12, 0)),
        Variant("cpu", "whisper/locks/cpu.txt", "whisper", space_mib=700),
    ),
)

TYPES = (
    *("default", "auto", "int8", "int8_float32", "int8_float16", "int8_bfloat16"),
    *("int16", "float16", "bfloat16", "float32"),
)
"""CTranslate2's types of computation (its documentation, "Quantization")."""

BACKEND = Backend(
    "whisper",
    "whisper_",
    parameters=LoadParameters(
        quantization=NumberType(
            "whisper_compute_type",
            {"fp32": "float32", "fp16": "float16", "bf16": "bfloat16", "int16": "int16", "int8": "int8"}
            | {f"int8_{name}": f"int8_{name}" for name in ("float32", "float16", "bfloat16")},
        ),
        context=Impossible(CONTEXT, "a recording is processed in windows of 30 seconds, however long it is"),
        memory=Impossible(MEMORY, "CTranslate2 takes memory as the requests need it, without a bound"),
        forms=("whisper",),
    ),
    environment=ENVIRONMENT,
    memory=FolderMemory(1.5),
    takes_hub_ids=True,
    weight_files=("model.bin", "vocabulary.txt"),
    media_kinds=("transcribe", "translate"),
    options=(
        Option(
            "whisper_compute_type",
            "string",
            "default",
            "data type of the computation, such as int8_float16; default is that of the files",
            load_field=LoadField({"kind": "enum", "allowed_values": list(TYPES)}, shows_default=True),
        ),
        Option(
            "whisper_python",
            "string",
            None,
            "a Python with faster-whisper; null is that of `stoker runtimes install whisper`",
            nullable=True,
            format="program",
        ),
        Option(
            "whisper_threads",
            "integer",
            None,
            "CPU threads of a computation; null leaves the choice to the library",
            nullable=True,
            minimum=1,
            maximum=1024,
        ),
        Option(
            "whisper_beam_size",
            "integer",
            5,
            "number of beams of the search; 1 is the fastest",
            minimum=1,
            maximum=32,
            load_field=LoadField(
                {"kind": "integer", "minimum": 1, "maximum": 32, "step": 1}, shows_default=True
            ),
        ),
        Option(
            "whisper_max_seconds",
            "integer",
            7200,
            "the longest recording of a request; a longer one is refused",
            minimum=1,
            maximum=86_400,
            load_field=LoadField(
                {"kind": "integer", "minimum": 1, "maximum": 86_400, "step": 1, "unit": "seconds"},
                shows_default=True,
            ),
        ),
        Option(
            "whisper_previous_text",
            "boolean",
            True,
            "whether a window gets the text before it as a prompt; false avoids repetitions, and lets more"
            " windows share a computation",
        ),
        Option(
            "whisper_batch_wait_ms",
            "integer",
            None,
            "how long a window waits for windows of other requests to share its computation; null is 5 on a"
            " GPU, and no batches on the CPU",
            nullable=True,
            minimum=0,
            maximum=1000,
        ),
    ),
)
