"""The network: a small model with the architecture of Qwen3.

Tensors have their GGUF names, so that the file is written without a table of names.
"""

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional


@dataclass(frozen=True)
class Shape:
    """The size of the model."""

    vocabulary: int = 1024
    layers: int = 3
    width: int = 128
    hidden: int = 384
    heads: int = 4
    kv_heads: int = 2
    context: int = 4096
    rope_base: float = 10000.0
    epsilon: float = 1e-6

    @property
    def head_width(self) -> int:
        """The width of one attention head (a multiple of 32, so that engines can quantize the KV cache)."""
        return self.width // self.heads


def rotation(length: int, shape: Shape) -> tuple[Tensor, Tensor]:
    """The cosines and sines of the rotary position embedding."""
    speeds = shape.rope_base ** (-torch.arange(0, shape.head_width, 2).float() / shape.head_width)
    angles = torch.outer(torch.arange(length).float(), speeds).repeat(1, 2)
    return angles.cos(), angles.sin()


def rotate(heads: Tensor, cosines: Tensor, sines: Tensor) -> Tensor:
    """Rotate each head by its position (the half-split form of Qwen, which is that of GGUF, too)."""
    first, second = heads.chunk(2, dim=-1)
    return heads * cosines + torch.cat((-second, first), dim=-1) * sines


class Layer(nn.Module):
    """One transformer layer."""

    def __init__(self, shape: Shape) -> None:
        """A layer with initial weights."""
        super().__init__()
        self.head_width = shape.head_width
        kv_width = shape.kv_heads * shape.head_width
        self.attn_norm = nn.RMSNorm(shape.width, shape.epsilon)
        self.attn_q = nn.Linear(shape.width, shape.width, bias=False)
        self.attn_k = nn.Linear(shape.width, kv_width, bias=False)
        self.attn_v = nn.Linear(shape.width, kv_width, bias=False)
        self.attn_q_norm = nn.RMSNorm(shape.head_width, shape.epsilon)
        self.attn_k_norm = nn.RMSNorm(shape.head_width, shape.epsilon)
        self.attn_output = nn.Linear(shape.width, shape.width, bias=False)
        self.ffn_norm = nn.RMSNorm(shape.width, shape.epsilon)
        self.ffn_gate = nn.Linear(shape.width, shape.hidden, bias=False)
        self.ffn_up = nn.Linear(shape.width, shape.hidden, bias=False)
        self.ffn_down = nn.Linear(shape.hidden, shape.width, bias=False)

    def forward(self, state: Tensor, cosines: Tensor, sines: Tensor) -> Tensor:
        """Attention, then the feed-forward network."""
        state = state + self.attend(self.attn_norm(state), cosines, sines)
        normed = self.ffn_norm(state)
        gained: Tensor = self.ffn_down(functional.silu(self.ffn_gate(normed)) * self.ffn_up(normed))
        return state + gained

    def attend(self, normed: Tensor, cosines: Tensor, sines: Tensor) -> Tensor:
        """Causal self-attention."""
        queries = rotate(self.attn_q_norm(self.split(self.attn_q(normed))), cosines, sines)
        keys = rotate(self.attn_k_norm(self.split(self.attn_k(normed))), cosines, sines)
        values = self.split(self.attn_v(normed))
        mixed = functional.scaled_dot_product_attention(
            queries, keys, values, is_causal=True, enable_gqa=True
        )
        gathered: Tensor = self.attn_output(mixed.transpose(1, 2).flatten(2))
        return gathered

    def split(self, joined: Tensor) -> Tensor:
        """(batch, length, width) to (batch, heads, length, head width)."""
        batch, length, _ = joined.shape
        return joined.view(batch, length, -1, self.head_width).transpose(1, 2)


class DemoModel(nn.Module):
    """A Qwen3 language model whose output layer is its embedding."""

    def __init__(self, shape: Shape) -> None:
        """A model with initial weights."""
        super().__init__()
        self.shape = shape
        self.token_embd = nn.Embedding(shape.vocabulary, shape.width)
        nn.init.normal_(self.token_embd.weight, std=shape.width**-0.5)
        self.blk = nn.ModuleList(Layer(shape) for _ in range(shape.layers))
        self.output_norm = nn.RMSNorm(shape.width, shape.epsilon)

    def forward(self, tokens: Tensor) -> Tensor:
        """Score the next token at each position."""
        cosines, sines = rotation(tokens.shape[1], self.shape)
        state = self.token_embd(tokens)
        for layer in self.blk:
            state = layer(state, cosines, sines)
        scores: Tensor = self.output_norm(state) @ self.token_embd.weight.T
        return scores
