// Rounding of every residue to 32 bits: R = floor((x·2^32 + (p-1)/2)/p), r = R mod 2^32.
module mod_switch_rounds
  import whorl_pkg::*;
(
    input logic clk,
    input logic [32:0] x
);
  logic [31:0] r;
  mod_switch dut (.clk, .en(1'b1), .x, .r);
  logic [2:0] n = 0;
  logic [32:0] x1, x2, x3;
  // R is r or r + 2^32; the latter only for r = 0, since x·2^32/p is below 2^32.
  logic [69:0] value, low, high;
  always_comb begin
    value = (70'(x3) << 32) + 70'(HALF);
    low = (70'(r) << 33) - (70'(r) << 20) + 70'(r);
    high = (70'd1 << 65) - (70'd1 << 52) + (70'd1 << 32);
  end
  always_ff @(posedge clk) begin
    n <= n == 7 ? n : n + 1'b1;
    assume (x < P);
    x1 <= x;
    x2 <= x1;
    x3 <= x2;
    if (n >= 3)
      assert ((low <= value && value < low + 70'(P)) || (r == 0 && high <= value && value < high + 70'(P)));
  end
endmodule
