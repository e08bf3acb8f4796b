"""Code of engine processes: it uses the standard library, the backend's own libraries and these files only.

An engine runs under the Python of its backend's environment. These files import each other relatively and
nothing else of this project, and only the `backends` folder is mounted there (see `bootstrap.py`): no package
of this project can hide a library of the environment.
"""
