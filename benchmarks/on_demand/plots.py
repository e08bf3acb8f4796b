"""Draws the report's plots as SVG: bars by workload and choice, and what the GPUs did over time."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from html import escape

from benchmarks.on_demand.simulation import Outcome
from benchmarks.on_demand.workload import GPUS, MODELS

COLORS = ("#4269d0", "#efb118", "#ff725c", "#6cc5b0", "#3ca951", "#ff8ab7", "#a463f2", "#97bbf5")
SWITCH_COLOR = "#c8c8c8"
STYLE = 'font-family="sans-serif" font-size="12" fill="#333"'


def bars(title: str, groups: Mapping[str, Mapping[str, float]], unit: str, *, label_px: int = 122) -> str:
    """A bar for each series of each group, with its value. `groups` is {group: {series: value}}.

    A series has the same color in each group that has it.
    """
    names = dict.fromkeys(name for series in groups.values() for name in series)
    colors = dict(zip(names, itertools.cycle(COLORS), strict=False))
    largest = max(value for series in groups.values() for value in series.values()) or 1.0
    width, row, left = 518 + label_px, 20, 8 + label_px
    parts, y = [_text(8, 18, title, bold=True)], 34
    for group, series in groups.items():
        parts.append(_text(8, y + 14, group))
        for name, value in series.items():
            length = 320 * value / largest
            parts.append(_box(left, y + 3, length, row - 6, colors[name]))
            parts.append(_text(left + 6 + length, y + 14, f"{value:.3g}{unit}  {name}"))
            y += row
        y += 8
    return _svg(width, y, parts)


def timeline(title: str, outcomes: Mapping[str, Outcome], until_s: float) -> str:
    """What each GPU did: a color for each model that is loaded, grey for loads and unloads."""
    width, row, scale = 760, 18, 620 / until_s
    parts, y = [_text(8, 18, title, bold=True)], 34
    for name, outcome in outcomes.items():
        parts.append(_text(8, y + 12, name, bold=True))
        y += row
        for gpu in GPUS:
            parts.append(_text(8, y + 13, gpu))
            for on, model, state, began, ended in outcome.visits:
                if on != gpu or began >= until_s:
                    continue
                color = COLORS[MODELS.index(model)] if state == "loaded" else SWITCH_COLOR
                length = (min(ended, until_s) - began) * scale
                parts.append(_box(60 + began * scale, y + 2, max(0.5, length), row - 4, color))
            y += row
        y += 8
    for place, model in enumerate(MODELS):
        x = 60 + place * 74
        parts += [_box(x, y, 10, 10, COLORS[place]), _text(x + 13, y + 10, model)]
    parts += [_box(60, y + 16, 10, 10, SWITCH_COLOR), _text(73, y + 26, "loads and unloads")]
    parts.append(_text(480, y + 26, f"0 to {until_s:.0f} s"))
    return _svg(width, y + 36, parts)


def _svg(width: int, height: int, parts: Sequence[str]) -> str:
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}">'
    return "\n".join([head, f'<rect width="{width}" height="{height}" fill="#fff"/>', *parts, "</svg>", ""])


def _box(x: float, y: float, width: float, height: float, color: str) -> str:
    return f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height}" fill="{color}"/>'


def _text(x: float, y: float, text: str, *, bold: bool = False) -> str:
    weight = ' font-weight="bold"' if bold else ""
    return f'<text x="{x:.1f}" y="{y:.1f}" {STYLE}{weight}>{escape(text)}</text>'
