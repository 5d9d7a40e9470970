// The modular multiplier, in three parts. `en` is 1 in the first two; the third says that nothing moves
// while it is 0. With them, 9 enabled cycles after a and b, r is a·b mod p.

// Part 1: the four partial products, and their sum z. What a solver need not show is that
// (ah·2^26 + al)·(bh·2^17 + bl) is the sum of the four products with their weights.
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
    assume (dut.high_low2 <= 24'(127 * 131071));
    assume (dut.high_high2 <= 23'(127 * 65535));
    sum1 <= 80'(dut.low_low2) + (80'(dut.low_high2) << 17) + (80'(dut.high_low2) << 26) + (80'(dut.high_high2) << 43);
    sum2 <= sum1;
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
  always_ff @(posedge clk) begin
    n <= n == 7 ? n : n + 1'b1;
    a1 <= a;
    b1 <= b;
    a2 <= a1;
    b2 <= b1;
    if (n >= 2) begin
      assert (dut.low_low2 == 43'(a2[25:0]) * 43'(b2[16:0]));
      assert (dut.low_high2 == 42'(a2[25:0]) * 42'(b2[32:17]));
      assert (dut.high_low2 == 24'(a2[32:26]) * 24'(b2[16:0]));
      assert (dut.high_high2 == 23'(a2[32:26]) * 23'(b2[32:17]));
    end
  end
endmodule

// Part 2: the reduction of every z up to (p - 1)^2, as all products of residues are. z4 is cut. (Above that t can
// be less than -p, and r is wrong.) By 2^33 = p + 2^20 - 1, z = t + (d + c[14:13] + e[13])·p
// with the names of the module's header; so the quotient q can be read off its registers. Nothing depends on
// where q comes from: z = q·p + r with r below p is what is proved.
module mod_mul_reduction
  import whorl_pkg::*;
(
    input logic clk
);
  localparam logic signed [35:0] P_SIGNED = {3'b000, P};
  logic [32:0] r;
  mod_mul dut (.clk, .en(1'b1), .a(33'd0), .b(33'd0), .r);
  logic [3:0] n = 0;
  logic [65:0] z[6];  // z[i]: i cycles later, beside the registers of that cycle
  logic [33:0] d6;
  logic [35:0] q7, q8, q9;
  function automatic logic [71:0] times_p(logic [35:0] k);
    return (72'(k) << 33) - (72'(k) << 20) + 72'(k);
  endfunction
  assign z[0] = dut.z4;
  always_ff @(posedge clk) begin
    n <= n == 15 ? n : n + 1'b1;
    for (int i = 1; i < 6; i++) z[i] <= z[i-1];
    d6 <= dut.d5;
    q7 <= 36'(d6) + 36'(dut.c6) + 36'(dut.e6[13]);
    q8 <= dut.t7 < 0 ? q7 - 36'd1 : dut.t7 >= P_SIGNED ? q7 + 36'd1 : q7;
    q9 <= dut.t8 >= P_SIGNED ? q8 + 36'd1 : q8;
    assume (dut.z4 <= 66'({33'd0, P - 33'd1} * {33'd0, P - 33'd1}));
    if (n >= 3) begin
      assert (72'(z[3]) == times_p(q7) + 72'(dut.t7));
      assert (dut.t7 > -P_SIGNED && dut.t7 < P_SIGNED + P_SIGNED + 36'sd1048576);
    end
    if (n >= 4) begin
      assert (72'(z[4]) == times_p(q8) + 72'(dut.t8));
      assert (dut.t8 >= 0 && dut.t8 < P_SIGNED + 36'sd1048576);
    end
    if (n >= 5) begin
      assert (r < P);
      assert (72'(z[5]) == times_p(q9) + 72'(r));
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
  assign all = 1024'({dut.a1, dut.b1, dut.low_low2, dut.low_high2, dut.high_low2, dut.high_high2, dut.low3,
                      dut.high3, dut.z4, dut.c5, dut.d5, dut.low5, dut.e6, dut.c6, dut.rest6, dut.t7, dut.t8, r});
  always_ff @(posedge clk) begin
    n <= n == 3 ? n : n + 1'b1;
    stood <= !en;
    earlier <= all;
    if (n >= 1 && stood) assert (all == earlier);
  end
endmodule
