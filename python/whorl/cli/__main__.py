"""`python -m whorl.cli`."""

from ._main import main

main()
