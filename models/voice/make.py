"""`python models/voice/make.py FOLDER [piper]` writes a tiny voice: `voice.onnx` and `tokens.txt`.

With `piper` it has the interface of a voice of Piper, whose tokens are phonemes of eSpeak NG.

The graph has the inputs, the output and the metadata of a VITS voice, as sherpa-onnx loads them
(sherpa-onnx/csrc/offline-tts-vits-model.cc), but no trained weights: each letter is a tone.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from onnx import TensorProto, checker, helper, numpy_helper, save

RATE = 16_000
LETTER_SAMPLES = 960
"""The samples of a letter at speed 1: 60 ms."""

SPEAKERS = 3
LETTERS = "abcdefghijklmnopqrstuvwxyz"
TABLE = "_ " + LETTERS + ".,!?'"
"""All characters of the voice; those that are no letters are silent."""

PHONEMES = "_^$ ,.?!;:abcdefhijklmnopqrstuvwxyzæðŋɐɑɒɔəɚɛɜɡɪɹɾʃʊʌʒθᵻˈˌː"  # noqa: RUF001 - as eSpeak NG writes them
"""The table of the other voice: pad, begin and end of Piper, and the phonemes of English."""

PIPER = {"comment": "piper", "frontend": "", "voice": "en-us", "has_espeak": "1"}
METADATA = {
    "model_type": "vits",
    "comment": "stoker",
    "language": "English",
    "frontend": "characters",
    "punctuation": ". , ! ?",
    "add_blank": "0",
    "use_eos_bos": "0",
    "n_speakers": str(SPEAKERS),
    "sample_rate": str(RATE),
    **{f"{name}_id": "0" for name in ("blank", "bos", "eos", "pad")},
}

NODES = (
    # samples: letters x samples of a letter x length_scale (1 / speed)
    ("Reshape", "x flat", "letters"),
    ("Squeeze", "x_length", "count"),
    ("Cast float", "count", "count_float"),
    ("Squeeze", "length_scale", "scale"),
    ("Mul", "letter_samples scale", "duration"),
    ("Mul", "count_float duration", "all_float"),
    ("Cast int64", "all_float", "all"),
    # the letter of each sample
    ("Range", "zero all one", "samples"),
    ("Cast float", "samples", "samples_float"),
    ("Div", "samples_float duration", "place_float"),
    ("Cast int64", "place_float", "place"),
    ("Gather", "letters place", "letter"),
    ("Gather", "tones letter", "tone"),
    ("Gather", "loudness letter", "loud"),
    # a speaker's tones are a quarter higher than those of the one before
    ("Squeeze", "sid", "speaker"),
    ("Cast float", "speaker", "speaker_float"),
    ("Mul", "speaker_float quarter", "higher"),
    ("Add", "higher one_float", "pitch"),
    ("Mul", "tone pitch", "hertz"),
    ("Mul", "hertz radians", "step"),
    ("Cast double", "step", "step_double"),
    ("CumSum", "step_double zero", "phase_double"),
    ("Cast float", "phase_double", "phase"),
    ("Sin", "phase", "wave"),
    ("Mul", "wave loud", "sound"),
    ("Reshape", "sound output_shape", "y"),
)
TYPES = {"float": TensorProto.FLOAT, "double": TensorProto.DOUBLE, "int64": TensorProto.INT64}


def constants(table: str) -> dict[str, np.ndarray | np.generic]:
    """The constant inputs of the nodes, for a table of characters."""
    tones = [180 + 14 * table.index(sign) - 28 if sign.isalpha() else 0 for sign in table]
    return {
        "tones": np.array(tones, dtype=np.float32),
        "loudness": np.array([0.3 if tone else 0 for tone in tones], dtype=np.float32),
        "letter_samples": np.float32(LETTER_SAMPLES),
        "radians": np.float32(2 * np.pi / RATE),
        "quarter": np.float32(0.25),
        "one_float": np.float32(1),
        "zero": np.int64(0),
        "one": np.int64(1),
        "flat": np.array([-1], dtype=np.int64),
        "output_shape": np.array([1, 1, -1], dtype=np.int64),
    }


def write(folder: Path, *, piper: bool) -> None:
    """Write the files of a voice."""
    table = PHONEMES if piper else TABLE
    nodes = [helper.make_node("Gather", ["scales", "one"], ["length_scale"])] if piper else []
    for operation, inputs, output in NODES:
        kind, _, to = operation.partition(" ")
        attributes = {"to": TYPES[to]} if to else {}
        nodes.append(helper.make_node(kind, inputs.split(), [output], **attributes))
    value = helper.make_tensor_value_info
    names = ("noise_scale", "length_scale", "noise_scale_w")
    scales = [value(name, TensorProto.FLOAT, [1]) for name in names]
    if piper:
        scales = [value("scales", TensorProto.FLOAT, [3])]
    graph = helper.make_graph(
        nodes,
        "voice",
        [
            value("x", TensorProto.INT64, [1, None]),
            value("x_length", TensorProto.INT64, [1]),
            *scales,
            value("sid", TensorProto.INT64, [1]),
        ],
        [value("y", TensorProto.FLOAT, [1, 1, None])],
        [numpy_helper.from_array(np.asarray(number), name) for name, number in constants(table).items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    helper.set_model_props(model, METADATA | (PIPER if piper else {}))
    checker.check_model(model)
    folder.mkdir(parents=True, exist_ok=True)
    save(model, folder / "voice.onnx")
    (folder / "tokens.txt").write_text("".join(f"{sign} {number}\n" for number, sign in enumerate(table)))


if __name__ == "__main__":
    write(Path(sys.argv[1]), piper="piper" in sys.argv[2:])
