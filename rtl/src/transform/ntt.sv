// Negacyclic transform of a stream of polynomials, decimation in frequency, with the twist merged into
// the twiddles. 2B lanes, B = 2^LOG_B butterflies a stage.
// In: row t has coefficients B·t + l at lane l and B·t + l + N/2 at lane B + l, for l < B.
// Out: row t has locations 2B·t + lane; location l is the value at psi^(2·brv(l) + 1).
// The first row comes transform_latency = 10·log2 N + N/2B - 1 enabled cycles after the first row in.
// Handshakes: rows of a polynomial may have gaps; within one, the module stands still for a gap.
module ntt
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

  // The first stage's counter, without its own start, tells whether a polynomial is unfinished.
  logic [LOG_T-1:0] unfinished;
  always_ff @(posedge clk)
    if (!rst_n) unfinished <= '0;
    else if (in_valid && in_ready) unfinished <= unfinished + 1'b1;
  assign first_running = unfinished != '0;
  assign start[0] = in_valid && !first_running;

  for (genvar s = 0; s < LOG_N; s++) begin : g_stage
    // Stages up to LOG_T take apart bits of the row's number, the others bits of the lane's.
    localparam int LOG_ENTRIES = s < LOG_T ? s : LOG_T;
    localparam int GROUPS = s < LOG_T ? 1 : 1 << (s - LOG_T);
    localparam int AW = LOG_ENTRIES > 0 ? LOG_ENTRIES : 1;
    localparam int DISTANCE = B / GROUPS;  // between the lanes of a butterfly
    logic [LOG_T-1:0] next_row;
    logic [AW-1:0] address;
    logic [32:0] after[LANES];
    logic after_start;
    frame_counter #(.ROWS(ROWS), .LATENCY(BUTTERFLY_LATENCY)) frame (
        .clk, .rst_n, .en, .start(start[s]), .running(), .row(), .next_row, .start_out(after_start));
    assign address = AW'({1'b0, next_row} >> (LOG_T - LOG_ENTRIES));
    for (genvar g = 0; g < GROUPS; g++) begin : g_group
      logic [32:0] w;
      twiddle_rom #(
          .LOG_N(LOG_N), .STAGE(s), .LOG_ENTRIES(LOG_ENTRIES), .GROUPS(GROUPS), .GROUP(g)
      ) twiddles (.clk, .en, .address, .twiddle(w));
      for (genvar k = 0; k < DISTANCE; k++) begin : g_butterfly
        localparam int U = g * 2 * DISTANCE + k, V = U + DISTANCE;
        butterfly_ct butterfly (
            .clk, .rst_n, .en, .u(rows[s][U]), .v(rows[s][V]), .w,
            .plus(after[U]), .minus(after[V]));
      end
    end
    if (s < LOG_T) begin : g_commutator
      localparam int DEPTH = 1 << (LOG_T - 1 - s);
      logic [LOG_T-1:0] row;
      frame_counter #(.ROWS(ROWS), .LATENCY(DEPTH)) exchange (
          .clk, .rst_n, .en, .start(after_start), .running(), .row, .next_row(),
          .start_out(start[s+1]));
      for (genvar l = 0; l < B; l++) begin : g_lane
        commutator #(.WIDTH(33), .DEPTH(DEPTH)) commutate (
            .clk, .rst_n, .en, .swap(row[LOG_T-1-s]), .in_top(after[l]), .in_bottom(after[B+l]),
            .out_top(rows[s+1][l]), .out_bottom(rows[s+1][B+l]));
      end
    end else begin : g_wires
      for (genvar l = 0; l < LANES; l++) begin : g_lane
        assign rows[s+1][l] = after[l];
      end
      assign start[s+1] = after_start;
    end
  end

  frame_counter #(.ROWS(ROWS), .LATENCY(1)) last (
      .clk, .rst_n, .en, .start(start[LOG_N]), .running(last_running), .row(), .next_row(),
      .start_out());
  assign out_valid = last_running && moves;
endmodule
