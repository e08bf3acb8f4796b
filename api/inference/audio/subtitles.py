"""A transcript as subtitles: SubRip (srt) and WebVTT (W3C, "WebVTT")."""

from __future__ import annotations

from collections.abc import Sequence

from streams.media_events import SegmentDelta


def srt(segments: Sequence[SegmentDelta]) -> str:
    """The segments as SubRip."""
    blocks = (
        f"{number}\n{_time(one.start, ',')} --> {_time(one.end, ',')}\n{_line(one.text)}\n\n"
        for number, one in enumerate(segments, 1)
    )
    return "".join(blocks)


def vtt(segments: Sequence[SegmentDelta]) -> str:
    """The segments as WebVTT."""
    blocks = (
        f"{_time(one.start, '.')} --> {_time(one.end, '.')}\n{_escaped(_line(one.text))}\n\n"
        for one in segments
    )
    return "WEBVTT\n\n" + "".join(blocks)


def _time(seconds: float, point: str) -> str:
    milliseconds = round(seconds * 1000)
    minutes, rest = divmod(milliseconds, 60_000)
    hours, minutes = divmod(minutes, 60)
    return f"{hours:02}:{minutes:02}:{rest // 1000:02}{point}{rest % 1000:03}"


def _line(text: str) -> str:
    """The text in one line; an arrow would be read as the times of another block."""
    return " ".join(text.split()).replace("-->", "->")


def _escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;")
