"""`Sampling` from the fields of llama-server's own routes, and these fields as an answer repeats them.

A parameter that changes nothing is left out, so that engines which lack it take the requests of clients that
send all of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from api.inference.llama_server.sampling_fields import LlamaSamplers
from generation.generation import Sampling

SAMPLERS = {
    "e": "penalties",
    "d": "dry",
    "s": "top_n_sigma",
    "k": "top_k",
    "y": "typ_p",
    "p": "top_p",
    "m": "min_p",
    "x": "xtc",
    "t": "temperature",
    "i": "infill",
    "a": "adaptive_p",
}
"""llama.cpp's samplers by their letters (common/sampling.cpp)."""

ALIASES = {
    **{name: name for name in SAMPLERS.values()},
    **{name.replace("_", "-"): name for name in SAMPLERS.values()},
    **{"nucleus": "top_p", "typical_p": "typ_p", "typical-p": "typ_p", "typical": "typ_p", "typ": "typ_p"},
    **{"temp": "temperature"},
}

DEFAULT_SAMPLERS = (
    *("penalties", "dry", "top_n_sigma", "top_k", "typ_p", "top_p", "min_p", "xtc"),
    "temperature",
)

DEFAULTS: Mapping[str, Any] = {
    "seed": 2**32 - 1,
    "temperature": 0.8,
    "dynatemp_range": 0.0,
    "dynatemp_exponent": 1.0,
    "top_k": 40,
    "top_p": 0.95,
    "min_p": 0.05,
    "top_n_sigma": -1.0,
    "xtc_probability": 0.0,
    "xtc_threshold": 0.1,
    "typical_p": 1.0,
    "repeat_last_n": 64,
    "repeat_penalty": 1.0,
    "presence_penalty": 0.0,
    "frequency_penalty": 0.0,
    "dry_multiplier": 0.0,
    "dry_base": 1.75,
    "dry_allowed_length": 2,
    "dry_penalty_last_n": 64,
    "dry_sequence_breakers": ["\n", ":", '"', "*"],
    "mirostat": 0,
    "mirostat_tau": 5.0,
    "mirostat_eta": 0.1,
    "adaptive_target": -1.0,
    "adaptive_decay": 0.9,
    "stop": [],
    "max_tokens": -1,
    "n_predict": -1,
    "n_keep": 0,
    "n_discard": 0,
    "ignore_eos": False,
    "stream": False,
    "logit_bias": [],
    "n_probs": 0,
    "min_keep": 0,
    "grammar": "",
    "samplers": list(DEFAULT_SAMPLERS),
    "timings_per_token": False,
    "post_sampling_probs": False,
    "lora": [],
}
"""llama-server's values of the fields that a request leaves out, in the order of `generation_settings`."""

NO_SEEDS = (-1, 2**32 - 1)
UNLIMITED = 0
"""An `n_predict` below it sets no limit."""

_PENALTIES = ("repeat_penalty", "presence_penalty", "frequency_penalty")
_FURTHER = (
    *("dynatemp_range", "typical_p", "top_n_sigma", "xtc_probability", "dry_multiplier", "mirostat"),
    *("min_keep", "ignore_eos", "n_indent", "t_max_predict_ms"),
)
"""The fields that go to the engine by their own names."""

_NEEDED_BY: Mapping[str, tuple[str, ...]] = {
    "dynatemp_range": ("dynatemp_exponent",),
    "xtc_probability": ("xtc_threshold",),
    "dry_multiplier": ("dry_base", "dry_allowed_length", "dry_penalty_last_n", "dry_sequence_breakers"),
    "mirostat": ("mirostat_tau", "mirostat_eta"),
}
"""The fields that have an effect together with another one only."""


CHAT_NAMES = frozenset(LlamaSamplers().fields)
"""The fields of a chat request that llama.cpp alone has."""


def n_predict_of(body: Mapping[str, Any]) -> int:
    """The most tokens of an answer; below 0 there is no limit."""
    given = body.get("n_predict")
    if given is None:
        given = body.get("max_tokens")
    return -1 if given is None else int(given)


def sampling_of(body: Mapping[str, Any]) -> Sampling:
    """The sampling parameters of a body that fits `LlamaFields`."""
    limit, seed, top_k = n_predict_of(body), body.get("seed"), body.get("top_k")
    temperature, n_probs = body.get("temperature"), body.get("n_probs") or 0
    stop, biases = body.get("stop") or (), list(_biases(body.get("logit_bias") or ()))
    are_plain = all(type(token) is int and type(bias) is not bool for token, bias in biases)
    reports_tokens = bool(n_probs or body.get("return_tokens"))
    return Sampling(
        max_tokens=None if limit < UNLIMITED else max(1, limit),  # as llama-server, which samples one token
        temperature=None if temperature is None else max(0.0, temperature),
        top_p=body.get("top_p"),
        seed=None if seed in NO_SEEDS else seed,
        stop=(stop,) if isinstance(stop, str) else tuple(filter(None, stop)),
        top_k=None if top_k is None else max(top_k, 0),
        min_p=body.get("min_p"),
        presence_penalty=body.get("presence_penalty"),
        frequency_penalty=body.get("frequency_penalty"),
        repetition_penalty=body.get("repeat_penalty"),
        logit_bias=tuple((int(token), float(bias)) for token, bias in biases) if are_plain else (),
        top_logprobs=n_probs if reports_tokens else None,
        token_ids=reports_tokens,
        llama=_llama_fields(body, [] if are_plain else biases),
    )


