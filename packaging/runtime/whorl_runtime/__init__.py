"""Holds the compiled modules of the package `whorl`, which finds them here by itself."""
