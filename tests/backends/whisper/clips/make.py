"""Makes the clips of this folder with espeak-ng: `apt-get install espeak-ng`, then, with the Python of the
environment whisper, `python make.py`.
"""

from __future__ import annotations

import subprocess
import tempfile
import wave
from pathlib import Path

import av

FOLDER = Path(__file__).parent
CLIPS = {
    "en-numbers.wav": ("en-us+m1", "zero one two three", "pcm_s16le"),
    "en-commands.flac": ("en-gb+f1", "seven stop load model", "flac"),
    "en-answers.opus": ("en-gb+f1", "yes no start", "libopus"),
    "en-digits.mp3": ("en-us+m1", "five six eight nine", "libmp3lame"),
    "en-unknown.webm": ("en-us+m3", "four six two", "libopus"),
    "de-numbers.wav": ("de+m1", "eins zwei drei vier", "pcm_s16le"),
    "de-commands.m4a": ("de+f3", "sieben halt lade modell", "aac"),
    "de-answers.ogg": ("de+m1", "ja nein los", "vorbis"),
    "de-digits.mp3": ("de+f3", "fünf sechs acht neun", "libmp3lame"),
    "de-unknown.flac": ("de+f2", "null acht vier", "flac"),
}
RATE = 16_000
SILENCE_S = 0.4


def speak(voice: str, text: str) -> bytes:
    """What espeak-ng says (16 kHz, mono, 16 bits), with silence around it."""
    with tempfile.NamedTemporaryFile(suffix=".wav") as file:
        command = ["espeak-ng", "-w", file.name, "-v", voice, "-s", "150", "-g", "4", text]
        subprocess.run(command, check=True)
        resampler = av.AudioResampler(format="s16", layout="mono", rate=RATE)
        with av.open(file.name) as container:
            frames = [
                frame for each in [*container.decode(audio=0), None] for frame in resampler.resample(each)
            ]
    said = b"".join(bytes(frame.planes[0])[: frame.samples * 2] for frame in frames)
    silence = bytes(2 * int(SILENCE_S * RATE))
    return silence + said + silence


def write(path: Path, samples: bytes, codec: str) -> None:
    """Encode samples to a file."""
    if codec == "pcm_s16le":
        with wave.open(str(path), "wb") as file:
            file.setparams((1, 2, RATE, 0, "NONE", ""))
            file.writeframes(samples)
        return
    rate = 48_000 if codec == "libopus" else RATE
    with av.open(str(path), "w", format={".opus": "ogg", ".m4a": "mp4"}.get(path.suffix)) as container:
        stream = container.add_stream(codec, rate=rate, layout="stereo" if codec == "vorbis" else "mono")
        if codec == "vorbis":
            stream.codec_context.options = {"strict": "experimental"}
        if codec != "flac":
            stream.bit_rate = 32_000
        frame = av.AudioFrame(format="s16", layout="mono", samples=len(samples) // 2)
        frame.rate, frame.pts = RATE, 0
        frame.planes[0].update(samples)
        for packet in [*stream.encode(frame), *stream.encode(None)]:
            container.mux(packet)


if __name__ == "__main__":
    for name, (voice, text, codec) in CLIPS.items():
        write(FOLDER / name, speak(voice, text), codec)
        print(f"{(FOLDER / name).stat().st_size:>7} {name}")
