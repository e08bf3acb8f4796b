"""Builds the engine of a model that makes vectors of texts."""

from __future__ import annotations

import os
import sys
from importlib import import_module
from typing import Any

from ...shared.engine.facts import version_of
from ...shared.engine.pipe import Pipe
from .batch import Batch
from .model import VECTORS_PER_STEP, LibraryLog, LlamaLoadError, load
from .vector_loop import Encoder, VectorLoop
from .vocabulary import Vocabulary

NONE, RANK = 0, 4  # the library's names of poolings (llama_pooling_type)


def run(pipe: Pipe, options: dict[str, Any]) -> None:
    """Load the model and make vectors until the worker closes the pipe."""
    library, numpy = import_module("llama_cpp"), import_module("numpy")
    log = LibraryLog(library)
    try:
        loaded = load(library, options, log, lambda done: pipe.load(0.9 * done, "loading the model"))
        _check_pooling(library.llama_pooling_type(loaded.context))
        vocabulary = Vocabulary(library, loaded.model, numpy, ())
        batch = Batch(library, loaded.context, numpy, loaded.context_size, vocabulary.size)
        encoder = Encoder(library, numpy, loaded, batch)
        pipe.load(0.92, "trying the model")
        if encoder.vectors([numpy.array([vocabulary.first], numpy.int32)]) is None:
            raise LlamaLoadError("the engine cannot run this model")
    except LlamaLoadError as error:
        pipe.failed(str(error))
        sys.exit(1)
    log.only_warnings()
    pipe.ready(
        loaded.slots,
        loaded.context_size,
        version=version_of("llama-cpp-python"),
        quantization=log.quantization,
        kv_cache_mib=log.kv_cache_mib,
    )
    VectorLoop(pipe, vocabulary, encoder, min(options["batch"], loaded.context_size), VECTORS_PER_STEP).run()
    os._exit(0)  # freeing the model piece by piece would only take time


def _check_pooling(kind: int) -> None:
    if kind == NONE:
        raise LlamaLoadError("the file names no pooling: set gguf_pooling to mean, cls or last")
    if kind == RANK:
        raise LlamaLoadError("the file's model scores documents and does not compute embeddings")
