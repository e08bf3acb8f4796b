"""The options of `ct2` (CTranslate2): converted generators and translators."""

from __future__ import annotations

from backends.declaration import Backend, Option
from backends.environment import Environment, Variant
from backends.load_parameters import MEMORY, LoadParameters
from backends.parameter_rules import ContextOption, Impossible, NumberType
from backends.prompt_formats import QWEN3


def _language(name: str, what: str) -> Option:
    about = f"translators: the {what} language of requests that name none"
    return Option(name, "string", None, about, nullable=True)


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

BACKEND = Backend(
    "ct2",
    "ct2_",
    parameters=LoadParameters(
        quantization=NumberType(
            "ct2_compute_type",
            {"fp32": "float32", "fp16": "float16", "bf16": "bfloat16", "int16": "int16", "int8": "int8"}
            | {f"int8_{name}": f"int8_{name}" for name in ("float32", "float16", "bfloat16")},
        ),
        context=ContextOption("ct2_n_ctx"),
        memory=Impossible(MEMORY, "CTranslate2 takes memory as the requests need it, without a bound"),
        forms=("ct2",),
        defaults={"TransformerSpec": {"ct2_task": "translate"}},
    ),
    environment=ENVIRONMENT,
    weight_files=("model.bin",),
    counts_tokens=True,
    counts_no_tokens_when={"ct2_task": "translate"},
    single_turn_when={"ct2_task": "translate"},
    sampling=frozenset({"top_k", "repetition_penalty", "top_logprobs"}),
    samples_nothing_when={"ct2_task": "translate"},
    thinking_formats=(QWEN3,),
    options=(
        Option(
            "ct2_task",
            "enum",
            "generate",
            "the task of the model: generate text, or translate it",
            choices=("generate", "translate"),
        ),
        Option("ct2_compute_type", "string", "default", "data type of the computation, such as int8_float16"),
        Option(
            "ct2_python",
            "string",
            None,
            "a Python with CTranslate2; null is that of `stoker runtimes install ct2`",
            nullable=True,
            format="program",
        ),
        Option(
            "ct2_n_ctx",
            "integer",
            None,
            "maximum tokens of one request; null is the tokenizer's limit, for translators no limit",
            nullable=True,
            minimum=2,
            maximum=100_000_000,
        ),
        Option(
            "ct2_threads",
            "integer",
            None,
            "CPU threads per batch; null leaves the choice to the library",
            nullable=True,
            minimum=1,
            maximum=1024,
        ),
        Option(
            "ct2_beam_size",
            "integer",
            1,
            "translators: number of beams; with more than one, output is streamed by whole sentences",
            minimum=1,
            maximum=32,
        ),
        _language("ct2_source_lang_code", "source"),
        _language("ct2_target_lang_code", "target"),
    ),
)
