"""What is proved of the accelerator: run.py proves it, page.py lists it in rtl/README.md."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass
class Proof:
    """One of `steps`, `induction` and `bounded` is given.

    steps: the proof starts from registers of any content: it covers every state of the pipeline.
    induction: it starts from reset, and shows that no step leads out of what is asserted.
    bounded: it starts from reset, and speaks of so many cycles only.
    """

    file: str  # FILE_proof.sv
    top: str  # its module
    says: str
    mutation: tuple[str, str, str]  # file of src, text, what replaces it
    steps: int = 0
    induction: int = 0
    bounded: int = 0
    cut: tuple[str, ...] = ()  # selections of yosys whose drivers become free
    parameters: dict[str, int] = field(default_factory=dict)
    long: bool = False  # more than a few seconds: not in `quick`

    def runs(self) -> list[tuple[str, list[str]]]:
        """Logs, and options of yosys-smtbmc."""
        # Assertions are sampled at a clock edge: they speak a step later.
        steps = self.induction + 2 if self.induction else (self.steps or self.bounded) + 1
        first = [("steps.out", ["-t", str(steps)])]
        return first + [("induction.out", ["-i", "-t", str(self.induction)])] * bool(self.induction)

    def method(self) -> str:
        if self.induction:
            return f"induction {self.induction}"
        return f"{self.steps} steps" if self.steps else f"bounded {self.bounded}"


MUL, PKG = "arith/mod_mul.sv", "whorl_pkg.sv"
SUM = ("dut.low_low2", "dut.low_high2", "dut.high_low2", "dut.high_high3")
PROOFS: dict[str, Proof] = {
    "mod_mul_parts": Proof(
        "mod_mul",
        "mod_mul_parts",
        "the four partial products are those of the slices of a and b",
        ("arith/corner_mul.sv", "times(a, b[3:1])", "times(a, b[2:0])"),
        steps=4,
    ),
    "mod_mul_sum": Proof(
        "mod_mul",
        "mod_mul_sum",
        "z is the weighted sum of the partial products; nothing overflows",
        (MUL, "high_low2, 9'd0}", "high_low2, 8'd0}"),
        steps=3,
        cut=tuple(f"w:{w}" for w in SUM),
    ),
    **{
        f"mod_mul_reduction_{latency}": Proof(
            "mod_mul",
            "mod_mul_reduction",
            f"v is z modulo p, between -p and 3p, for every z up to (p - 1)^2; {latency} cycles",
            (MUL, "{~c, 5'd0, c}", "{~c, 5'd1, c}"),
            steps=latency - 5,
            cut=("w:dut.z4",),
            parameters={"LATENCY": latency},
            long=True,
        )
        for latency in (8, 9)
    },
    "mod_mul_correction": Proof(
        "mod_mul",
        "mod_mul_correction",
        "r = v mod p, below p, for every v between -p and 3p",
        (MUL, "high_all && low_many", "high_all && low_any"),
        steps=3,
        cut=("w:dut.t",),
    ),
    "mod_mul_hold": Proof(
        "mod_mul",
        "mod_mul_hold",
        "no register of the multiplier moves while en is 0",
        (
            MUL,
            "always_ff @(posedge clk) if (en) begin\n    a1",
            "always_ff @(posedge clk) begin\n    a1",
        ),
        steps=2,
    ),
    "modular": Proof(
        "modular",
        "modular",
        "add_mod, less_p, plus_p, neg_mod for all residues",
        (PKG, "return r[33] ? s[32:0] : r[32:0];", "return r[32:0];"),
        steps=1,
    ),
    "butterfly_ct": Proof(
        "modular",
        "butterfly_forward",
        "u + x and u - x modulo p for all residues u and x = v·w",
        (
            "transform/butterfly_ct.sv",
            "{1'b0, u_late} - {1'b0, product}",
            "{1'b0, product} - {1'b0, u_late}",
        ),
        steps=3,
        cut=("w:dut.product", "w:dut.u_late"),
    ),
    "butterfly_gs": Proof(
        "modular",
        "butterfly_backward",
        "u + v and u - v modulo p, and w, for all residues",
        (PKG, "s[32:20] == '1 && s[19:0] != '0", "s[32:20] == '1"),
        steps=3,
    ),
    "decompose_2_10": Proof(
        "decompose",
        "decompose_digits",
        "set (I): digits in range, their sum is the centred residue, rounded",
        ("pe/decompose.sv", "x > HALF", "x >= HALF"),
        steps=3,
        parameters={"L": 2, "LOG_BG": 10},
    ),
    "decompose_3_7": Proof(
        "decompose",
        "decompose_digits",
        "set (II): the same",
        ("pe/decompose.sv", "DROPPED - 1 : 0) : 35'sd0", "DROPPED : 0) : 35'sd0"),
        steps=3,
        parameters={"L": 3, "LOG_BG": 7},
    ),
    "decompose_3_11": Proof(
        "decompose",
        "decompose_digits",
        "33 bits of digits: the sum is the centred residue itself",
        ("pe/decompose.sv", "x > HALF", "x > P - 33'd1"),
        steps=3,
        parameters={"L": 3, "LOG_BG": 11},
    ),
    "mod_switch": Proof(
        "mod_switch",
        "mod_switch_rounds",
        "the nearest multiple of p/2^32, for every residue",
        ("io/mod_switch.sv", "+ 36'(x[32:24])", ""),
        steps=4,
        long=True,
    ),
    **{
        f"stream_fifo_{d}": Proof(
            "stream",
            "fifo_order",
            f"order, no loss, valid and data stay; {d} places",
            (
                "memory/stream_fifo.sv",
                "put && put_at == next_take ? in_data",
                "put && put_at == take_at ? in_data",
            ),
            induction=2,
            parameters={"DEPTH": d},
        )
        for d in (2, 4, 8)
    },
    "beat_words": Proof(
        "stream",
        "beat_words_order",
        "order, no loss but by skip, valid and data stay; 4 words a beat",
        ("io/beat_words.sv", "in_ready = left == '0", "in_ready = left <= 1"),
        induction=2,
    ),
    "word_beats": Proof(
        "stream",
        "word_beats_order",
        "order, no loss, zeros above, valid and data stay; 4 words a beat",
        ("io/word_beats.sv", "in_ready = !out_valid", "in_ready = 1'b1"),
        induction=2,
    ),
    "mac": Proof(
        "stream",
        "mac_stream",
        "rows go in together, as many come out, valid and data stay; L = 2",
        ("pe/mac.sv", "assign digits_ready = en && bundle_valid", "assign digits_ready = en"),
        induction=2,
        cut=("t:$mul",),
    ),
    "bku": Proof(
        "stream",
        "bku_stream",
        "rows go in together, as many come out, valid and data stay; m = 2",
        ("pe/bku.sv", "assign en = out_ready || !out_valid", "assign en = 1'b1"),
        induction=2,
        cut=("t:$mul",),
    ),
    **{
        name: Proof(
            "stream",
            "transform_stream",
            "valid and data stay; N = 64",
            (
                f"transform/{name}.sv",
                "assign in_ready = out_ready || !last_running",
                "assign in_ready = 1'b1",
            ),
            induction=2,
            cut=("t:$mul",),
            parameters={"INVERSE": inverse},
        )
        for name, inverse in (("ntt", 0), ("intt", 1))
    },
    **{
        name: Proof(
            "axi",
            "axi_reader_rules",
            "address stays; bursts within 4 KB, one after the other to the end of the command; "
            f"the queue has room for all that was asked; {says}",
            ("memory/axi_reader.sv", old, by),
            induction=2,
            parameters={"DATA_BITS": bits, "QUEUE_BURSTS": bursts},
            long=bits > 64,
        )
        for name, bits, bursts, says, old, by in (
            (
                "axi_reader",
                64,
                2,
                "64 bits",
                "reserved <= CW'(DEPTH) - CW'(length)",
                "reserved <= CW'(DEPTH)",
            ),
            (
                "axi_reader_1",
                64,
                1,
                "64 bits, a queue of one burst",
                "reserved <= CW'(DEPTH) - CW'(length)",
                "reserved + CW'(length) <= CW'(DEPTH)",
            ),
            (
                "axi_reader_1024",
                1024,
                4,
                "1,024 bits",
                "8'(BURST) - 8'(address[LOW+:$clog2(BURST)])",
                "8'(BURST)",
            ),
        )
    },
    **{
        name: Proof(
            "axi",
            "axi_writer_rules",
            "channels stay; bursts within 4 KB, without gaps, last where it belongs, one after the "
            f"other to the end of the region; {says}",
            ("memory/axi_writer.sv", old, by),
            induction=2,
            parameters={"DATA_BITS": bits, "QUEUE_BURSTS": bursts},
        )
        for name, bits, bursts, says, old, by in (
            ("axi_writer", 64, 2, "64 bits", "held >= CW'(length)", "held != '0"),
            (
                "axi_writer_1024",
                1024,
                1,
                "1,024 bits, a queue of one burst",
                "wlast = count == 8'd1",
                "wlast = count <= 8'd2",
            ),
        )
    },
    **{
        f"delay_line_{d}": Proof(
            "delay",
            "delay_line_rules",
            f"a word comes out {d} enabled cycles after it went in",
            ("arith/delay_line.sv", old, by),
            induction=2,
            long=d > 9,
            parameters={"DEPTH": d, "BLOCK_FROM": block_from},
        )
        for d, block_from, old, by in (
            (1, 48, "stages[0] <= d", "stages[0] <= stages[DEPTH-1]"),
            (9, 48, "q = stages[DEPTH-1]", "q = stages[DEPTH-2]"),
            (24, 48, "AW'(DEPTH - 2) ?", "AW'(DEPTH - 3) ?"),
            (25, 25, "AW'(DEPTH - 2) ?", "AW'(DEPTH - 3) ?"),
        )
    },
    **{
        f"frame_counter_{latency}": Proof(
            "delay",
            "frame_counter_rules",
            f"rows are numbered; frames are announced {latency} enabled cycles later; 32 rows",
            (
                "transform/frame_counter.sv",
                "if (start) left <= -LW'(LATENCY)",
                "if (start && left == '0) left <= -LW'(LATENCY)",
            )
            if latency == 32
            else ("transform/frame_counter.sv", "else if (en) begin", "else begin"),
            induction=2,
            parameters={"LATENCY": latency},
        )
        for latency in (1, 10, 32)
    },
    "commutator": Proof(
        "delay",
        "commutator_exchanges",
        "streams and bits are exchanged, with any gaps between frames",
        ("transform/commutator.sv", "assign out_bottom = swap ?", "assign out_bottom = !swap ?"),
        induction=2,
    ),
    "sum_tree": Proof(
        "sum_tree",
        "sum_tree_levels",
        "each level of the trees of 2 to 32 terms keeps the sum",
        ("arith/sum_tree.sv", "LEFT > PAIRS", "LEFT > PAIRS + 1"),
        steps=2,
        long=True,
    ),
    **{
        f"sum_reduction_{1 << h}": Proof(
            "sum_tree",
            "sum_reduction",
            f"every sum of {1 << h} residues, modulo p",
            ("arith/sum_tree.sv", "l[H-1:0] > h", "l[H-1:0] >= h"),
            steps=2,
            parameters={"H": h},
        )
        for h in (1, 2, 3, 4, 5)
    },
    **{
        f"exponents_{n}": Proof(
            "exponents",
            "exponents_formula",
            f"both formulas, rounding centred or not, for all words; N = {1 << n}",
            ("io/exponents.sv", old, by),
            induction=2,
            parameters={"LOG_N": n},
        )
        for n, old, by in (
            (6, "- $signed(SW'(shifted[LOG_U-1:0]))", "- $signed(SW'(in_word[LOG_U-1:0]))"),
            (10, "in_first || !centred ?", "in_first ?"),
            (13, "SW = LOG_U + 17", "SW = LOG_U + 15"),
        )
    },
    "registers": Proof(
        "registers",
        "registers_rules",
        "answers stay; one answer a request; the address map; "
        "no write to the descriptor while busy",
        ("top/registers.sv", "if (!busy && address ==", "if (address =="),
        induction=2,
        long=True,
    ),
    **{
        f"chunk_buffer_{words}": Proof(
            "chunk_buffer",
            "chunk_buffer_keeps",
            "words of chunks: unpacked, in place, not overwritten until released; "
            f"{words} words a row",
            ("memory/chunk_buffer.sv", old, by),
            induction=2,
            parameters={"WORDS": words, "DATA_BITS": bits, "BUFFERS": buffers},
            long=buffers > 2,
        )
        for words, bits, buffers, old, by in (
            (3, 64, 2, "in_ready = held != CW'(BUFFERS)", "in_ready = held <= CW'(BUFFERS)"),
            (4, 128, 4, "in_data : tops >> WIDE", "in_data : tops >> 1"),
        )
    },
    "control": Proof(
        "control",
        "control_rules",
        "a bad descriptor ends with the first code of section 5 and starts nothing; "
        "all checks end; units are reset only when no burst is unfinished",
        ("top/control.sv", "state <= state == LAUNCH ? HALT : CLEAN", "state <= CLEAN"),
        induction=2,
        long=True,
    ),
    "sequencer": Proof(
        "sequencer",
        "sequencer_rules",
        "slots begin when README says, and no other; their chunk is there to its last row",
        ("top/sequencer.sv", "wait_of[place] <= WW'(LAT_WB)", "wait_of[place] <= WW'(LAT_WB - 1)"),
        induction=2,
        long=True,
    ),
    **{
        f"drain_{b}": Proof(
            "drain",
            "drain_takes",
            "words of samples, their order and signs; the queue has room; "
            f"N = {1 << n}, b = {1 << b}",
            ("io/drain.sv", old, by),
            induction=2,
            parameters={"LOG_N": n, "LOG_B": b},
        )
        for n, b, old, by in (
            (3, 0, "space > ($clog2(DEPTH) + 1)'(3)", "space > ($clog2(DEPTH) + 1)'(2)"),
            (4, 1, "!last_word && at != '0", "!last_word"),
        )
    },
    **{
        f"key_switch_{rows}": Proof(
            "key_switch",
            "key_switch_streams",
            "streams stay; rows, digits and results in their places; no sum is read before it is "
            f"written; {says}",
            ("keyswitch/key_switch.sv", old, by),
            induction=2,
            parameters={"KEY_ROWS": rows, "LANES": lanes},
            long=rows > 3,
        )
        for rows, lanes, says, old, by in (
            (
                3,
                4,
                "3 rows of the key on the chip",
                "(all_issued || last_issue) && cycles == 2'd3",
                "(all_issued || last_issue)",
            ),
            (
                8,
                16,
                "the whole key, two rows at once",
                "beat_ready = ahead != HW'(ROWS_HELD)",
                "beat_ready = 1'b1",
            ),
        )
    },
    "loader": Proof(
        "loader",
        "loader_rules",
        "commands stay, and all their beats are taken; exponents and the rotated vector in their "
        "places; only into free banks; N = 8",
        ("io/loader.sv", "negative_late != swap_late ?", "negative_late == swap_late ?"),
        induction=2,
    ),
    **{
        f"monomials_{b}_{m}": Proof(
            "monomials",
            "monomials_values",
            "the values of X^a - 1 at all locations, for all exponents; valid and data stay; "
            f"N = 64, b = {1 << b}, m = {m}; sums of exponents are for benches",
            ("pe/monomials.sv", old, by),
            induction=2,
            parameters={"LOG_B": b, "M": m},
            long=b > 0,
        )
        for b, m, old, by in (
            (0, 1, "(LOG_T - ones(before_row))", "(LOG_T - ones(row))"),
            (1, 1, "negative2 ? P - power2", "negative2 ? P - 33'd1"),
        )
    },
}
