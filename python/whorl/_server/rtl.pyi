"""whorl._server.rtl: cycles of the FPGA accelerator, by its model."""

from collections.abc import Mapping

def count_cycles(
    design: Mapping[str, int], memory: Mapping[str, int], n: int, count: int
) -> dict[str, float]: ...
