// The modular multiplier, in three parts. `en` is 1 in the first two; the third says that nothing moves
// while it is 0. With them, LATENCY enabled cycles after a and b, r is a·b mod p.

// Part 1: the four partial products, and their sum z. What a solver need not show is that
// (ah·2^26 + al)·b, with b in slices, is the sum of the four products with their weights.
// The registers of the partial products are cut: their values are free, but not above what a product can be.
module mod_mul_sum (
    input logic clk,
    input logic [32:0] a,
    input logic [32:0] b
);
  logic [32:0] r;
  mod_mul dut (.clk, .en(1'b1), .a, .b, .r);
  logic [2:0] n = 0;
  logic [79:0] sum1, sum2;
  always_ff @(posedge clk) begin
    n <= n == 7 ? n : n + 1'b1;
    assume (dut.low_low2 <= 43'(67108863 * 64'd131071));
    assume (dut.low_high2 <= 42'(67108863 * 64'd65535));
    assume (dut.high_low2 <= 33'(127 * 64'd67108863));
    assume (dut.high_high3 <= 14'(127 * 127));
    sum1 <= 80'(dut.low_low2) + (80'(dut.low_high2) << 17) + (80'(dut.high_low2) << 26);
    sum2 <= sum1 + (80'(dut.high_high3) << 52);
    if (n >= 2) assert (80'(dut.z4) == sum2);
  end
endmodule

module mod_mul_parts (
    input logic clk,
    input logic [32:0] a,
    input logic [32:0] b
);
  logic [32:0] r;
  mod_mul dut (.clk, .en(1'b1), .a, .b, .r);
  logic [2:0] n = 0;
  logic [32:0] a1, b1, a2, b2;
  logic [6:0] a3, b3;
  always_ff @(posedge clk) begin
    n <= n == 7 ? n : n + 1'b1;
    a1 <= a;
    b1 <= b;
    a2 <= a1;
    b2 <= b1;
    a3 <= a2[32:26];
    b3 <= b2[32:26];
    if (n >= 2) begin
      assert (dut.low_low2 == 43'(a2[25:0]) * 43'(b2[16:0]));
      assert (dut.low_high2 == 42'(a2[25:0]) * 42'(b2[32:17]));
      assert (dut.high_low2 == 33'(a2[32:26]) * 33'(b2[25:0]));
    end
    if (n >= 3) assert (dut.high_high3 == 14'(a3) * 14'(b3));
  end
endmodule

// Part 2: the reduction of every z up to (p - 1)^2, as all products of residues are. z4 is cut. By 2^33 = p + 2^20 - 1,
// z = v + (z[65:33] + w)·p with the names of the module's header.
module mod_mul_reduction
  import whorl_pkg::*;
#(
    parameter int LATENCY = MUL_LATENCY
) (
    input logic clk
);
  localparam int FOLD = LATENCY - 6;  // cycles from z4 to t
  logic [32:0] r;
  mod_mul #(.LATENCY(LATENCY)) dut (.clk, .en(1'b1), .a(33'd0), .b(33'd0), .r);
  logic [3:0] n = 0;
  logic [65:0] z[FOLD+1];  // z[i]: i cycles later, beside the registers of that cycle
  logic signed [71:0] v, multiple;
  logic [35:0] quotient;
  // The two top bits of t are -1, 0, 1 or 2.
  assign v = $signed({{38{dut.t[34] & dut.t[33]}}, dut.t[33:0]}) + $signed({37'd0, dut.t[34] & ~dut.t[33], 34'd0})
             + $signed(72'(P)) - 72'sd1 - (72'sd1 <<< 33);
  assign quotient = 36'(z[FOLD][65:33]) + 36'(z[FOLD][65:46]) + 36'(z[FOLD][65:59]);
  assign multiple = $signed((72'(quotient) << 33) - (72'(quotient) << 20) + 72'(quotient));
  assign z[0] = dut.z4;
  always_ff @(posedge clk) begin
    n <= n == 15 ? n : n + 1'b1;
    for (int i = 1; i <= FOLD; i++) z[i] <= z[i-1];
    assume (dut.z4 <= 66'({33'd0, P - 33'd1} * {33'd0, P - 33'd1}));
    if (n >= 4'(FOLD)) begin
      assert ($signed(72'(z[FOLD])) == multiple + v);
      assert (v > -$signed(72'(P)) && v < $signed(72'd3 * 72'(P)));
    end
  end
endmodule

// r is v modulo p, for every v between -p and 3p. t is cut.
module mod_mul_correction
  import whorl_pkg::*;
(
    input logic clk
);
  localparam logic signed [36:0] P_SIGNED = {4'd0, P};
  logic [32:0] r;
  mod_mul dut (.clk, .en(1'b1), .a(33'd0), .b(33'd0), .r);
  logic [1:0] n = 0;
  logic signed [36:0] v, v1, v2, less;
  assign v = $signed({{3{dut.t[34] & dut.t[33]}}, dut.t[33:0]}) + $signed({2'd0, dut.t[34] & ~dut.t[33], 34'd0})
             + P_SIGNED - 37'sd1 - (37'sd1 <<< 33);
  assign less = v2 - $signed({4'd0, r});
  always_ff @(posedge clk) begin
    n <= n == 3 ? n : n + 1'b1;
    assume (v > -P_SIGNED && v < P_SIGNED + P_SIGNED + P_SIGNED);
    v1 <= v;
    v2 <= v1;
    if (n >= 2) begin
      assert (r < P);
      assert (less == -P_SIGNED || less == 0 || less == P_SIGNED || less == P_SIGNED + P_SIGNED);
    end
  end
endmodule

// Part 3.
module mod_mul_hold (
    input logic clk,
    input logic en,
    input logic [32:0] a,
    input logic [32:0] b
);
  logic [32:0] r;
  mod_mul dut (.clk, .en, .a, .b, .r);
  logic [1:0] n = 0;
  logic stood;
  logic [1023:0] all, earlier;
  assign all = 1024'({dut.a1, dut.b1, dut.low_low2, dut.low_high2, dut.high_low2, dut.low_low3, dut.middle3,
                      dut.high_high.upper1, dut.high_high.a1, dut.high_high.b1, dut.high_high3, dut.z4, dut.w,
                      dut.z, dut.carry, dut.c, dut.rest, dut.t, dut.t_late, dut.above, r});
  always_ff @(posedge clk) begin
    n <= n == 3 ? n : n + 1'b1;
    stood <= !en;
    earlier <= all;
    if (n >= 1 && stood) assert (all == earlier);
  end
endmodule
