"""A design of the FPGA accelerator: its shape, and what follows from it.

This file needs nothing else of the package: rtl/synth uses it without the compiled modules.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path

# What rtl/src/top/whorl_core.sv allows: ports of the bootstrapping key, and bits of a port.
MOST_PORTS, MOST_BITS = 8, 1024


@cache
def _costs() -> dict[str, int]:
    text = (Path(__file__).parent / "costs.json").read_text(encoding="utf-8")
    costs: dict[str, int] = json.loads(text)
    return costs


@dataclass(frozen=True)
class Design:
    """A core for a parameter set: rtl/README.md, section 2."""

    n: int
    log_N: int
    L: int
    log_Bg: int
    M: int
    L_ks: int
    log_Bks: int
    pes: int = 1
    log_b: int = 0
    K: int = 3
    mem_bits: int = 512
    bk_ports: int = 1
    ksk_bits: int = 512
    ks_lanes: int = 512
    bk_buffers: int = 4
    ksk_rows: int = 2

    @property
    def lanes(self) -> int:
        """Coefficients that a transform takes a cycle, 2b."""
        return 2 << self.log_b

    @property
    def rows(self) -> int:
        """Cycles of a slot, N/(2b)."""
        return (1 << self.log_N) // self.lanes

    @property
    def sets(self) -> int:
        """Keys of a step: the sets of its coefficients that are not empty."""
        return (1 << self.M) - 1

    @property
    def steps(self) -> int:
        """Steps of a bootstrap."""
        return -(-self.n // self.M)

    @property
    def capacity(self) -> int:
        """Ciphertexts in flight."""
        return self.pes * self.K

    @property
    def multipliers_a_pe(self) -> int:
        """Multipliers of 2L + 2 transforms, the bundle, and the products with it."""
        transforms = (2 * self.L + 2) * self.log_N * self.lanes // 2
        return transforms + (self.sets + 1) * 4 * self.L * self.lanes

    @property
    def step_wait(self) -> int:
        """Cycles between two steps of a ciphertext, at least: LAT_WB + 1."""
        transform = self.log_N * 10 + self.rows - 1
        return 2 * transform + (2 * self.L - 1).bit_length() + 15

    @property
    def log_steps(self) -> int:
        """Bits of the number of a step."""
        return max(1, (self.steps - 1).bit_length())

    @property
    def port_words(self) -> int:
        """Words of a row of a step's key that one port holds."""
        return -(-self.sets * 4 * self.L * self.lanes // self.bk_ports)

    @property
    def chunk_beats(self) -> int:
        """Beats of a step's key at a port."""
        wide = self.mem_bits // 32
        return self.rows * (-(-self.port_words // wide) * wide) // self.mem_bits * 33

    @property
    def exponent_words(self) -> int:
        """Words of a PE's memory of exponents: two halves, of all places and steps."""
        places = max(1, (self.K - 1).bit_length())
        return 2 << (places + self.log_steps)

    @property
    def key_bytes(self) -> int:
        """Bytes of a step's key, from all ports, with what is padded."""
        return self.chunk_beats * self.mem_bits // 8 * self.bk_ports

    @property
    def ksk_row_beats(self) -> int:
        """Beats of a row of the key-switching key."""
        return -(-(self.n + 1) // (self.ksk_bits // 32))

    @property
    def all_ksk_rows(self) -> int:
        """Rows of the key-switching key."""
        return self.L_ks << self.log_N

    @property
    def ksk_stays(self) -> bool:
        """Whether the key-switching key is read once a run and stays on the chip."""
        return self.ksk_rows >= self.all_ksk_rows

    @property
    def rows_at_once(self) -> int:
        """Rows of the key-switching key that the lanes take at once: rtl/README.md, section 6."""
        rows = 1
        for t in (2, 4, 8):
            whole_beats = all(self.ks_lanes % (t * bits // 32) == 0 for bits in self.beats)
            if self.L_ks % t == 0 and self.ks_lanes // t > self.n and whole_beats:
                rows = t
        return rows

    @property
    def beats(self) -> tuple[int, int]:
        """Bits of a beat of the memory's ports, and of the key-switching key's."""
        return self.mem_bits, self.ksk_bits

    def dsp(self) -> int:
        """DSP slices: those of the modular multipliers."""
        costs = _costs()
        multipliers: int = costs["dsp_a_multiplier"] * self.multipliers_a_pe
        lanes: int = costs["dsp_a_lane_of_key_switching"] * self.ks_lanes
        return multipliers * self.pes + lanes

    def sram_mb(self) -> float:
        """Megabits of memories, as rtl/src declares them."""
        N, word = 1 << self.log_N, 33
        accumulators = 2 * self.K * 2 * N * word
        transform = self.log_N * 10 + self.rows - 1
        flight = 4 + 2 * transform + 20
        in_flight = (1 << flight.bit_length()) * 2 * self.lanes * word
        exponents = self.exponent_words * self.M * (self.log_N + 1)
        delays = (2 * self.L + 2) * 2 * N * word  # commutators, and twiddles
        monomials = self.sets * self.lanes // 2 * N * word
        pe = accumulators + in_flight + exponents + delays + monomials
        row = self.sets * 4 * self.L * self.lanes
        chunks = self.bk_buffers * self.rows * row * word
        width = self.ks_lanes // self.rows_at_once
        groups = -(-(self.n + 1) // width)
        digits = 2 * N * self.capacity * (1 + self.L_ks * self.log_Bks)
        held = min(self.ksk_rows, self.all_ksk_rows)
        switching = digits + groups * (self.capacity + held) * width * 32
        queues = (self.bk_ports + 2) * 4 * 4096 * 8
        return (self.pes * pe + chunks + switching + queues + N * word) / 1e6

    def core(self) -> dict[str, int]:
        """The core's parameters by their names here, without n."""
        fields = asdict(self)
        del fields["n"]
        return fields
