"""`python -m stoker`: the same as the `stoker` program."""

from stoker.cli import main

main()
