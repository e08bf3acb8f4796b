"""`lengths.py FILE...` prints samples a second, channels and seconds of each recording, one line each."""

import sys

import av

for path in sys.argv[1:]:
    with av.open(path) as audio:
        stream = audio.streams.audio[0]
        count = sum(frame.samples for frame in audio.decode(stream))
        print(stream.rate, stream.channels, count / stream.rate)
