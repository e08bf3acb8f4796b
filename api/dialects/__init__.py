"""The protocols that clients speak: each file is a pair of pure functions, parse and render, and nothing
else.

`parse` turns a checked body into the one request form (`tasks.generation.Generation`) and the echo, which is what
the answer must repeat. `render` and `answer` turn an echo and an event log into frames or one JSON object:
the same log gives the same answer, whoever reads it and however often. Both are built on the fold in
`answer.py`.
"""
