// Units that move words in time. Any cycle may be without `en`, and a reset may come in any cycle.
module delay_line_rules #(
    parameter int WIDTH = 2,
    parameter int DEPTH = 8,
    parameter int BLOCK_FROM = 48
) (
    input logic clk,
    input logic rst_n,
    input logic en,
    input logic [WIDTH-1:0] d
);
  logic started;
  logic [WIDTH-1:0] q;
  delay_line #(.WIDTH(WIDTH), .DEPTH(DEPTH), .BLOCK_FROM(BLOCK_FROM)) dut (.clk, .rst_n, .en, .d, .q);
  from_reset begins (.clk, .rst_n, .started);
  logic [DEPTH-1:0][WIDTH-1:0] earlier;  // [i]: d of i + 1 enabled cycles ago
  int passed;                            // enabled cycles since the reset, up to DEPTH
  always_ff @(posedge clk) begin
    if (en) earlier <= (earlier << WIDTH) | (DEPTH * WIDTH)'(d);
    if (!rst_n) passed <= 0;
    else if (en && passed != DEPTH) passed <= passed + 1;
    if (started) begin
      assert (passed >= 0 && passed <= DEPTH);
      if (passed == DEPTH) assert (q == earlier[DEPTH-1]);
    end
  end
  // What makes the induction go through.
  if (DEPTH < 24) begin : g_registers
    always_ff @(posedge clk)
      if (started) for (int i = 0; i < DEPTH; i++) if (i < passed) assert (dut.g_registers.stages[i] == earlier[i]);
  end else begin : g_ring
    logic [WIDTH-1:0] ring[DEPTH-1];
    for (genvar i = 0; i < DEPTH - 1; i++) begin : g_place
      if (DEPTH < BLOCK_FROM) begin : g_luts
        assign ring[i] = dut.g_ring.g_luts.ring[i];
      end else begin : g_block
        assign ring[i] = dut.g_ring.g_block.ring[i];
      end
    end
    always_ff @(posedge clk)
      if (started) begin
        assert (int'(dut.g_ring.at) < DEPTH - 1);
        for (int i = 0; i < DEPTH - 1; i++)
          if (i < passed)
            assert (ring[int'(dut.g_ring.at) > i ? int'(dut.g_ring.at) - 1 - i : int'(dut.g_ring.at) + DEPTH - 2 - i]
                    == earlier[i]);
      end
  end
endmodule

// Frames of ROWS rows begin with `start`, never before the last one is over.
module frame_counter_rules #(
    parameter int ROWS = 32,
    parameter int LATENCY = 10
) (
    input logic clk,
    input logic rst_n,
    input logic en,
    input logic start
);
  localparam int RW = $clog2(ROWS);
  logic started, running, start_out;
  logic [RW-1:0] row, next_row;
  frame_counter #(.ROWS(ROWS), .LATENCY(LATENCY)) dut (.clk, .rst_n, .en, .start, .running, .row, .next_row, .start_out);
  logic [$clog2(LATENCY+1)-1:0] left;  // cycles to the announcement
  assign left = -dut.left;
  from_reset begins (.clk, .rst_n, .started);
  logic [LATENCY:0] starts;  // [i]: `start` of i enabled cycles ago
  logic [LATENCY-1:0] past;
  int since;                 // enabled cycles since the last start; ROWS: no frame
  assign starts = {past, start};
  always_ff @(posedge clk) begin
    if (started && since != ROWS) assume (!start);
    if (!rst_n) begin
      past <= '0;
      since <= ROWS;
    end else if (en) begin
      past <= starts[LATENCY-1:0];
      since <= start ? 1 : since == ROWS ? ROWS : since + 1;
    end
    if (started) begin
      assert (running == (start || since != ROWS));
      assert (int'(row) == (start || since == ROWS ? 0 : since));
      assert (int'(next_row) == (start ? 1 : since >= ROWS - 1 ? 0 : since + 1));
      assert (start_out == starts[LATENCY]);
      // What makes the induction go through.
      assert (since > 0 && since <= ROWS && int'(left) <= LATENCY);
      for (int i = 0; i < LATENCY; i++) assert (past[i] == (int'(left) == LATENCY - i));
      if (since == ROWS) assert (int'(left) <= (LATENCY == ROWS ? 1 : 0));
      else assert (int'(left) == (since <= LATENCY ? LATENCY + 1 - since : 0));
    end
  end
endmodule

// Row t of a frame goes in; DEPTH enabled cycles later row t comes out, with the bit of weight DEPTH of t exchanged
// for the stream's. Between frames there may be any gap.
module commutator_exchanges #(
    parameter int WIDTH = 2,
    parameter int DEPTH = 4
) (
    input logic clk,
    input logic rst_n,
    input logic en,
    input logic start,
    input logic [WIDTH-1:0] in_top,
    input logic [WIDTH-1:0] in_bottom
);
  localparam int ROWS = 4 * DEPTH, LW = $clog2(DEPTH);
  logic started, swap;
  logic [WIDTH-1:0] out_top, out_bottom;
  logic [LW+1:0] count, row;  // the row's number, 0 while there is none
  assign row = count;
  assign swap = row[LW];
  commutator #(.WIDTH(WIDTH), .DEPTH(DEPTH)) dut (.clk, .rst_n, .en, .swap, .in_top, .in_bottom, .out_top, .out_bottom);
  from_reset begins (.clk, .rst_n, .started);
  // [i]: of i + 1 enabled cycles ago
  logic [2*DEPTH-1:0][WIDTH-1:0] tops, bottoms;
  logic [2*DEPTH-1:0][LW+1:0] rows;
  logic [2*DEPTH-1:0] framed;  // there was a row
  logic frames;                // there is one
  int passed;
  assign frames = start || count != 0;
  always_ff @(posedge clk) begin
    if (started && count != 0) assume (!start);
    if (!rst_n) begin
      count <= '0;
      framed <= '0;
      passed <= 0;
    end else if (en) begin
      count <= frames ? count + 1'b1 : '0;
      framed <= {framed[2*DEPTH-2:0], frames};
      if (passed != 2 * DEPTH) passed <= passed + 1;
    end
    if (en) begin
      tops <= {tops[2*DEPTH-2:0], in_top};
      bottoms <= {bottoms[2*DEPTH-2:0], in_bottom};
      rows <= {rows[2*DEPTH-2:0], row};
    end
    if (started) begin
      if (framed[DEPTH-1]) begin
        if (!rows[DEPTH-1][LW]) assert (out_top == tops[DEPTH-1] && out_bottom == in_top);
        else assert (out_top == bottoms[2*DEPTH-1] && out_bottom == bottoms[DEPTH-1]);
      end
      // What makes the induction go through: rows follow each other without gaps, and lie in the delays.
      assert (passed >= 0 && passed <= 2 * DEPTH);
      for (int i = 0; i < 2 * DEPTH; i++) begin
        if (i >= passed) assert (!framed[i]);
        if (framed[i] && rows[i] != '1)
          if (i == 0) assert (count == rows[0] + 1'b1);
          else assert (framed[i-1] && rows[i-1] == rows[i] + 1'b1);
        else if (i == 0) assert (count == 0);
        else if (framed[i-1]) assert (rows[i-1] == 0);
      end
      for (int i = 0; i < 2 * DEPTH - 1; i++) if (framed[i] && rows[i] != 0) assert (framed[i+1]);
      for (int i = 0; i < DEPTH; i++) begin
        if (i < passed) assert (dut.before_switch.g_registers.stages[i] == bottoms[i]);
        if (framed[i]) assert (dut.after_switch.g_registers.stages[i] == (rows[i][LW] ? bottoms[i+DEPTH] : tops[i]));
      end
    end
  end
endmodule
