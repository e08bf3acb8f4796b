"""`python -m stoker`: the same as the `stoker` program."""

from stoker.command import main

main()
