// Sums, differences and negatives modulo p, and the last and first cycle of the butterflies.
module modular
  import whorl_pkg::*;
(
    input logic [32:0] a,
    input logic [32:0] b
);
  logic [32:0] sum, less, difference, negative;
  logic signed [34:0] d;
  assign sum = add_mod(a, b);
  assign less = less_p({1'b0, a} + {1'b0, b});
  assign difference = plus_p({1'b0, a} - {1'b0, b});
  assign negative = neg_mod(a);
  assign d = $signed({2'b0, a}) - $signed({2'b0, b});
  always_comb begin
    assume (a < P);
    assume (b < P);
    assert (sum < P);
    assert (35'(sum) == 35'(a) + 35'(b) || 35'(sum) + 35'(P) == 35'(a) + 35'(b));
    assert (less == sum);
    assert (difference < P);
    assert ($signed({2'b0, difference}) == d || $signed({2'b0, difference}) == d + $signed({2'b0, P}));
    assert (negative < P);
    assert (34'(negative) + 34'(a) == 34'd0 || 34'(negative) + 34'(a) == 34'(P));
  end
endmodule

// `product` and `u_late` are cut: any residues; that they belong together is what benches show.
module butterfly_forward
  import whorl_pkg::*;
(
    input logic clk
);
  logic [32:0] plus, minus;
  butterfly_ct dut (.clk, .rst_n(1'b1), .en(1'b1), .u(33'd0), .v(33'd0), .w(33'd0), .plus, .minus);
  logic [1:0] n = 0;
  logic [32:0] u1, x1, u2, x2;
  always_ff @(posedge clk) begin
    n <= n == 3 ? n : n + 1'b1;
    assume (dut.product < P && dut.u_late < P);
    u1 <= dut.u_late;
    x1 <= dut.product;
    u2 <= u1;
    x2 <= x1;
    if (n >= 2) begin
      assert (plus < P && minus < P);
      assert (35'(plus) == 35'(u2) + 35'(x2) || 35'(plus) + 35'(P) == 35'(u2) + 35'(x2));
      assert (35'(minus) + 35'(x2) == 35'(u2) || 35'(minus) + 35'(x2) == 35'(u2) + 35'(P));
    end
  end
endmodule

module butterfly_backward
  import whorl_pkg::*;
(
    input logic clk,
    input logic [32:0] u,
    input logic [32:0] v,
    input logic [32:0] w
);
  logic [32:0] sum, product;
  butterfly_gs dut (.clk, .rst_n(1'b1), .en(1'b1), .u, .v, .w, .sum, .product);
  logic [1:0] n = 0;
  logic [32:0] u1, v1, w1, u2, v2;
  always_ff @(posedge clk) begin
    n <= n == 3 ? n : n + 1'b1;
    assume (u < P && v < P);
    u1 <= u;
    v1 <= v;
    w1 <= w;
    u2 <= u1;
    v2 <= v1;
    if (n >= 1) begin
      assert (dut.minus < P && dut.w_late == w1);
      assert (35'(dut.minus) + 35'(v1) == 35'(u1) || 35'(dut.minus) + 35'(v1) == 35'(u1) + 35'(P));
    end
    if (n >= 2) begin
      assert (dut.plus < P);
      assert (35'(dut.plus) == 35'(u2) + 35'(v2) || 35'(dut.plus) + 35'(P) == 35'(u2) + 35'(v2));
    end
  end
endmodule
