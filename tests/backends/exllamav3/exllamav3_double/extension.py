"""Functions of `exllamav3_ext` in torch, for the CPU, with the same names, arguments and arithmetic.

Sources: the .cu and .cpp files of the same or a similar name in the package's exllamav3_ext folder. A
function that is missing here raises an exception when it is called.
"""

# ruff: noqa: PLR0917 - the arguments are the extension's

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import torch
from torch.nn.functional import gelu, silu

FUSED_SAMPLER_MAX_BLOCKS = 1
FUSED_SAMPLER_HIST_STRIDE = 8
GREEDY, FILTERED = 0, 3
TOP_K, TOP_P, MIN_P = 1, 2, 4
GROUP = 32  # values of a quantized cache that share one scale
NEOX = 2  # `RopeStyle`: the two halves of a head are rotated against each other


def missing(name: str) -> Any:
    """A replacement for a function that the double does not have; it raises when it is called."""
    if name.startswith("__"):
        raise AttributeError(name)

    def fail(*_args: Any, **_kwargs: Any) -> Any:
        raise NotImplementedError(f"the double has no {name}: it has only what small models need")

    return fail


# reading weights (stloader.cpp)


def stloader_open_file(path: str) -> Any:
    return Path(path).open("rb")


def stloader_close_file(file: Any) -> None:
    file.close()


def stloader_read(file: Any, offset: int, size: int, into: torch.Tensor) -> None:
    file.seek(offset)
    read = torch.frombuffer(bytearray(file.read(size)), dtype=into.dtype)
    into.copy_(read.view(into.shape))


# layers (hgemm.cu, norm.cu, activation.cu, rope.cu)


class BC_LinearFP16:  # noqa: N801 - its name
    def __init__(self, weight: torch.Tensor, bias: torch.Tensor | None) -> None:
        self.weight, self.bias = weight, bias


def hgemm(a: torch.Tensor, b: torch.Tensor, out: torch.Tensor) -> None:
    out.copy_(a.float() @ b.float())


def rms_norm(
    x: torch.Tensor,
    weight: torch.Tensor | None,
    out: torch.Tensor,
    epsilon: float,
    bias: float,
    scale: float,
    span_heads: bool = False,
    add: bool = False,
    groups: int = 1,
) -> None:
    if span_heads or groups != 1:
        raise NotImplementedError("norms over all heads or in groups")
    normal = x.float() * torch.rsqrt(x.float().square().mean(-1, keepdim=True) + epsilon) * scale
    normal = normal if weight is None else normal * (weight.float() + bias)
    out.copy_(out + normal if add else normal)


def rms_norm_res_in(
    x: torch.Tensor,
    weight: torch.Tensor | None,
    out: torch.Tensor,
    residual: torch.Tensor,
    epsilon: float,
    bias: float,
    scale: float,
) -> None:
    residual += x
    rms_norm(residual, weight, out, epsilon, bias, scale)


def silu_mul(gate: torch.Tensor, up: torch.Tensor, out: torch.Tensor, limit: float = 0.0) -> None:
    _no_limit(limit)
    out.copy_(silu(gate.float()) * up.float())


def gelu_mul(gate: torch.Tensor, up: torch.Tensor, out: torch.Tensor, limit: float = 0.0) -> None:
    _no_limit(limit)
    out.copy_(gelu(gate.float(), approximate="tanh") * up.float())


def relu2_mul(gate: torch.Tensor, up: torch.Tensor, out: torch.Tensor, limit: float = 0.0) -> None:
    _no_limit(limit)
    out.copy_(gate.float().relu().square() * up.float())


def _no_limit(limit: float) -> None:
    if limit:
        raise NotImplementedError("limited activations")


def rope(
    q: torch.Tensor,
    out_q: torch.Tensor,
    k: torch.Tensor | None,
    out_k: torch.Tensor | None,
    frequencies: torch.Tensor,
    position: int,
    positions: torch.Tensor | None,
    position_ids: torch.Tensor | None,
    style: int,
    factor: float,
    q_norm: torch.Tensor | None,
    k_norm: torch.Tensor | None,
    epsilon: float,
    bias: float,
    *_llama_4: float,
) -> None:
    if int(style) != NEOX:
        raise NotImplementedError("rotation of neighbours")
    rows, tokens = q.shape[:2]
    at = torch.arange(tokens).expand(rows, tokens) + position
    if positions is not None:
        at = at - position + positions.long()[:, None]
    if position_ids is not None:
        at = position_ids.long().view(rows, tokens)
    if frequencies.dim() == 1:
        angles = at[..., None].float() * frequencies.float()
    else:  # a table of angles by position
        table = frequencies.view(-1, *frequencies.shape[-2:]).float()
        angles = torch.stack([table[min(row, len(table) - 1)][at[row]] for row in range(rows)])
    cos, sin = (angles.cos() * factor)[:, :, None], (angles.sin() * factor)[:, :, None]
    for x, out, norm in ((q, out_q, q_norm), (k, out_k, k_norm)):
        if x is not None and out is not None:
            _rotate(x, out, norm, cos, sin, epsilon, bias)