def with_llama_fields(sampling: Sampling, body: Mapping[str, Any]) -> Sampling:
    """The sampling of a chat request with what its body has of `LlamaSamplers`.

    The other fields are those of OpenAI's API, and have its bounds.
    """
    given = {name: body[name] for name in CHAT_NAMES & body.keys() if body[name] is not None}
    if not given:
        return sampling
    penalties = {
        "presence_penalty": sampling.presence_penalty,
        "frequency_penalty": sampling.frequency_penalty,
    }
    repetition = given.get("repeat_penalty") if sampling.repetition_penalty is None else None
    llama = _llama_fields({"repeat_penalty": sampling.repetition_penalty, **penalties, **given}, [])
    if repetition is not None:
        sampling = replace(sampling, repetition_penalty=repetition)
    return replace(sampling, llama=llama) if llama else sampling


def _llama_fields(body: Mapping[str, Any], biases: list[list[Any]]) -> dict[str, Any]:
    """The parameters that only llama.cpp has, without those that change nothing."""
    made: dict[str, Any] = {}
    for name in _FURTHER:
        if _has_effect(name, body.get(name)):
            made[name] = body[name]
            made |= {each: body[each] for each in _NEEDED_BY.get(name, ()) if body.get(each) is not None}
    if any(_has_effect(name, body.get(name)) for name in _PENALTIES) and _has_effect(
        "repeat_last_n", body.get("repeat_last_n")
    ):
        made["repeat_last_n"] = body["repeat_last_n"]
    if body.get("samplers") is not None and (samplers := samplers_of(body["samplers"])) != DEFAULT_SAMPLERS:
        made["samplers"] = list(samplers)
        if "adaptive_p" in samplers:
            names = ("adaptive_target", "adaptive_decay")
            made |= {each: body[each] for each in names if body.get(each) is not None}
    if body.get("post_sampling_probs") and body.get("n_probs"):
        made["post_sampling_probs"] = True
    if biases:
        made["logit_bias"] = biases
    return made


def _has_effect(name: str, value: Any) -> bool:
    if value is None:
        return False
    if name in ("top_n_sigma", "t_max_predict_ms"):
        return bool(value > 0)
    return bool(value != DEFAULTS.get(name, 0))


def samplers_of(given: str | list[str]) -> tuple[str, ...]:
    """The known samplers of a field `samplers`, by their names. As llama-server, it leaves others out."""
    if isinstance(given, str):
        return tuple(SAMPLERS[letter] for letter in given if letter in SAMPLERS)
    return tuple(ALIASES[name] for name in given if name in ALIASES)


def _biases(given: Any) -> Iterator[list[Any]]:
    """The pairs of a `logit_bias`, without those that have no effect (true)."""
    for token, bias in given.items() if isinstance(given, dict) else given:
        if bias is not True:
            is_number = isinstance(given, dict) and token.isascii() and token.isdigit()
            yield [int(token) if is_number else token, bias]


def settings_of(body: Mapping[str, Any]) -> dict[str, Any]:
    """What a request sets of `generation_settings`, for the echo of its answer."""
    given = {name: body[name] for name in DEFAULTS if body.get(name) is not None}
    limit = n_predict_of(body)
    if limit >= UNLIMITED:
        given |= {"max_tokens": limit, "n_predict": limit}
    if given.get("seed") in NO_SEEDS:
        del given["seed"]
    if isinstance(given.get("stop"), str):
        given["stop"] = [given["stop"]]
    if "stop" in given:
        given["stop"] = [word for word in given["stop"] if word]
    if "samplers" in given:
        given["samplers"] = list(samplers_of(given["samplers"]))
    if "logit_bias" in given:
        given["logit_bias"] = [
            {"bias": None if bias is False else bias, "token": token}
            for token, bias in _biases(given["logit_bias"])
            if type(token) is int
        ]
    return given


def generation_settings(given: Mapping[str, Any]) -> dict[str, Any]:
    """The `generation_settings` of an answer: what the request sets, and llama-server's values else."""
    return {name: given.get(name, value) for name, value in DEFAULTS.items()}
