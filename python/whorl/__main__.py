"""`python -m whorl`."""

from .cli import main

main()
