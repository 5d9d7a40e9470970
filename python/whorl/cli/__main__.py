"""`python -m whorl.cli`."""

from . import main

main()
