// Counts the rows of a frame of ROWS rows, which come without gaps, and announces the frame where it
// leaves a pipeline of LATENCY ≤ ROWS cycles.
// In: start with row 0. Out, in the same cycle: row, its number, 0 while there is none; running;
// next_row, the number in the next enabled cycle; LATENCY enabled cycles after start: start_out.
module frame_counter #(
    parameter int ROWS = 512,
    parameter int LATENCY = 10
) (
    input  logic                    clk,
    input  logic                    rst_n,
    input  logic                    en,
    input  logic                    start,
    output logic                    running,
    output logic [$clog2(ROWS)-1:0] row,
    output logic [$clog2(ROWS)-1:0] next_row,
    output logic                    start_out
);
  localparam int RW = $clog2(ROWS), LW = $clog2(LATENCY + 1);
  logic [RW-1:0] count;
  logic [LW-1:0] left;  // minus the cycles that are left: an adder of 1 takes no LUT for most bits
  assign running = start || count != '0;
  assign row = count;
  assign next_row = running ? RW'(count + 1'b1) : '0;
  assign start_out = left == '1;
  always_ff @(posedge clk)
    if (!rst_n) begin
      count <= '0;
      left <= '0;
    end else if (en) begin
      count <= next_row;
      if (start) left <= -LW'(LATENCY);
      else if (left != '0) left <= left + 1'b1;
    end
endmodule
