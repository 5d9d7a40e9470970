// Processing element: takes one ciphertext through one step in a slot of N/2B cycles, K ciphertexts in turn.
// In, from the sequencer: rows of the accumulator to read; LAT_BKU cycles after the first of a slot, the place of
// its exponents; MONOMIALS_LATENCY + 1 cycles after that, and then in each of N/2B cycles, the key's rows.
// In, from the loader: exponents and accumulators; to the drain: accumulator rows two cycles after their address.
// Out: nothing; the row read in cycle c is written back with its sum in cycle c + LAT_WB.
// Nothing waits inside: the streams' ready signals are 1 in every cycle in which their valid is.
module pe
  import whorl_pkg::*;
#(
    parameter int LOG_N = 10,
    parameter int LOG_B = 0,
    parameter int L = 2,
    parameter int LOG_BG = 10,
    parameter int M = 2,
    parameter int K = 3,
    parameter int EXPONENT_WORDS = 2048,
    localparam int B = 1 << LOG_B,
    localparam int LANES = 2 * B,
    localparam int ROWS = 1 << (LOG_N - 1 - LOG_B),
    localparam int AW = $clog2(K * ROWS),
    localparam int EW = $clog2(EXPONENT_WORDS)
) (
    input  logic                                             clk,
    input  logic                                             rst_n,
    // the sequencer
    input  logic                                             read_valid,
    input  logic                                             read_bank,
    input  logic [AW-1:0]                                    read_address,
    input  logic                                             exponents_valid,
    input  logic [EW-1:0]                                    exponents_address,
    input  logic                                             key_valid,
    input  logic [(1 << M)-2:0][4*L-1:0][LANES-1:0][32:0]    key,
    // the loader
    input  logic                                             exponents_write,
    input  logic [EW-1:0]                                    exponents_write_address,
    input  logic [M-1:0][LOG_N:0]                            exponents_write_data,
    input  logic [B-1:0]                                     load_enable,
    input  logic                                             load_bank,
    input  logic [AW-1:0]                                    load_address,
    input  logic [1:0][32:0]                                 load_pair,
    // the drain
    input  logic                                             drain_bank,
    input  logic [AW-1:0]                                    drain_address,
    output logic [1:0][LANES-1:0][32:0]                      drain_row
);
  localparam int SETS = (1 << M) - 1;

  // Exponents of this PE's ciphertexts: a word a step.
  logic [M-1:0][LOG_N:0] exponents_memory[EXPONENT_WORDS];
  logic [M-1:0][LOG_N:0] exponents;
  logic token;
  always_ff @(posedge clk) begin
    exponents <= exponents_memory[exponents_address];
    if (exponents_write) exponents_memory[exponents_write_address] <= exponents_write_data;
  end
  always_ff @(posedge clk)
    if (!rst_n) token <= 1'b0;
    else token <= exponents_valid;

  logic row_valid;
  logic [1:0][LANES-1:0][32:0] row, product;
  logic product_valid;
  accumulator #(.LOG_N(LOG_N), .LOG_B(LOG_B), .L(L), .K(K)) acc (
      .clk, .rst_n, .read_valid, .read_bank, .read_address, .row_valid, .row, .product_valid,
      .product, .load_enable, .load_bank, .load_address, .load_pair, .drain_bank, .drain_address,
      .drain_row);

  // Digits of a, then of b.
  logic [DECOMPOSE_LATENCY-1:0] digits_valid;
  always_ff @(posedge clk)
    if (!rst_n) digits_valid <= '0;
    else digits_valid <= {digits_valid[DECOMPOSE_LATENCY-2:0], row_valid};
  logic [2*L-1:0][LANES-1:0][32:0] digits, transformed;
  logic [2*L-1:0] transformed_valid, digits_ready;
  for (genvar column = 0; column < 2; column++) begin : g_column
    for (genvar lane = 0; lane < LANES; lane++) begin : g_lane
      logic [L-1:0][32:0] of_one;
      decompose #(.L(L), .LOG_BG(LOG_BG)) take_apart (
          .clk, .en(1'b1), .x(row[column][lane]), .digits(of_one));
      for (genvar j = 0; j < L; j++) begin : g_digit
        assign digits[column*L+j][lane] = of_one[j];
      end
    end
  end
  for (genvar r = 0; r < 2 * L; r++) begin : g_forward
    ntt #(.LOG_N(LOG_N), .LOG_B(LOG_B)) forward (
        .clk, .rst_n, .in_valid(digits_valid[DECOMPOSE_LATENCY-1]), .in_ready(digits_ready[r]),
        .in_row(digits[r]), .out_valid(transformed_valid[r]), .out_ready(1'b1),
        .out_row(transformed[r]));
  end

  logic token_ready, factors_valid, factors_ready, key_ready, bundle_valid, bundle_ready;
  logic [SETS-1:0][LANES-1:0][32:0] factors;
  logic [4*L-1:0][LANES-1:0][32:0] bundle;
  monomials #(.LOG_N(LOG_N), .LOG_B(LOG_B), .M(M)) powers (
      .clk, .rst_n, .in_valid(token), .in_ready(token_ready), .exponents,
      .out_valid(factors_valid), .out_ready(factors_ready || !factors_valid), .factors);
  bku #(.LOG_B(LOG_B), .L(L), .M(M)) key_unit (
      .clk, .rst_n, .factors_valid, .factors_ready, .factors, .key_valid, .key_ready, .key,
      .out_valid(bundle_valid), .out_ready(1'b1), .bundle);

  logic mac_valid, mac_ready;
  logic [1:0][LANES-1:0][32:0] sums;
  mac #(.LOG_B(LOG_B), .L(L)) multiply (
      .clk, .rst_n, .digits_valid(transformed_valid[0]), .digits_ready(mac_ready),
      .digits(transformed), .bundle_valid, .bundle_ready, .bundle, .out_valid(mac_valid),
      .out_ready(1'b1), .product(sums));

  logic [1:0] back_valid, back_ready;
  for (genvar column = 0; column < 2; column++) begin : g_back
    intt #(.LOG_N(LOG_N), .LOG_B(LOG_B)) backward (
        .clk, .rst_n, .in_valid(mac_valid), .in_ready(back_ready[column]), .in_row(sums[column]),
        .out_valid(back_valid[column]), .out_ready(1'b1), .out_row(product[column]));
  end
  assign product_valid = back_valid[0];

  // The schedule's promise: what meets comes in the same cycle.
  always_ff @(posedge clk)
    if (rst_n) begin
      assert (!token || token_ready) else $error("a token was not taken");
      assert (key_valid == factors_valid) else $error("key and factors do not meet");
      assert (key_valid == key_ready) else $error("a key's row was not taken");
      assert (transformed_valid[0] == bundle_valid) else $error("digits and bundle do not meet");
      assert (bundle_ready == mac_ready) else $error("digits or bundle were not taken");
      assert (transformed_valid == '0 || transformed_valid == '1) else $error("transforms differ");
      assert (back_valid == 2'b00 || back_valid == 2'b11) else $error("inverses differ");
      assert (digits_ready == '1 && back_ready == 2'b11) else $error("a transform was not ready");
    end
endmodule
