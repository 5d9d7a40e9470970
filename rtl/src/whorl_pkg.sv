// Constants and functions that all modules share: the prime p = 2^33 - 2^20 + 1, its roots of unity,
// and how many cycles the arithmetic units take.
package whorl_pkg;

  localparam logic [32:0] P = 33'h1_FFF0_0001;
  localparam logic [32:0] HALF = 33'h0_FFF8_0000;  // (p - 1)/2
  // 3^8191 mod p has the order 2^20: 3 is the least number that is no square modulo p.
  localparam logic [32:0] ROOT_2_20 = 33'h1_7960_81F1;

  localparam int MUL_LATENCY = 9;                    // mod_mul
  localparam int BUTTERFLY_LATENCY = MUL_LATENCY + 1;  // butterfly_ct, butterfly_gs
  localparam int DECOMPOSE_LATENCY = 2;
  localparam int MONOMIALS_LATENCY = 4;
  localparam int ACC_READ_LATENCY = 2;
  localparam int CHUNK_READ_LATENCY = 2;

  function automatic int tree_latency(int terms);
    return terms <= 1 ? 0 : $clog2(terms);
  endfunction
  // Cycles from the first row in to the first row out, of ntt and of intt.
  function automatic int transform_latency(int log_n, int log_b);
    return log_n * BUTTERFLY_LATENCY + (1 << (log_n - 1 - log_b)) - 1;
  endfunction
  function automatic int bku_latency(int m);
    return MUL_LATENCY + tree_latency((1 << m) - 1);
  endfunction
  function automatic int mac_latency(int l);
    return MUL_LATENCY + tree_latency(2 * l);
  endfunction
  // Cycles from the read of a slot's first accumulator row to the moment at which its exponents are
  // read from their memory.
  function automatic int lat_bku(int log_n, int log_b, int m);
    return ACC_READ_LATENCY + DECOMPOSE_LATENCY + transform_latency(log_n, log_b)
           - bku_latency(m) - MONOMIALS_LATENCY - 1;
  endfunction
  // Cycles from the read of a slot's first accumulator row to the write of its sum: it can be read again
  function automatic int lat_wb(int log_n, int log_b, int l);
    return ACC_READ_LATENCY + DECOMPOSE_LATENCY + 2 * transform_latency(log_n, log_b)
           + mac_latency(l) + 1;
  endfunction

  // s below 2p, modulo p. s - p = s - 2^33 + 2^20 - 1: where s is p or more, only its low 20 bits change,
  // and the carry out of them.
  function automatic logic [32:0] less_p(logic [33:0] s);
    logic above;
    above = s[33] || (s[32:20] == '1 && s[19:0] != '0);
    return s[32:0] + {13'd0, {20{above}}};
  endfunction
  // d from -p to p - 1, as a difference of residues is, modulo p.
  function automatic logic [32:0] plus_p(logic [33:0] d);
    return d[32:0] + {{13{d[33]}}, 19'd0, d[33]};
  endfunction
  function automatic logic [32:0] add_mod(logic [32:0] a, logic [32:0] b);
    logic [33:0] s, r;
    s = {1'b0, a} + {1'b0, b};
    r = s - {1'b0, P};
    return r[33] ? s[32:0] : r[32:0];
  endfunction
  function automatic logic [32:0] neg_mod(logic [32:0] a);
    return a == 0 ? 33'd0 : P - a;
  endfunction

  // For tables only, while the design is elaborated.
  function automatic logic [32:0] mul_table(logic [32:0] a, logic [32:0] b);
    logic [65:0] z;
    z = {33'd0, a} * {33'd0, b};
    z = z % {33'd0, P};
    return z[32:0];
  endfunction
  function automatic logic [32:0] pow_table(logic [32:0] base, int exponent);
    logic [32:0] r, square;
    r = 33'd1;
    square = base;
    for (int i = 0; i < 21; i++) begin
      if (exponent[i]) r = mul_table(r, square);
      square = mul_table(square, square);
    end
    return r;
  endfunction
  // psi, of order 2N.
  function automatic logic [32:0] psi(int log_n);
    return pow_table(ROOT_2_20, 1 << (19 - log_n));
  endfunction
  function automatic int brv(int value, int bits);
    int r;
    r = 0;
    for (int i = 0; i < bits; i++) if (value[i]) r = r | (1 << (bits - 1 - i));
    return r;
  endfunction

  // Rows of the key-switching key that `lanes` take at once: of a coefficient, each in whole beats of both ports.
  function automatic int ks_rows_at_once(int lanes, int max_n, int l_ks, int key_words, int out_words);
    int rows;
    rows = 1;
    for (int t = 2; t <= 8; t = 2 * t)
      if (l_ks % t == 0 && lanes / t > max_n && lanes % (t * key_words) == 0 && lanes % (t * out_words) == 0)
        rows = t;
    return rows;
  endfunction

  // What a host writes before it starts a run.
  typedef struct packed {
    logic [31:0] mode;
    logic [31:0] group;
    logic [31:0] n;
    logic [31:0] count;
    logic [31:0] luts;
    logic [31:0] offset;
    logic [63:0] constant;
    logic [63:0] in_address;
    logic [63:0] lut_address;
    logic [63:0] out_address;
    logic [63:0] ksk_address;
    logic [7:0][63:0] bk_address;
    logic [63:0] io_bytes;
    logic [63:0] ksk_bytes;
    logic [63:0] bk_bytes;
  } descriptor_t;

  localparam int COUNTERS = 12;

  // Codes of errors.
  localparam logic [4:0] OK = 0, N_ZERO = 1, N_LARGE = 2, GROUP_WRONG = 3, COUNT_ZERO = 4,
      MODE_WRONG = 5, LUTS_ZERO = 6, RANGE_WRONG = 7, MISALIGNED = 8, INPUTS_END = 9, LUTS_END = 10,
      RESULTS_END = 11, KSK_END = 12, BK_END = 13, EXPONENT_WRONG = 14, ABORTED = 15,
      LUT_NUMBER = 16, LUT_VALUE = 17, READ_ERROR = 18, WRITE_ERROR = 19;

endpackage
