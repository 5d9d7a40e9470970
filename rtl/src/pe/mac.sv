// The external product's sums: digits times the bundle, over the 2L rows.
// In: the 2L transformed digits and the bundle's words row·2 + column, at each lane. Out: the two columns
// Σ_row digit_row·bundle_(row,column), mac_latency = 9 + ceil(log2 2L) enabled cycles later; one row of
// lanes a cycle. Handshakes: a row is taken when digits and bundle are both valid.
module mac
  import whorl_pkg::*;
#(
    parameter int LOG_B = 0,
    parameter int L = 2
) (
    input  logic                                        clk,
    input  logic                                        rst_n,
    input  logic                                        digits_valid,
    output logic                                        digits_ready,
    input  logic [2*L-1:0][(2 << LOG_B)-1:0][32:0]      digits,
    input  logic                                        bundle_valid,
    output logic                                        bundle_ready,
    input  logic [4*L-1:0][(2 << LOG_B)-1:0][32:0]      bundle,
    output logic                                        out_valid,
    input  logic                                        out_ready,
    output logic [1:0][(2 << LOG_B)-1:0][32:0]          product
);
  localparam int LANES = 2 << LOG_B, LATENCY = mac_latency(L);
  logic en;
  logic [LATENCY-1:0] valid;
  assign out_valid = valid[LATENCY-1];
  assign en = out_ready || !out_valid;
  assign digits_ready = en && bundle_valid;
  assign bundle_ready = en && digits_valid;
  always_ff @(posedge clk)
    if (!rst_n) valid <= '0;
    else if (en) valid <= {valid[LATENCY-2:0], digits_valid && bundle_valid};

  for (genvar column = 0; column < 2; column++) begin : g_column
    for (genvar lane = 0; lane < LANES; lane++) begin : g_lane
      logic [32:0] products[2*L];
      for (genvar r = 0; r < 2 * L; r++) begin : g_row
        mod_mul #(.LATENCY(MUL_LATENCY - 1)) multiplier (
            .clk, .en, .a(digits[r][lane]), .b(bundle[2*r+column][lane]), .r(products[r]));
      end
      sum_tree #(.TERMS(2 * L)) add (.clk, .en, .terms(products), .sum(product[column][lane]));
    end
  end
endmodule
