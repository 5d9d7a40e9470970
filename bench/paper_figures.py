"""Figures of the papers that Whorl's measurements of FHEW/TFHE stand beside, as printed there.

Xiao et al.: GPU Acceleration for FHEW/TFHE Bootstrapping (TCHES 2025). Shen et al.: VeloFHE (TCHES
2025). Each name says which table a figure is from; members are the table's columns. What a paper
only draws is not read off. Names with a slash are the sets of Whorl that the rows correspond to.
"""

from typing import NamedTuple

XIAO = "Xiao et al."
VELOFHE = "VeloFHE"
BATCH = 16384
"""The batch of Table 5 of Xiao et al. (§4.1), and of Tables 4 and 5 of VeloFHE (§5.2)."""


class GateSet(NamedTuple):
    """A row of Table 3 of Xiao et al."""

    name: str
    params: str
    n: int
    q: int
    N: int
    log_q_ring: int
    log_b_g: int
    fails_log2: int  # FP
    deviation: float  # beta_exp


XIAO_TABLE_3 = (
    GateSet("STD128", "xiao/STD128", 512, 1024, 1024, 27, 7, -54, 10.72),
    GateSet("STD192", "xiao/STD192", 1024, 1024, 2048, 37, 13, -107, 7.55),
    GateSet("STD256", "xiao/STD256", 1024, 2048, 2048, 29, 8, -33, 27.96),
    GateSet("STD128Q", "xiao/STD128Q", 1024, 1024, 2048, 50, 25, -107, 7.56),
    GateSet("STD192Q", "xiao/STD192Q", 1024, 1024, 2048, 35, 12, -97, 7.93),
    GateSet("STD256Q", "xiao/STD256Q", 2048, 2048, 2048, 27, 7, -58, 20.81),
)


class LargeSet(NamedTuple):
    """A row of Table 4 of Xiao et al.: log Q = 54, N = 2048, n = 1305, log Q_ks = 35."""

    function: str
    params: str
    q: int
    log_modulus: int  # log2 Q'
    bits: int  # log P
    log_b_g: int
    fails_log2: int
    deviation: float


SIGN = "HomSign, DigitDecomp"
XIAO_TABLE_4 = (
    LargeSet(SIGN, "xiao/HOMSIGN_16", 4096, 12, 4, 27, -68, 9.52),
    LargeSet(SIGN, "xiao/HOMSIGN_16", 4096, 16, 8, 27, -67, 9.59),
    LargeSet(SIGN, "xiao/HOMSIGN_25", 4096, 20, 12, 18, -79, 8.85),
    LargeSet(SIGN, "xiao/HOMSIGN_25", 4096, 24, 16, 18, -88, 8.34),
    LargeSet(SIGN, "xiao/HOMSIGN_25", 4096, 25, 17, 18, -85, 8.51),
    LargeSet(SIGN, "xiao/HOMSIGN_29", 4096, 26, 18, 14, -82, 8.65),
    LargeSet(SIGN, "xiao/HOMSIGN_29", 4096, 28, 20, 14, -86, 8.45),
    LargeSet(SIGN, "xiao/HOMSIGN_29", 4096, 29, 21, 14, -83, 8.63),
    # The row is printed one column to the left: the paper has no bits and no B_g for it.
    LargeSet("EvalFunc", "xiao/EVALFUNC", 2048, 12, 3, 27, -69, 9.5),
)


class Bootstrap(NamedTuple):
    """A column of Table 5 of Xiao et al.: milliseconds a ciphertext, transfers included."""

    function: str
    op: str
    params: str  # with the paper's n, q, log Q, N and B_g
    own: str  # Whorl's own set for it
    one_thread: float  # Threadripper 3970X
    threads_64: float
    gpu: float  # RTX 4090
    gpus_8: float


XIAO_TABLE_5 = (
    Bootstrap("EvalBinGate (NAND)", "nand", "xiao/STD128", "W128_P64", 153, 4.3, 0.23, 0.04),
    Bootstrap("EvalFunc", "evalfunc", "xiao/EVALFUNC", "", 1037, 28.5, 1.59, 0.23),
    Bootstrap(
        "EvalFloor",
        "evalfloor",
        "openfhe_1_6/STD128_LOGQ_11",
        "W128_P40_LOGQ_25",
        1158,
        34.6,
        1.68,
        0.23,
    ),
    Bootstrap(
        "EvalSign",
        "evalsign",
        "openfhe_1_6/STD128_LOGQ_25",
        "W128_P40_LOGQ_25",
        3424,
        93.6,
        4.99,
        0.69,
    ),
    Bootstrap(
        "EvalDecomp",
        "evaldecomp",
        "openfhe_1_6/STD128_LOGQ_25",
        "W128_P40_LOGQ_25",
        4092,
        112.6,
        6.03,
        0.88,
    ),
)
# Figure 5 does not state its bases. §4.2 has 2, 3 and 5 blocks for them; these sets have 2, 3 and 6
# digits of log Q = 54.
XIAO_FIGURE_5 = {"xiao/EVALFUNC": "2^27", "xiao/RELU": "2^18", "xiao/DECISION_TREE": "2^9"}
# Table 9: seconds a sample on one RTX 4090, and of others on 16 threads of a CPU.
XIAO_TABLE_9 = {
    "PEGASUS [JLHH+21]": 1.87,
    "Tueno et al. [TBK20]": 0.94,
    "Lu et al. [LZS18]": 0.59,
    "Xiao et al., RTX 4090": 0.38,
}


