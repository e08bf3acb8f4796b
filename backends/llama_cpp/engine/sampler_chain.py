"""Chooses tokens with the library's samplers, for requests that ask for more than `Sampler` has.

The chain is llama-server's (common/sampling.cpp of llama.cpp): the samplers in the request's order, and then
the choice. It takes about a third of a millisecond per token with a large vocabulary.
"""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from typing import Any

from .vocabulary import Vocabulary

NO_SEED = 0xFFFFFFFF  # LLAMA_DEFAULT_SEED
WINDOW = 64
WHOLE_CONTEXT = -1
MIROSTAT_TOKENS = 100
BREAKERS = ("\n", ":", '"', "*")
SAMPLERS = (
    *("penalties", "dry", "top_n_sigma", "top_k", "typ_p", "top_p", "min_p", "xtc"),
    "temperature",
)
ASKS = frozenset(
    {
        *("dynatemp_range", "typical_p", "top_n_sigma", "xtc_probability", "dry_multiplier", "mirostat"),
        *("min_keep", "samplers", "post_sampling_probs", "repeat_last_n"),
    }
)
"""The parameters that only a chain has."""

PENALTIES: Mapping[str, float] = {
    "repetition_penalty": 1.0,
    "presence_penalty": 0.0,
    "frequency_penalty": 0.0,
}


def needs_chain(body: Mapping[str, Any]) -> bool:
    """Whether a request that came by llama-server's routes needs the library's samplers.

    Its penalties count the last tokens, of the prompt too; those of other requests are in `LogitChanges`.
    """
    given = body.get("llama")
    if given is None:
        return False
    return not ASKS.isdisjoint(given) or any(body.get(name, none) != none for name, none in PENALTIES.items())


