"""`lengths.py FILE...` prints samples a second, channels and seconds of each sound, one line each."""

import sys

import av

for path in sys.argv[1:]:
    with av.open(path) as sound:
        stream = sound.streams.audio[0]
        count = sum(frame.samples for frame in sound.decode(stream))
        print(stream.rate, stream.channels, count / stream.rate)
