"""Diagnoses from its log why TGI did not load a model, in one sentence that says what to do.

The launcher writes into one log what its processes say: the download of the weights, the shards and the
router. The patterns match messages in the sources of TGI 3.3 (launcher, router, server), of Transformers and
of PyTorch.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from pathlib import Path

from backends.shared import diagnosis

DIAGNOSES: diagnosis.Diagnoses = (
    (
        r"(text-generation-(?:server|router)) not found in PATH",
        "the program {0} is not beside text-generation-launcher, nor on PATH: set tgi_binary to the launcher"
        " of a complete installation",
    ),
    (
        r"error: unexpected argument '([^']{1,100})'",
        "this text-generation-launcher does not know the argument {0}: correct tgi_extra_args, or use"
        " TGI 3.3",
    ),
    (
        r"error: invalid value '([^'\n]{0,100})' for '([^'\n]{1,100})'",
        "text-generation-launcher does not accept the value {0} of its argument {1}: correct the option that"
        " sets it",
    ),
    (
        r"NotEnoughMemory\((\d+)\)|Not enough memory to handle `max_total_tokens=(\d+)",
        "there is not enough memory for a context of {0} tokens: set tgi_max_total_tokens lower",
    ),
    (
        r"Not enough memory to handle (\d+) prefill tokens",
        "there is not enough memory to read {0} tokens at once: pass a smaller --max-batch-prefill-tokens in"
        " tgi_extra_args, or set tgi_max_total_tokens lower",
    ),
    (
        r"`max_batch_prefill_tokens` must be >= `max_input_tokens`\. Given: (\d+) and (\d+)",
        "on this GPU TGI reads a prompt in one step, of {0} tokens at most, not {1}: set tgi_max_total_tokens"
        " lower, or pass --max-batch-prefill-tokens in tgi_extra_args",
    ),
    (
        r"OutOfMemoryError|CUDA out of memory|can't allocate memory|Cannot allocate memory|\bMemoryError\b",
        "there is not enough memory for this model: use a smaller one, set tgi_max_total_tokens lower, or"
        " unload other models",
    ),
    (
        r"No CUDA GPUs are available|Found no NVIDIA driver|driver version is insufficient"
        r"|Torch not compiled with CUDA enabled|libcuda\.so[.\d]*: cannot open|CUDA is not available",
        "TGI finds no GPU that it was built for: give the worker a GPU (CUDA_VISIBLE_DEVICES), and check its"
        " driver",
    ),
    (
        r"NotEnoughCUDADevices\(\"([^\"\n]{1,120})|invalid device ordinal",
        "the model is to be shared by more GPUs than there are: correct tgi_num_shard",
    ),
    (
        r"trust_remote_code=True",
        "the model contains code of its own: set tgi_trust_remote_code if you trust it",
    ),
    (
        r"gated repo|Access to model .{1,80} is restricted|401 Client Error",
        "the hub refuses access to this model: accept its licence, and set HF_TOKEN for the worker",
    ),
    (
        r"Repository Not Found|RepositoryNotFoundError"
        r"|is not a local folder and is not a valid model identifier",
        "there is no such model: correct model_path, which is a folder or a hub's id",
    ),
    (
        r"offline mode is enabled|outgoing traffic has been disabled|We couldn't connect to"
        r"|LocalEntryNotFoundError",
        "the hub cannot be reached: download the model, and set model_path to its folder",
    ),
    (
        r"No (?:\S{1,20} )?weights found",
        "there are no weights in the model's folder: TGI reads *.safetensors",
    ),
    (
        r"Unsupported model type ([\w.-]{1,60})"
        r"|has model type `([^`]{1,60})` but Transformers does not recognize",
        "TGI does not support the architecture of this model ({0}): use the backend vllm",
    ),
    (
        r"SafetensorError: ([^\n]{1,120})",
        "the model's weights cannot be read ({0}): download them again",
    ),
    (
        r"[Aa]ddress already in use",
        "the engine's port is used by another process",
    ),
    (
        r"ArgumentValidation\(\"([^\"\n]{1,200})|Argument validation error: ([^\n]{1,200})",
        "text-generation-inference rejects these options: {0}",
    ),
)


def diagnose(log: str) -> str | None:
    """Return the first diagnosis whose pattern occurs in the log; None if there is none."""
    return diagnosis.diagnose(log, DIAGNOSES)


def diagnosing(directory: Path) -> AbstractContextManager[None]:
    """Replace the message of a load that fails inside the block with the diagnosis from its log, if any."""
    return diagnosis.diagnosing(directory, DIAGNOSES)
