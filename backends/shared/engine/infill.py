"""Prompts of a text with a gap, for models that were trained to fill one ("fill in the middle").

Sources: the special tokens of Qwen2.5-Coder and CodeGemma, StarCoder, SantaCoder, CodeGeeX and
DeepSeek-Coder. Each of them takes the text before the gap, then the text behind it, and continues with the
middle.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

UNSUPPORTED_SUFFIX = "the model cannot fill in a text before a suffix: leave out suffix"
"""The error of a model that cannot fill a gap."""

UNSUPPORTED_INFILL = "the model cannot fill a gap: it has no special tokens for the text around one"
"""The same for a request that is for nothing else."""


@dataclass(frozen=True)
class InfillMarkers:
    """The special tokens ahead of the text before the gap, of the text behind it, and of the middle."""

    before: str
    behind: str
    middle: str

    def prompt(self, before: str, behind: str) -> str:
        """Return the prompt for the text between two others."""
        return f"{self.before}{before}{self.behind}{behind}{self.middle}"


KNOWN_MARKERS = (
    InfillMarkers("<|fim_prefix|>", "<|fim_suffix|>", "<|fim_middle|>"),
    InfillMarkers("<fim_prefix>", "<fim_suffix>", "<fim_middle>"),
    InfillMarkers("<fim-prefix>", "<fim-suffix>", "<fim-middle>"),
    InfillMarkers("<|code_prefix|>", "<|code_suffix|>", "<|code_middle|>"),
    InfillMarkers(*(f"<\uff5cfim\u2581{part}\uff5c>" for part in ("begin", "hole", "end"))),
)


def infill_markers(is_token: Callable[[str], bool]) -> InfillMarkers | None:
    """Return the markers of a model; `is_token` is whether a text is one token of it."""
    for markers in KNOWN_MARKERS:
        if all(map(is_token, (markers.before, markers.behind, markers.middle))):
            return markers
    return None


async def find_infill_markers(is_token: Callable[[str], Awaitable[bool]]) -> InfillMarkers | None:
    """Return the markers of a model whose server is asked; see `infill_markers`."""
    tokens = {
        text
        for known in KNOWN_MARKERS
        for text in (known.before, known.behind, known.middle)
        if await is_token(text)
    }
    return infill_markers(tokens.__contains__)
