"""Prints the samples a second, the channels and the seconds of sounds: `lengths.py FILE...`, one line each."""

import sys

import av

for path in sys.argv[1:]:
    with av.open(path) as sound:
        stream = sound.streams.audio[0]
        count = sum(frame.samples for frame in sound.decode(stream))
        print(stream.rate, stream.channels, count / stream.rate)
