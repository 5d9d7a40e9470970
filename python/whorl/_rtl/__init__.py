"""Designs of the FPGA accelerator: shapes, modules, costs and the search."""
