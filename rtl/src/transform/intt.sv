// The inverse of `ntt`, times N: decimation in time, from bit-reversed locations to coefficients.
// In: row t has locations 2B·t + lane. Out: row t has coefficients B·t + l at lane l and
// B·t + l + N/2 at lane B + l, for l < B, each times N modulo p.
// The first row comes transform_latency = 10·log2 N + N/2B - 1 enabled cycles after the first row in.
// Handshakes: as those of `ntt`.
module intt
  import whorl_pkg::*;
#(
    parameter int LOG_N = 10,
    parameter int LOG_B = 0
) (
    input  logic                             clk,
    input  logic                             rst_n,
    input  logic                             in_valid,
    output logic                             in_ready,
    input  logic [(2 << LOG_B)-1:0][32:0]    in_row,
    output logic                             out_valid,
    input  logic                             out_ready,
    output logic [(2 << LOG_B)-1:0][32:0]    out_row
);
  localparam int B = 1 << LOG_B, LANES = 2 * B, LOG_T = LOG_N - 1 - LOG_B, ROWS = 1 << LOG_T;

  logic en;
  logic [LOG_N:0] start;
  logic first_running, last_running;
  logic [32:0] rows[LOG_N+1][LANES];

  // Within a polynomial all stands still until the next row comes: the output, too, is then not valid.
  logic moves;
  assign moves = in_valid || !first_running;
  assign in_ready = out_ready || !last_running;
  assign en = in_ready && moves;
  for (genvar l = 0; l < LANES; l++) begin : g_ends
    assign rows[0][l] = in_row[l];
    assign out_row[l] = rows[LOG_N][l];
  end

  logic [LOG_T-1:0] unfinished;
  always_ff @(posedge clk)
    if (!rst_n) unfinished <= '0;
    else if (in_valid && in_ready) unfinished <= unfinished + 1'b1;
  assign first_running = unfinished != '0;
  assign start[0] = in_valid && !first_running;

  for (genvar i = 0; i < LOG_N; i++) begin : g_stage
    localparam int S = LOG_N - 1 - i;  // stages go down
    localparam int LOG_ENTRIES = S < LOG_T ? S : LOG_T;
    localparam int GROUPS = S < LOG_T ? 1 : 1 << (S - LOG_T);
    localparam int AW = LOG_ENTRIES > 0 ? LOG_ENTRIES : 1;
    localparam int DISTANCE = B / GROUPS;
    logic [LOG_T-1:0] next_row;
    logic [AW-1:0] address;
    logic [32:0] paired[LANES];
    logic paired_start;
    if (S < LOG_T) begin : g_commutator
      localparam int DEPTH = 1 << (LOG_T - 1 - S);
      logic [LOG_T-1:0] row;
      frame_counter #(.ROWS(ROWS), .LATENCY(DEPTH)) exchange (
          .clk, .rst_n, .en, .start(start[i]), .running(), .row, .next_row(),
          .start_out(paired_start));
      for (genvar l = 0; l < B; l++) begin : g_lane
        commutator #(.WIDTH(33), .DEPTH(DEPTH)) commutate (
            .clk, .rst_n, .en, .swap(row[LOG_T-1-S]), .in_top(rows[i][l]), .in_bottom(rows[i][B+l]),
            .out_top(paired[l]), .out_bottom(paired[B+l]));
      end
    end else begin : g_wires
      for (genvar l = 0; l < LANES; l++) begin : g_lane
        assign paired[l] = rows[i][l];
      end
      assign paired_start = start[i];
    end
    frame_counter #(.ROWS(ROWS), .LATENCY(BUTTERFLY_LATENCY)) frame (
        .clk, .rst_n, .en, .start(paired_start), .running(), .row(), .next_row,
        .start_out(start[i+1]));
    assign address = AW'({1'b0, next_row} >> (LOG_T - LOG_ENTRIES));
    for (genvar g = 0; g < GROUPS; g++) begin : g_group
      logic [32:0] w;
      twiddle_rom #(
          .LOG_N(LOG_N), .STAGE(S), .LOG_ENTRIES(LOG_ENTRIES), .GROUPS(GROUPS), .GROUP(g),
          .INVERSE(1)
      ) twiddles (.clk, .en, .address, .twiddle(w));
      for (genvar k = 0; k < DISTANCE; k++) begin : g_butterfly
        localparam int U = g * 2 * DISTANCE + k, V = U + DISTANCE;
        butterfly_gs butterfly (
            .clk, .rst_n, .en, .u(paired[U]), .v(paired[V]), .w,
            .sum(rows[i+1][U]), .product(rows[i+1][V]));
      end
    end
  end

  frame_counter #(.ROWS(ROWS), .LATENCY(1)) last (
      .clk, .rst_n, .en, .start(start[LOG_N]), .running(last_running), .row(), .next_row(),
      .start_out());
  assign out_valid = last_running && moves;
endmodule
