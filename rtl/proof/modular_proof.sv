// Sums, differences and negatives modulo p, and the last and first cycle of the butterflies.
module modular
  import whorl_pkg::*;
(
    input logic [32:0] a,
    input logic [32:0] b
);
  logic [32:0] sum, difference, negative;
  logic signed [34:0] d;
  assign sum = add_mod(a, b);
  assign difference = sub_mod(a, b);
  assign negative = neg_mod(a);
  assign d = $signed({2'b0, a}) - $signed({2'b0, b});
  always_comb begin
    assume (a < P);
    assume (b < P);
    assert (sum < P);
    assert (35'(sum) == 35'(a) + 35'(b) || 35'(sum) + 35'(P) == 35'(a) + 35'(b));
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
  logic n = 0;
  logic [32:0] u, x;
  always_ff @(posedge clk) begin
    n <= 1;
    assume (dut.product < P && dut.u_late < P);
    u <= dut.u_late;
    x <= dut.product;
    if (n) begin
      assert (plus < P && minus < P);
      assert (35'(plus) == 35'(u) + 35'(x) || 35'(plus) + 35'(P) == 35'(u) + 35'(x));
      assert (35'(minus) + 35'(x) == 35'(u) || 35'(minus) + 35'(x) == 35'(u) + 35'(P));
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
  logic n = 0;
  logic [32:0] u1, v1, w1;
  always_ff @(posedge clk) begin
    n <= 1;
    assume (u < P && v < P);
    u1 <= u;
    v1 <= v;
    w1 <= w;
    if (n) begin
      assert (dut.plus < P && dut.minus < P && dut.w_late == w1);
      assert (35'(dut.plus) == 35'(u1) + 35'(v1) || 35'(dut.plus) + 35'(P) == 35'(u1) + 35'(v1));
      assert (35'(dut.minus) + 35'(v1) == 35'(u1) || 35'(dut.minus) + 35'(v1) == 35'(u1) + 35'(P));
    end
  end
endmodule
