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

// Part 2: the reduction of every z of 66 bits. z4 is cut. q is found by folding z at bit 33, as
// 2^33 = p + 2^20 - 1; nothing depends on how: z = q·p + r with r below p is what is proved.
module mod_mul_reduction
  import whorl_pkg::*;
(
    input logic clk
);
  logic [32:0] r;
  mod_mul dut (.clk, .en(1'b1), .a(33'd0), .b(33'd0), .r);
  logic [65:0] z[6];
  logic [3:0] n = 0;
  logic [69:0] w0, w1, w2, w3, q, qp;
  always_comb begin
    w0 = 70'(z[5]);
    w1 = (70'(w0[69:33]) << 20) - 70'(w0[69:33]) + 70'(w0[32:0]);
    w2 = (70'(w1[69:33]) << 20) - 70'(w1[69:33]) + 70'(w1[32:0]);
    w3 = (70'(w2[69:33]) << 20) - 70'(w2[69:33]) + 70'(w2[32:0]);
    q = 70'(w0[69:33]) + 70'(w1[69:33]) + 70'(w2[69:33]) + (w3 >= 70'(P) ? 70'd1 : 70'd0);
    qp = (q << 33) - (q << 20) + q;
  end
  assign z[0] = dut.z4;
  always_ff @(posedge clk) begin
    n <= n == 15 ? n : n + 1'b1;
    for (int i = 1; i < 6; i++) z[i] <= z[i-1];
    if (n >= 5) begin
      assert (r < P);
      assert (70'(z[5]) == qp + 70'(r));
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