def _rotate(
    x: torch.Tensor,
    out: torch.Tensor,
    norm: torch.Tensor | None,
    cos: torch.Tensor,
    sin: torch.Tensor,
    epsilon: float,
    bias: float,
) -> None:
    y = x.float().clone()
    if norm is not None:
        y = y * torch.rsqrt(y.square().mean(-1, keepdim=True) + epsilon) * (norm.float() + bias)
    half = cos.shape[-1]
    first, second = y[..., :half].clone(), y[..., half : 2 * half].clone()
    y[..., :half] = first * cos - second * sin
    y[..., half : 2 * half] = second * cos + first * sin
    out.copy_(y)


def gen_mrope_pos_ids(
    out: torch.Tensor,
    ids: torch.Tensor,
    merged: int,
    spans: list[tuple[int, int]],
    grids: list[tuple[int, int, int]],
) -> int:
    """The position of each token in time, height and width: image tokens are on a grid, text continues after
    it."""
    base = after = 0
    for i in range(out.shape[1]):
        id = int(ids[i]) if i < len(ids) else -1
        found = next((j for j, (begin, end) in enumerate(spans) if begin <= id < end), None)
        if found is None:
            base = after
            out[:, i] = base
            base = after = base + 1
            continue
        times, height, width = grids[found]
        height, width, nth = height // merged, width // merged, id - spans[found][0]
        place = (nth // width // height % times, nth // width % height, nth % width)
        out[:, i] = torch.tensor([base + part for part in place])
        after = max(after, *(base + part + 1 for part in place))
    return after


# the cache (cache/*.cu, generator/cache.cu)


def quant_cache_paged(
    k: torch.Tensor,
    k_out: torch.Tensor,
    k_scales: torch.Tensor,
    v: torch.Tensor,
    v_out: torch.Tensor,
    v_scales: torch.Tensor,
    lengths: torch.Tensor,
    table: torch.Tensor,
    page: int,
    tokens: int,
    _compand: float,
    contiguous: bool,
) -> None:
    for row, seen in enumerate(lengths.tolist()):
        at = torch.arange(seen, seen + tokens)
        pages, places = table[row].long()[at // page], at % page
        for x, out, scales in ((k, k_out, k_scales), (v, v_out, v_scales)):
            values = x[row] if contiguous else x[pages, places]
            out[pages, places], scales[pages, places] = _packed(values.flatten(1), out.shape[-1])


def dequant_cache_paged(
    k: torch.Tensor,
    k_scales: torch.Tensor,
    k_out: torch.Tensor,
    v: torch.Tensor,
    v_scales: torch.Tensor,
    v_out: torch.Tensor,
    *_where: Any,
) -> None:
    """Dequantise the whole cache."""
    for x, scales, out in ((k, k_scales, k_out), (v, v_scales, v_out)):
        out.copy_(_unpacked(x, scales).view(out.shape))


def _packed(values: torch.Tensor, words: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Groups of 32 values as integers (the n-th word of a group holds the n-th bits), and the groups'
    scales."""
    groups = values.float().view(len(values), -1, GROUP)
    bits = words // groups.shape[1]
    largest = groups.abs().amax(-1, keepdim=True).clamp(min=1e-6)
    steps = 2**bits - 1
    numbers = ((groups / largest + 1) / 2 * steps).round().long()
    lanes = torch.arange(GROUP)
    planes = [((numbers >> bit & 1) << lanes).sum(-1) for bit in range(bits)]
    packed = torch.stack(planes, -1)
    packed = torch.where(packed >= 1 << 31, packed - (1 << 32), packed).int()
    return packed.flatten(1), largest[..., 0].half()


def _unpacked(words: torch.Tensor, scales: torch.Tensor) -> torch.Tensor:
    bits = words.shape[-1] // scales.shape[-1]
    planes = words.view(*scales.shape, bits).long()[..., None] >> torch.arange(GROUP) & 1
    numbers = (planes << torch.arange(bits)[:, None]).sum(-2)
    return (numbers.float() / (2**bits - 1) * 2 - 1) * scales.float()[..., None]


def cache_rotate(cache: torch.Tensor, order: torch.Tensor, buffer: torch.Tensor) -> None:
    for target, source in order.view(-1, 2).tolist():
        (buffer if target < 0 else cache[target]).copy_(buffer if source < 0 else cache[source])


# the generator (generator/staging.cpp, generator/strings.cpp)


def generator_stage_decode(
    arena: torch.Tensor,
    width: int,
    tables: list[torch.Tensor],
    positions: list[int],
    offsets: list[int],
    batch: torch.Tensor | None,
    ids: list[torch.Tensor],
    pages: list[torch.Tensor],
    places: list[int],
) -> None:
    """Write the page tables, lengths and positions of a step to `arena`, and its tokens to `batch` and
    `pages`."""
    rows = len(tables)
    arena.zero_()
    for row, table in enumerate(tables):
        known = table.flatten()[:width]
        arena[row * width : row * width + len(known)] = known
        arena[rows * width + row] = positions[row]
        if offsets:
            arena[rows * (width + 1) + row] = positions[row] + offsets[row]
    for row, (sequence, page, place) in enumerate(zip(ids, pages, places, strict=True)):
        token = sequence[0, positions[row]]
        batch[row, 0] = token
        page[0, place] = token


def count_match_tensor(a: torch.Tensor, b: torch.Tensor, most: int) -> int:
    most = min(most, a.numel(), b.shape[1])
    differ = (a.flatten()[:most] != b.flatten()[:most]).nonzero()
    return int(differ[0]) if len(differ) else most


# sampling (generator/sampling_fused.cu)


def fused_sampler(
    logits: torch.Tensor,
    mask: torch.Tensor | None,
    bitmask: torch.Tensor | None,
    out: torch.Tensor,
    _workspace: torch.Tensor,
    size: int,
    inverse_temperature: float,
    least: float,
    random: int,
    mode: int,
    filters: int,
    top_k: int,
    top_p: float,
    inverse_of_filter: float,
    _histogram: torch.Tensor | None,
) -> None:
    x = logits[:, :size].float()
    if mask is not None:
        x = x + mask[:, :size].float()
    if bitmask is not None:
        x = x.masked_fill(_bits(bitmask)[:, :size] == 0, -math.inf)
    if mode != GREEDY:
        if mode > 1:
            x = _filtered(x, least, filters if mode == FILTERED else MIN_P, top_k, top_p, inverse_of_filter)
        noise = torch.rand(x.shape, generator=torch.Generator().manual_seed(random))
        x = x * inverse_temperature - torch.log(-torch.log(noise.clamp(1e-20, 0.99999994)))
    out.copy_(x.argmax(-1, keepdim=True))


def _filtered(
    x: torch.Tensor, least: float, filters: int, top_k: int, top_p: float, inverse_temperature: float
) -> torch.Tensor:
    if filters & MIN_P:
        x = x.masked_fill(x < x.amax(-1, keepdim=True) + least, -math.inf)
    ranked, order = x.sort(-1, descending=True)
    if filters & TOP_K:
        ranked[:, top_k:] = -math.inf
    if filters & TOP_P:
        share = torch.softmax(ranked * inverse_temperature, -1)
        ranked = ranked.masked_fill(share.cumsum(-1) - share >= top_p, -math.inf)
    return torch.empty_like(x).scatter_(-1, order, ranked)


def apply_logit_bitmask(logits: torch.Tensor, out: torch.Tensor, bitmask: torch.Tensor) -> None:
    allowed = _bits(bitmask)[:, : logits.shape[-1]]
    out.fill_(-math.inf)
    kept = out[:, : allowed.shape[-1]]
    kept.copy_(logits[:, : allowed.shape[-1]].masked_fill(allowed == 0, -math.inf))


def _bits(bitmask: torch.Tensor) -> torch.Tensor:
    """The bits of packed rows, one number each."""
    return (bitmask.view(len(bitmask), -1, 1) >> torch.arange(32, dtype=torch.int32) & 1).flatten(1)


# penalties (generator/rep_pen.cu)


def apply_rep_pens(
    logits: torch.Tensor,
    out: torch.Tensor,
    past_ids: torch.Tensor,
    penalty: float,
    sustain_range: int,
    decay_range: int,
) -> None:
    occurred = _counts(past_ids, logits.shape[-1], sustain_range, decay_range) > 0
    x = logits.float()
    out.copy_(torch.where(occurred, torch.where(x > 0, x / penalty, x * penalty), x))


def apply_pres_freq_pens(
    logits: torch.Tensor,
    out: torch.Tensor,
    past_ids: torch.Tensor,
    presence: float,
    frequency: float,
    sustain_range: int,
    decay_range: int,
) -> None:
    counts = _counts(past_ids, logits.shape[-1], sustain_range, decay_range)
    out.copy_(logits.float() - counts * frequency - (counts > 0) * presence)


def _counts(past_ids: torch.Tensor, size: int, sustain_range: int, decay_range: int) -> torch.Tensor:
    """How often each token of the vocabulary is among the last ones."""
    if decay_range:
        raise NotImplementedError("penalties that decay")
    last = past_ids[0, max(0, past_ids.shape[-1] - sustain_range) :]
    return torch.bincount(last[(last >= 0) & (last < size)], minlength=size).float()
