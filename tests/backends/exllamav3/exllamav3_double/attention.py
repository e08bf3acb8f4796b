"""Attention in torch, in the three forms between which ExLlamaV3 dispatches (`attention_fn/common.py`)."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import torch
from torch.nn.functional import scaled_dot_product_attention


def paged(args: Any) -> torch.Tensor | None:
    """Attention over a paged cache; new keys and values are written to it first."""
    if not args.has_kv_cache():
        return None
    page = args.k_cache.shape[1]
    answers = []
    for row, seen in enumerate(args.cache_seqlens.tolist()):
        total = seen + args.q_len
        at = torch.arange(seen, total)
        pages = args.block_table[row].long()
        args.k_cache[pages[at // page], at % page] = args.k[row]
        args.v_cache[pages[at // page], at % page] = args.v[row]
        used = pages[: -(-total // page)]
        keys, values = (cache[used].flatten(0, 1)[:total] for cache in (args.k_cache, args.v_cache))
        answers.append(_attend(args.q[row], keys, values, args.sm_scale, causal=args.causal))
    return torch.stack(answers)


def dense(args: Any) -> torch.Tensor | None:
    """Attention without a cache, within each row."""
    if args.has_kv_cache() or args.is_varlen():
        return None
    rows = zip(args.q, args.k, args.v, strict=True)
    return torch.stack([_attend(*row, args.sm_scale, causal=args.causal) for row in rows])


def in_segments(args: Any) -> torch.Tensor | None:
    """Attention without a cache, within each segment of a row."""
    if args.has_kv_cache() or not args.is_varlen():
        return None
    ends = args.cu_seqlens.tolist()
    answer = torch.empty_like(args.q)
    for row in range(args.bsz):
        for begin, end in pairwise(ends):
            segment = (part[row, begin:end] for part in (args.q, args.k, args.v))
            answer[row, begin:end] = _attend(*segment, args.sm_scale, causal=args.causal)
    return answer


def _attend(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, scale: float, *, causal: bool) -> torch.Tensor:
    """Tensors of (tokens, heads, head size); the queries are the last tokens of the keys."""
    queries, total = q.shape[0], k.shape[0]
    mask = torch.ones(queries, total, dtype=torch.bool).tril(total - queries) if causal else None
    q, k, v = (part.transpose(0, 1).float()[None] for part in (q, k, v))
    answer = scaled_dot_product_attention(q, k, v, attn_mask=mask, scale=scale, enable_gqa=True)
    return answer[0].transpose(0, 1).half()