class VeloSet(NamedTuple):
    """A row of Table 2 of VeloFHE."""

    name: str
    n: int
    log_q: int
    log_N: int
    modulus: str  # log Q, and log P
    log_b_g: int | None
    log_b_ks: int
    log_q_ks: int
    ginx: str
    ap: str


VELOFHE_TABLE_2 = (
    VeloSet("GD-I", 503, 10, 10, "27", 8, 5, 14, "velofhe/GD_I", "velofhe/GD_I_AP"),
    VeloSet("GD-II", 600, 11, 11, "50", 25, 5, 15, "velofhe/GD_II", "velofhe/GD_II_AP"),
    VeloSet("MR-I", 512, 9, 10, "16 + 20", None, 9, 14, "velofhe/MR_I", "velofhe/MR_I_AP"),
    VeloSet("MR-II", 1024, 10, 11, "22 + 28", None, 5, 21, "velofhe/MR_II", "velofhe/MR_II_AP"),
)

# Table 3: microseconds a transform of 64-bit words on an A100, (log2 N, batch): NTT, INTT.
VELOFHE_TABLE_3 = {
    (10, 1): (12.0, 12.1),
    (10, 1024): (0.061, 0.059),
    (10, 8192): (0.049, 0.049),
    (11, 1): (15.6, 16.0),
    (11, 1024): (0.090, 0.090),
    (12, 1): (17.9, 19.8),
    (12, 1024): (0.117, 0.129),
}
# Others of Table 3: cuFHE and the transform of HEonGPU.
VELOFHE_TABLE_3_OTHERS = {
    (10, 1): ("cuFHE", 19.7, 21.4),
    (12, 1024): ("Özerk et al. [ÖS23]", 0.182, 0.209),
}


class Gate(NamedTuple):
    """A row of Table 4 of VeloFHE; batch 16,384, transfers included, ternary keys."""

    name: str
    scheme: str
    params: str
    cpu: float | None  # milliseconds; OpenFHE, "48 threads"; MR of [LLL+24]
    a100: int  # a second
    rtx_4090: int


VELOFHE_TABLE_4 = (
    Gate("GD-I", "FHEW", "velofhe/GD_I_AP", 52.06, 4545, 7007),
    Gate("GD-I", "TFHE", "velofhe/GD_I", 35.14, 7190, 11378),
    Gate("GD-II", "FHEW", "velofhe/GD_II_AP", 121.12, 1781, 2414),
    Gate("GD-II", "TFHE", "velofhe/GD_II", 86.59, 2686, 3249),
    Gate("MR-I", "FHEW", "velofhe/MR_I_AP", None, 3549, 6439),
    Gate("MR-I", "TFHE", "velofhe/MR_I", 34.38, 5969, 9871),
    Gate("MR-II", "FHEW", "velofhe/MR_II_AP", None, 1030, 1279),
    Gate("MR-II", "TFHE", "velofhe/MR_II", 137.44, 1578, 1729),
)


class Function(NamedTuple):
    """A row of Table 5 of VeloFHE: milliseconds on an RTX 4090."""

    name: str
    op: str
    params: str  # with ternary keys; with " binary" behind it with binary ones
    xiao: float
    ternary: float
    binary: float


VELOFHE_TABLE_5 = (
    Function("EvalBinGate", "nand", "xiao/STD128", 0.23, 0.09, 0.08),
    Function("EvalFunc", "evalfunc", "xiao/EVALFUNC", 1.59, 0.71, 0.69),
    Function("EvalFloor", "evalfloor", "openfhe_1_6/STD128_LOGQ_11", 1.68, 0.72, 0.70),
)

# Table 6: whose, (log2 N, security) as stated, milliseconds, operations a second, what on.
VELOFHE_TABLE_6 = (
    ("MOSFHET [GBA24]", (11, 127), 29.85, 33, "CPU with AVX-512, Xeon Platinum 8252C"),
    ("[BBTV23], FHEW", (10, 128), 18.5, 54, "FPGA, Alveo U280"),
    ("Ye et al. [YKP22]", (10, 80), 3.76, 3454, "FPGA, VU13P"),
    ("Ye et al. [YKP22]", (11, 128), 9.56, 1150, "FPGA, VU13P"),
    ("FPT [BDTV23]", (10, 80), 0.74, 25000, "FPGA, Alveo U280"),
    ("[MBS24]", (10, 128), 1.6, 625, "FPGA, Alveo U280"),
    ("[KL24]", (10, 80), 1.43, 699, "FPGA, VCU128"),
    ("[KL24]", (10, 110), 2.35, 425, "FPGA, VCU128"),
    ("MATCHA [JLJ22]", (10, 80), 0.2, 10000, "ASIC, simulated"),
    ("Strix [PPC+23]", (10, 110), 0.23, 39600, "ASIC, simulated"),
    ("Strix [PPC+23]", (11, 128), 0.44, 21104, "ASIC, simulated"),
    ("Morphling [PPK24]", (10, 110), 0.2, 78692, "ASIC, simulated"),
    ("Morphling [PPK24]", (11, 128), 0.38, 41850, "ASIC, simulated"),
    ("[DFH+24]", (10, 110), None, 85034, "ASIC, simulated"),
    ("[DFH+24]", (11, 128), None, 45246, "ASIC, simulated"),
    ("cuFHE", (10, 110), 0.18, 5555, "A100"),
    ("Xiao et al.", (10, 128), 0.23, 4347, "RTX 4090"),
    ("VeloFHE", (10, 110), 0.13, 7501, "A100"),
    ("VeloFHE", (10, 128), 0.09, 11378, "RTX 4090"),
    ("VeloFHE", (10, 110), 0.08, 11779, "RTX 4090"),
)
