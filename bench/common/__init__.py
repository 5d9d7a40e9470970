"""What the benches share: C++ as a library, Python as these modules."""
