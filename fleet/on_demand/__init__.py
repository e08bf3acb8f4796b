"""Loads on demand: which models are loaded for the requests that wait, and which make room for them.

`choice.py` decides, `snapshot.py` reads what it decides by, `room.py` knows what fits, and `service.py` acts.
"""
