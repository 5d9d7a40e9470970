// A queue between two streams.
// In: words with valid and ready. Out: the same in order, from the next cycle on. `space`: free places.
module stream_fifo #(
    parameter int WIDTH = 32,
    parameter int DEPTH = 16  // a power of two
) (
    input  logic                     clk,
    input  logic                     rst_n,
    input  logic                     in_valid,
    output logic                     in_ready,
    input  logic [WIDTH-1:0]         in_data,
    output logic                     out_valid,
    input  logic                     out_ready,
    output logic [WIDTH-1:0]         out_data,
    output logic [$clog2(DEPTH):0]   space
);
  localparam int AW = $clog2(DEPTH);
  if (DEPTH < 2 || (1 << AW) != DEPTH) begin : g_wrong_depth
    $error("DEPTH is %0d, which is no power of two from 2 on", DEPTH);
  end
  // The word at the head lies in a register; the memory behind it is read a cycle ahead.
  logic [WIDTH-1:0] memory[DEPTH];
  logic [AW-1:0] put_at, take_at, next_take;
  logic [AW:0] count;
  logic put, take, ready_head;
  assign in_ready = count != (AW + 1)'(DEPTH);
  assign out_valid = ready_head;
  assign put = in_valid && in_ready;
  assign take = out_valid && out_ready;
  assign next_take = take ? take_at + 1'b1 : take_at;
  assign space = (AW + 1)'(DEPTH) - count;
  always_ff @(posedge clk) begin
    if (put) memory[put_at] <= in_data;
    // A word that is put where it is taken next goes around the memory.
    out_data <= put && put_at == next_take ? in_data : memory[next_take];
  end
  always_ff @(posedge clk)
    if (!rst_n) begin
      put_at <= '0;
      take_at <= '0;
      count <= '0;
      ready_head <= 1'b0;
    end else begin
      if (put) put_at <= put_at + 1'b1;
      take_at <= next_take;
      count <= count + (AW + 1)'(put) - (AW + 1)'(take);
      ready_head <= put || count > (AW + 1)'(take);
    end
endmodule
