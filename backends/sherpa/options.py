"""The options of `sherpa` (sherpa-onnx): voices that speak texts, on the CPU."""

from __future__ import annotations

from backends.declaration import VOICE, Backend, LoadField, Option
from backends.environment import Environment, Variant
from backends.load_parameters import CONTEXT, MEMORY, QUANTIZATION, LoadParameters
from backends.memory_rules import MIB, VoiceMemory
from backends.parameter_rules import Impossible

ENVIRONMENT = Environment(
    "sherpa",
    ("sherpa",),
    module="sherpa_onnx",
    dists=("sherpa-onnx",),
    check="av, sherpa_onnx",
    variants=(Variant("cpu", "sherpa/locks/cpu.txt", "sherpa", space_mib=300),),
)

BACKEND = Backend(
    "sherpa",
    "sherpa_",
    parameters=LoadParameters(
        quantization=Impossible(QUANTIZATION, "a voice has the type of its file"),
        context=Impossible(CONTEXT, "a voice reads characters, of which sherpa_max_characters is the limit"),
        memory=Impossible(MEMORY, "voices run on the CPU"),
    ),
    environment=ENVIRONMENT,
    # measured with sherpa-onnx 1.13: 55 MiB with a voice of 2 KB, 150 MiB with a voice of Piper of 60 MB, at
    # most 430 MiB while that spoke one sentence after the other; several at once were not measured
    memory=VoiceMemory(factor=1.6, process=55 * MIB, request=280 * MIB),
    media_kinds=("speech",),
    voices_option="sherpa_voices",
    max_slots=64,
    options=(
        Option(
            "sherpa_voices",
            "object",
            None,
            "the speaker's number in the model by the voice's name in requests; null names them by number",
            nullable=True,
            format=VOICE,
        ),
        Option(
            "sherpa_family",
            "enum",
            "auto",
            "the kind of the voice; auto is kokoro in a folder with voices.bin, else vits (also Piper)",
            choices=("auto", "vits", "kokoro"),
        ),
        Option(
            "sherpa_python",
            "string",
            None,
            "a Python with sherpa-onnx and PyAV; null is that of `stoker runtimes install sherpa`",
            nullable=True,
            format="program",
        ),
        Option(
            "sherpa_threads",
            "integer",
            1,
            "CPU threads of one sentence",
            minimum=1,
            maximum=1024,
            load_field=LoadField(
                {"kind": "integer", "minimum": 1, "maximum": 1024, "step": 1}, shows_default=True
            ),
        ),
        Option(
            "sherpa_max_characters",
            "integer",
            4096,
            "maximum characters of one request",
            minimum=1,
            maximum=1_000_000,
            load_field=LoadField(
                {"kind": "integer", "minimum": 1, "maximum": 1_000_000, "step": 1}, shows_default=True
            ),
        ),
        Option(
            "sherpa_max_seconds",
            "integer",
            1800,
            "maximum seconds of one recording, which ends there (48 kB of disk each as pcm and wav)",
            minimum=1,
            maximum=86_400,
        ),
    ),
)
