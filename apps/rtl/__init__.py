"""A full adder on encrypted bits, computed by the simulated FPGA accelerator."""
