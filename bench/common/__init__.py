"""What the benches share: C++ as a library, Python as these modules."""

from pathlib import Path

# Applications have a package of this name too, and those that a bench trains ask for its modules.
__path__.append(str(Path(__file__).resolve().parents[2] / "apps" / "common"))
