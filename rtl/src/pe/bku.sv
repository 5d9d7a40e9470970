// Bootstrapping key unit: the bundle Σ_T f_T·K_T of one row of a chunk.
// In: factors f_T for T = 1 … 2^M - 1 at each lane, and the key's row: word
// ((T-1)·2L + r)·2 + column, at each lane. Out: the bundle's word r·2 + column at each lane,
// bku_latency = 9 + ceil(log2(2^M - 1)) enabled cycles later; one row a cycle.
// Handshakes: a row is taken when factors and key are both valid.
module bku
  import whorl_pkg::*;
#(
    parameter int LOG_B = 0,
    parameter int L = 2,
    parameter int M = 2
) (
    input  logic                                                  clk,
    input  logic                                                  rst_n,
    input  logic                                                  factors_valid,
    output logic                                                  factors_ready,
    input  logic [(1 << M)-2:0][(2 << LOG_B)-1:0][32:0]           factors,
    input  logic                                                  key_valid,
    output logic                                                  key_ready,
    input  logic [(1 << M)-2:0][4*L-1:0][(2 << LOG_B)-1:0][32:0]  key,
    output logic                                                  out_valid,
    input  logic                                                  out_ready,
    output logic [4*L-1:0][(2 << LOG_B)-1:0][32:0]                bundle
);
  localparam int LANES = 2 << LOG_B, SETS = (1 << M) - 1, LATENCY = bku_latency(M);
  logic en;
  logic [LATENCY-1:0] valid;
  assign out_valid = valid[LATENCY-1];
  assign en = out_ready || !out_valid;
  assign factors_ready = en && key_valid;
  assign key_ready = en && factors_valid;
  always_ff @(posedge clk)
    if (!rst_n) valid <= '0;
    else if (en) valid <= {valid[LATENCY-2:0], factors_valid && key_valid};

  for (genvar w = 0; w < 4 * L; w++) begin : g_word
    for (genvar lane = 0; lane < LANES; lane++) begin : g_lane
      logic [32:0] products[SETS];
      for (genvar s = 0; s < SETS; s++) begin : g_set
        mod_mul #(.LATENCY(MUL_LATENCY - 1)) multiplier (
            .clk, .en, .a(key[s][w][lane]), .b(factors[s][lane]), .r(products[s]));
      end
      sum_tree #(.TERMS(SETS)) add (.clk, .en, .terms(products), .sum(bundle[w][lane]));
    end
  end
endmodule