class SamplerChain:
    """The samplers of one request.

    `settings` are temp, top_k, top_p and min_p, `body` is that of the request, `prompt` an array of its
    tokens, `context` the most tokens of a request. `close` frees the memory.
    """

    is_greedy = False

    def __init__(  # noqa: PLR0913, PLR0917 - all that samplers are made of
        self,
        library: Any,
        numpy: Any,
        vocabulary: Vocabulary,
        settings: Mapping[str, float],
        body: Mapping[str, Any],
        context: int,
        prompt: Any,
    ) -> None:
        self._library = library
        self._numpy = numpy
        self._vocabulary = vocabulary
        self._kind = [("id", numpy.int32), ("logit", numpy.float32), ("p", numpy.float32)]
        self._candidates: Any = None
        self._given = {**body["llama"]}
        self._penalties = {name: float(body.get(name, none)) for name, none in PENALTIES.items()}
        self._settings = settings
        self._context = context
        seed = body.get("seed")
        self._seed = NO_SEED if seed is None else seed % NO_SEED
        self._chain = library.llama_sampler_chain_init(library.llama_sampler_chain_default_params())
        window = self._build()
        for token in prompt[-window:].tolist() if window else ():
            library.llama_sampler_accept(self._chain, token)

    def pick(self, logits: Any) -> int:
        """Choose a token from the logits of the whole vocabulary (float32, one per token)."""
        numpy, library = self._numpy, self._library
        every = numpy.zeros(len(logits), self._kind)
        every["id"] = numpy.arange(len(logits))
        every["logit"] = logits
        pointer = every.ctypes.data_as(ctypes.POINTER(library.llama_token_data))
        array = library.llama_token_data_array(pointer, len(logits), -1, False)
        library.llama_sampler_apply(self._chain, ctypes.byref(array))
        self._candidates = every[: array.size]
        return int(every["id"][array.selected])

    def probabilities(self) -> tuple[Any, Any]:
        """The tokens that the last choice was made of, and their probabilities: two arrays."""
        return self._candidates["id"], self._candidates["p"]

    def accept(self, token: int) -> None:
        """Count a token of the output."""
        self._library.llama_sampler_accept(self._chain, token)

    def close(self) -> None:
        """Free the library's memory of the samplers."""
        if self._chain:
            self._library.llama_sampler_free(self._chain)
        self._chain = None

    def _build(self) -> int:
        """Add the samplers. Returns how many of the last tokens they look at."""
        if mirostat := self._given.get("mirostat"):
            self._add("temp", self._settings["temp"])
            tau, eta = self._number("mirostat_tau", 5.0), self._number("mirostat_eta", 0.1)
            if mirostat == 1:
                self._add("mirostat", self._vocabulary.size, self._seed, tau, eta, MIROSTAT_TOKENS)
            else:
                self._add("mirostat_v2", self._seed, tau, eta)
            return 0
        names = self._given.get("samplers", SAMPLERS)
        windows = [getattr(self, f"_add_{name}")() or 0 for name in names if name != "adaptive_p"]
        if "adaptive_p" in names:
            target, decay = self._number("adaptive_target", -1.0), self._number("adaptive_decay", 0.9)
            self._add("adaptive_p", target, decay, self._seed)
        else:
            self._add("dist", self._seed)
        return max(windows, default=0)

    def _add(self, name: str, *arguments: Any) -> None:
        sampler = getattr(self._library, f"llama_sampler_init_{name}")(*arguments)
        self._library.llama_sampler_chain_add(self._chain, sampler)

    def _number(self, name: str, default: float) -> float:
        return float(self._given.get(name, default))

    @property
    def _min_keep(self) -> int:
        return int(self._given.get("min_keep", 0))

    def _window(self, name: str) -> int:
        """A number of tokens, for which the library allocates memory: at most the context."""
        size = int(self._given.get(name, WINDOW))
        return self._context if size == WHOLE_CONTEXT else min(size, self._context)

    def _add_penalties(self) -> int:
        window = self._window("repeat_last_n")
        if not window or self._penalties == PENALTIES:
            return 0
        repeat, presence, frequency = (self._penalties[name] for name in PENALTIES)
        self._add("penalties", self._vocabulary.size, window, repeat, frequency, presence)
        return window

    def _add_dry(self) -> int:
        multiplier, window = self._number("dry_multiplier", 0.0), self._window("dry_penalty_last_n")
        if not multiplier or not window:
            return 0
        base = self._number("dry_base", 1.75)
        texts = [
            text.encode("utf-8", "replace") for text in self._given.get("dry_sequence_breakers", BREAKERS)
        ]
        breakers = (ctypes.c_char_p * len(texts))(*texts)
        as_pointer = ctypes.cast(breakers, ctypes.POINTER(ctypes.c_char_p))
        allowed = int(self._given.get("dry_allowed_length", 2))
        base = 1.75 if base < 1 else base
        self._add(
            *("dry", self._vocabulary.pointer, multiplier, base, allowed, window, as_pointer, len(texts))
        )
        return window

    def _add_top_n_sigma(self) -> None:
        self._add("top_n_sigma", self._number("top_n_sigma", -1.0))

    def _add_top_k(self) -> None:
        self._add("top_k", int(self._settings["top_k"]))

    def _add_typ_p(self) -> None:
        self._add("typical", self._number("typical_p", 1.0), self._min_keep)

    def _add_top_p(self) -> None:
        self._add("top_p", self._settings["top_p"], self._min_keep)

    def _add_min_p(self) -> None:
        self._add("min_p", self._settings["min_p"], self._min_keep)

    def _add_xtc(self) -> None:
        probability, threshold = self._number("xtc_probability", 0.0), self._number("xtc_threshold", 0.1)
        self._add("xtc", probability, threshold, self._min_keep, self._seed)

    def _add_temperature(self) -> None:
        extent, exponent = self._number("dynatemp_range", 0.0), self._number("dynatemp_exponent", 1.0)
        self._add("temp_ext", self._settings["temp"], extent, exponent)

    def _add_infill(self) -> None:
        self._add("infill", self._vocabulary.pointer)
